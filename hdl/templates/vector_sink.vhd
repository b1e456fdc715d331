-- vector_sink: takes beats and compares the cycle and the payload of each with a file of what is expected.
--
-- Generics: NAME      what to call the stream in a message
--           WIDTH     bits of a payload
--           EXPECTED  file to read: a cycle and a hexadecimal payload a line
--           RESULTS   file to write, of the same form
--           GATE      ready in cycle t where GATE(t mod GATE'length) is 1
-- Ports:    done      every expected beat has come
--           faults    beats that differ so far
--
-- Cycle t is the t-th rising edge, from 0, at which rst is low. A beat that does not come is the test bench's to find.

library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;

entity vector_sink is
  generic (
    NAME     : string;
    WIDTH    : positive;
    EXPECTED : string;
    RESULTS  : string;
    GATE     : integer_vector
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    done      : out boolean := false;
    faults    : out natural := 0
  );

  function generics_are_legal return boolean is
  begin
    assert WIDTH > 0 report "vector_sink: WIDTH must be positive" severity failure;
    assert minimum(GATE) >= 0 and maximum(GATE) <= 1
      report "vector_sink: GATE must hold zeros and ones" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture simulation of vector_sink is
  signal accepts : std_logic := '0';
begin

  x_ready <= accepts;

  compare : process (clk)
    file wanted     : text open read_mode is EXPECTED;
    file seen       : text open write_mode is RESULTS;
    variable words  : line;
    variable number : std_logic_vector((WIDTH + 3) / 4 * 4 - 1 downto 0);
    variable due    : natural;
    variable cycle  : natural := 0;
    variable beat   : natural := 0;
    variable wrong  : natural := 0;

    impure function hex(value : std_logic_vector(WIDTH - 1 downto 0)) return string is
      variable padded : std_logic_vector(number'range) := (others => '0');
    begin
      padded(WIDTH - 1 downto 0) := value;
      return to_hstring(padded);
    end function;
  begin
    if rising_edge(clk) then
      if rst = '0' then
        if x_valid = '1' and accepts = '1' then
          write(words, cycle);
          write(words, ' ');
          write(words, hex(x_payload));
          writeline(seen, words);
          if endfile(wanted) then
            wrong := wrong + 1;
            report NAME & ": beat " & integer'image(beat) & " in cycle " & integer'image(cycle) & " was not expected"
              severity error;
          else
            readline(wanted, words);
            read(words, due);
            hread(words, number);
            if due /= cycle or number(WIDTH - 1 downto 0) /= x_payload then
              wrong := wrong + 1;
              if wrong = 1 then
                report NAME & ": beat " & integer'image(beat) & " is " & hex(x_payload) & " in cycle "
                  & integer'image(cycle) & ", expected " & to_hstring(number) & " in cycle " & integer'image(due)
                  severity error;
              end if;
            end if;
          end if;
          beat := beat + 1;
        end if;
        cycle := cycle + 1;
      end if;
      if GATE(GATE'low + cycle mod GATE'length) = 1 then
        accepts <= '1';
      else
        accepts <= '0';
      end if;
      done <= endfile(wanted);
      faults <= wrong;
    end if;
  end process;

end architecture;
