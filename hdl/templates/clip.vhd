-- clip: every lane, or the bound that it exceeds; with LOW = 0 it is relu.
--
-- Generics: LANES               lanes of x and z
--           X_WIDTH, X_SIGNED   format of a lane of x
--           Z_WIDTH             bits of a lane of z
--           LOW, LOW_UPPER      least value of z, LOW_UPPER * 2**24 + LOW
--           HIGH, HIGH_UPPER    greatest value of z, HIGH_UPPER * 2**24 + HIGH
--           CAPACITY            beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity clip is
  generic (
    LANES      : positive;
    X_WIDTH    : positive;
    X_SIGNED   : boolean;
    Z_WIDTH    : positive;
    LOW        : integer;
    LOW_UPPER  : integer := 0;
    HIGH       : integer;
    HIGH_UPPER : integer := 0;
    CAPACITY   : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(LANES * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert long(LOW_UPPER, LOW, 56) <= long(HIGH_UPPER, HIGH, 56)
      report "clip: LOW must not exceed HIGH" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of clip is
  constant WORKING : positive := maximum(X_WIDTH, Z_WIDTH) + 1;
  constant LEAST   : signed(WORKING - 1 downto 0) := long(LOW_UPPER, LOW, WORKING);
  constant MOST    : signed(WORKING - 1 downto 0) := long(HIGH_UPPER, HIGH, WORKING);

  signal room   : std_logic;
  signal step   : std_logic;
  signal z_beat : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  bound : process (x_payload)
    variable value : signed(WORKING - 1 downto 0);
  begin
    for c in 0 to LANES - 1 loop
      value := saturated(resize(lane(x_payload, c, X_WIDTH, X_SIGNED), WORKING), LEAST, MOST);
      z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= low_bits(value, Z_WIDTH);
    end loop;
  end process;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
