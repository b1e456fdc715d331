-- stream_sink: writes the cycle and the payload of each beat that it takes, one beat a line.
--
-- Generics: WIDTH      bits of a payload
--           FILE_NAME  to write
--           GATE       ready in cycle t where GATE(t mod GATE'length) is 1
--
-- Cycle t is the t-th rising edge, from 0, at which rst is low.

library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;

entity stream_sink is
  generic (
    WIDTH     : positive;
    FILE_NAME : string;
    GATE      : integer_vector
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic
  );
end entity;

architecture simulation of stream_sink is
  signal accepts : std_logic := '0';
begin

  x_ready <= accepts;

  take : process (clk)
    file beats      : text open write_mode is FILE_NAME;
    variable words  : line;
    variable number : std_logic_vector((WIDTH + 3) / 4 * 4 - 1 downto 0);
    variable cycle  : natural := 0;
  begin
    if rising_edge(clk) then
      if rst = '0' then
        if x_valid = '1' and accepts = '1' then
          number := (others => '0');
          number(WIDTH - 1 downto 0) := x_payload;
          write(words, cycle);
          write(words, ' ');
          hwrite(words, number);
          writeline(beats, words);
        end if;
        cycle := cycle + 1;
      end if;
      if GATE(GATE'low + cycle mod GATE'length) = 1 then
        accepts <= '1';
      else
        accepts <= '0';
      end if;
    end if;
  end process;

end architecture;
