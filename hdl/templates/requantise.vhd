-- requantise: to another format, by shifting, rounding and saturating lane by lane.
--
-- Generics: CHANNELS             lanes of x and z
--           X_WIDTH, X_SIGNED    format of a lane of x
--           Z_WIDTH              bits of a lane of z, at most 31
--           SHIFTS               places to shift right, one a lane; negative: to the left
--           LOW, HIGH            bounds of z
--           CAPACITY             beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result.
--
-- z = min(max(x / 2**SHIFTS, LOW), HIGH), the quotient rounded half to even.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity requantise is
  generic (
    CHANNELS : positive;
    X_WIDTH  : positive;
    X_SIGNED : boolean;
    Z_WIDTH  : positive;
    SHIFTS   : integer_vector;
    LOW      : integer;
    HIGH     : integer;
    CAPACITY : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(CHANNELS * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(CHANNELS * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );
end entity;

architecture rtl of requantise is
  -- Bits that hold every number on the way, at every lane's shift.
  function working_width return positive is
    variable result : positive;
  begin
    result := Z_WIDTH + 2;
    for i in SHIFTS'range loop
      result := maximum(result, maximum(X_WIDTH, SHIFTS(i)) + 3);
      result := maximum(result, X_WIDTH - SHIFTS(i) + 2);
    end loop;
    return result;
  end function;

  constant WORKING : positive := working_width;

  signal room   : std_logic;
  signal step   : std_logic;
  signal z_beat : std_logic_vector(CHANNELS * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  convert : process (x_payload)
    variable value : signed(WORKING - 1 downto 0);
  begin
    for c in 0 to CHANNELS - 1 loop
      value := resize(lane(x_payload, c, X_WIDTH, X_SIGNED), WORKING);
      value := rounded(value, SHIFTS(SHIFTS'low + c));
      value := saturated(value, long(0, LOW, WORKING), long(0, HIGH, WORKING));
      z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= low_bits(value, Z_WIDTH);
    end loop;
  end process;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => CHANNELS * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
