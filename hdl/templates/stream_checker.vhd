-- stream_checker: stops a simulation when a stream breaks its contract (hdl/STREAM_CONTRACT.md). For test benches only.
--
-- Generics: NAME   what to call the stream in a message
--           WIDTH  bits of a payload
-- Ports:    the stream; all are inputs

library ieee;
use ieee.std_logic_1164.all;

entity stream_checker is
  generic (
    NAME  : string;
    WIDTH : positive
  );
  port (
    clk     : in std_logic;
    rst     : in std_logic;
    payload : in std_logic_vector(WIDTH - 1 downto 0);
    valid   : in std_logic;
    ready   : in std_logic
  );
end entity;

architecture simulation of stream_checker is
begin

  check : process (clk)
    variable waits : boolean := false;                                -- a beat was offered and not taken
    variable held  : std_logic_vector(WIDTH - 1 downto 0);
    variable reset : boolean := false;                                -- rst was '1' at the previous edge
  begin
    if rising_edge(clk) then
      assert not is_x(rst) report NAME & ": rst is neither 0 nor 1" severity failure;
      if reset then
        assert valid = '0' report NAME & ": valid in the cycle after a reset edge" severity failure;
      end if;
      if rst = '1' then
        waits := false;
        reset := true;
      elsif rst = '0' then
        reset := false;
        assert not is_x(valid) report NAME & ": valid is neither 0 nor 1" severity failure;
        assert not is_x(ready) report NAME & ": ready is neither 0 nor 1" severity failure;
        if waits then
          assert valid = '1' report NAME & ": valid fell before the transfer" severity failure;
          assert payload = held report NAME & ": the payload changed before the transfer" severity failure;
        end if;
        if valid = '1' then
          assert not is_x(payload) report NAME & ": the payload holds a metavalue" severity failure;
        end if;
        waits := valid = '1' and ready = '0';
        held  := payload;
      end if;
    end if;
  end process;

end architecture;
