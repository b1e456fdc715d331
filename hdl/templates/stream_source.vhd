-- stream_source: offers the payloads of a file (one hexadecimal number a line), in order.
--
-- Generics: WIDTH      bits of a payload
--           FILE_NAME  of the payloads; those after an empty line wait for the next reset
--           GATE       a beat may become valid in cycle t (from 1 on) where GATE(t mod GATE'length) is 1
--
-- Cycle t is the t-th rising edge after a reset, from 0, at which rst is low.

library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;

entity stream_source is
  generic (
    WIDTH     : positive;
    FILE_NAME : string;
    GATE      : integer_vector
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    z_payload : out std_logic_vector(WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert WIDTH > 0 report "stream_source: WIDTH must be positive" severity failure;
    assert minimum(GATE) >= 0 and maximum(GATE) <= 1
      report "stream_source: GATE must hold zeros and ones" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture simulation of stream_source is
  signal offered : std_logic := '0';
begin

  z_valid <= offered;

  offer : process (clk)
    file beats      : text open read_mode is FILE_NAME;
    variable words  : line;
    variable number : std_logic_vector((WIDTH + 3) / 4 * 4 - 1 downto 0);
    variable cycle  : natural := 0;
    variable last   : boolean := false;   -- an empty line was read
  begin
    if rising_edge(clk) then
      if rst = '1' then
        while cycle > 0 and not last and not endfile(beats) loop
          readline(beats, words);
          last := words'length = 0;
        end loop;
        cycle := 0;
        last := false;
        z_payload <= (others => '0');
        offered <= '0';
      else
        cycle := cycle + 1;               -- from here on, the cycle that begins
        if offered = '0' or z_ready = '1' then
          offered <= '0';
          if GATE(GATE'low + cycle mod GATE'length) = 1 and not last and not endfile(beats) then
            readline(beats, words);
            last := words'length = 0;
            if not last then
              hread(words, number);
              z_payload <= number(WIDTH - 1 downto 0);
              offered <= '1';
            end if;
          end if;
        end if;
      end if;
    end if;
  end process;

end architecture;
