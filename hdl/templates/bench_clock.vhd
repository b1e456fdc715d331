-- bench_clock: a clock and a reset for a test bench: several runs, each after a reset, then silence.
--
-- Generics: RESETS  edges with rst = '1' before each run
--           CYCLES  edges with rst = '0' of each run
--
-- rst changes between two edges. After the last run the clock stands still: a bench without another one ends there.

library ieee;
use ieee.std_logic_1164.all;

entity bench_clock is
  generic (
    RESETS : integer_vector;
    CYCLES : integer_vector
  );
  port (
    clk : out std_logic := '0';
    rst : out std_logic := '1'
  );

  function generics_are_legal return boolean is
  begin
    assert RESETS'length = CYCLES'length and CYCLES'length > 0
      report "bench_clock: RESETS and CYCLES must have a number for each run" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture simulation of bench_clock is
begin

  beat : process
  begin
    for r in 0 to CYCLES'length - 1 loop
      rst <= '1';
      for edge in 1 to RESETS(RESETS'low + r) loop
        wait for 1 ns;
        clk <= '1';
        wait for 1 ns;
        clk <= '0';
      end loop;
      rst <= '0';
      for edge in 1 to CYCLES(CYCLES'low + r) loop
        wait for 1 ns;
        clk <= '1';
        wait for 1 ns;
        clk <= '0';
      end loop;
    end loop;
    wait;
  end process;

end architecture;
