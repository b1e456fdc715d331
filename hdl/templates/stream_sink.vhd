-- stream_sink: takes beats in the cycles of a pattern. For test benches only.
--
-- Generics: GATE     ready in cycle t where GATE(t mod GATE'length) is 1
--
-- Cycle t is the t-th rising edge after a reset, from 0, at which rst is low.

library ieee;
use ieee.std_logic_1164.all;

entity stream_sink is
  generic (
    GATE : integer_vector
  );
  port (
    clk     : in  std_logic;
    rst     : in  std_logic;
    x_ready : out std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert minimum(GATE) >= 0 and maximum(GATE) <= 1
      report "stream_sink: GATE must hold zeros and ones" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture simulation of stream_sink is
  signal accepts : std_logic := '0';
begin

  x_ready <= accepts;

  take : process (clk)
    variable cycle : natural := 0;
  begin
    if rising_edge(clk) then
      if rst = '1' then
        cycle := 0;
      else
        cycle := cycle + 1;               -- from here on, the cycle that begins
      end if;
      if GATE(GATE'low + cycle mod GATE'length) = 1 then
        accepts <= '1';
      else
        accepts <= '0';
      end if;
    end if;
  end process;

end architecture;
