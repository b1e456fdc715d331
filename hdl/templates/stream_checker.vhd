-- stream_checker: stops a simulation when a stream breaks its contract (hdl/STREAM_CONTRACT.md). For test benches only.
--
-- Generics: NAME   what to call the stream in a message
--           WIDTH  bits of a payload
-- Ports:    the stream; all are inputs
--
-- A message names the cycle: the t-th rising edge after a reset, from 0, at which rst is low; and the run, if the bench
-- has several, each after a reset.

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

  function generics_are_legal return boolean is
  begin
    assert WIDTH > 0 report "stream_checker: WIDTH must be positive" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture simulation of stream_checker is
begin

  check : process (clk)
    variable waits : boolean := false;                                -- a beat was offered and not taken
    variable held  : std_logic_vector(WIDTH - 1 downto 0);
    variable reset : boolean := false;                                -- rst was '1' at the previous edge
    variable cycle : natural := 0;
    variable run   : positive := 1;

    procedure require(kept : boolean; told : string) is
    begin
      if not kept then
        report NAME & ": " & told & ", run " & integer'image(run) & ", cycle " & integer'image(cycle) severity failure;
      end if;
    end procedure;
  begin
    if rising_edge(clk) then
      require(not is_x(rst), "rst is neither 0 nor 1");
      if reset then
        require(valid = '0', "valid in the cycle after a reset edge");
      end if;
      if rst = '1' then
        if cycle > 0 then
          run := run + 1;
        end if;
        cycle := 0;
        waits := false;
        reset := true;
      elsif rst = '0' then
        reset := false;
        require(not is_x(valid), "valid is neither 0 nor 1");
        require(not is_x(ready), "ready is neither 0 nor 1");
        if waits then
          require(valid = '1', "valid fell before the transfer");
          require(payload = held, "the payload changed before the transfer");
        end if;
        if valid = '1' then
          require(not is_x(payload), "the payload holds a metavalue");
        end if;
        waits := valid = '1' and ready = '0';
        held  := payload;
        cycle := cycle + 1;
      end if;
    end if;
  end process;

end architecture;
