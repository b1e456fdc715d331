-- add: the exact sum of two streams, z = x * 2**X_SHIFT + y * 2**Y_SHIFT.
--
-- Generics: LANES                        lanes of x, y and z
--           X_WIDTH, X_SIGNED, X_SHIFT   format of a lane of x, and the bits that it is shifted left
--           Y_WIDTH, Y_SIGNED, Y_SHIFT   the same of y
--           Z_WIDTH                      bits of a lane of z; every sum fits
--           CAPACITY                     beats in the output buffer
-- Schedule: one step a pair of beats, which takes both and gives the sum.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity add is
  generic (
    LANES    : positive;
    X_WIDTH  : positive;
    X_SIGNED : boolean;
    X_SHIFT  : natural := 0;
    Y_WIDTH  : positive;
    Y_SIGNED : boolean;
    Y_SHIFT  : natural := 0;
    Z_WIDTH  : positive;
    CAPACITY : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(LANES * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    y_payload : in  std_logic_vector(LANES * Y_WIDTH - 1 downto 0);
    y_valid   : in  std_logic;
    y_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert Z_WIDTH >= X_WIDTH + X_SHIFT and Z_WIDTH >= Y_WIDTH + Y_SHIFT
      report "add: Z_WIDTH must hold both shifted operands" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of add is
  constant WORKING : positive := maximum(Z_WIDTH, maximum(X_WIDTH + X_SHIFT, Y_WIDTH + Y_SHIFT) + 1);

  signal room   : std_logic;
  signal step   : std_logic;
  signal z_beat : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room and y_valid;
  y_ready <= room and x_valid;
  step    <= room and x_valid and y_valid;

  sum : process (x_payload, y_payload)
    variable x : signed(WORKING - 1 downto 0);
    variable y : signed(WORKING - 1 downto 0);
  begin
    for c in 0 to LANES - 1 loop
      x := rounded(resize(lane(x_payload, c, X_WIDTH, X_SIGNED), WORKING), -X_SHIFT);
      y := rounded(resize(lane(y_payload, c, Y_WIDTH, Y_SIGNED), WORKING), -Y_SHIFT);
      z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= low_bits(x + y, Z_WIDTH);
    end loop;
  end process;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
