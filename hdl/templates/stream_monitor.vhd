-- stream_monitor: writes the cycle and the payload of each transfer of a stream, one a line. For test benches only.
--
-- Generics: WIDTH      bits of a payload
--           FILE_NAME  to write; an empty line stands for a reset after the first one
-- Ports:    the stream; all are inputs
--
-- Cycle t is the t-th rising edge after a reset, from 0, at which rst is low.

library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;

entity stream_monitor is
  generic (
    WIDTH     : positive;
    FILE_NAME : string
  );
  port (
    clk     : in std_logic;
    rst     : in std_logic;
    payload : in std_logic_vector(WIDTH - 1 downto 0);
    valid   : in std_logic;
    ready   : in std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert WIDTH > 0 report "stream_monitor: WIDTH must be positive" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture simulation of stream_monitor is
begin

  watch : process (clk)
    file beats      : text open write_mode is FILE_NAME;
    variable words  : line;
    variable number : std_logic_vector((WIDTH + 3) / 4 * 4 - 1 downto 0) := (others => '0');
    variable cycle  : natural := 0;
  begin
    if rising_edge(clk) then
      if rst = '1' then
        if cycle > 0 then
          writeline(beats, words);
        end if;
        cycle := 0;
      else
        if valid = '1' and ready = '1' then
          number(WIDTH - 1 downto 0) := payload;
          write(words, cycle);
          write(words, ' ');
          hwrite(words, number);
          writeline(beats, words);
        end if;
        cycle := cycle + 1;
      end if;
    end if;
  end process;

end architecture;
