-- select_lanes: some lanes of a stream, in any order.
--
-- Generics: X_LANES    lanes of x, all channels of a position
--           Z_LANES    lanes of z
--           WIDTH      bits of a lane
--           ORDER      lane c of z is lane ORDER(c) of x
--           CAPACITY   beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result.

library ieee;
use ieee.std_logic_1164.all;

entity select_lanes is
  generic (
    X_LANES  : positive;
    Z_LANES  : positive;
    WIDTH    : positive;
    ORDER    : integer_vector;
    CAPACITY : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(X_LANES * WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(Z_LANES * WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert ORDER'length = Z_LANES report "select_lanes: ORDER must have Z_LANES numbers" severity failure;
    for i in ORDER'range loop
      assert ORDER(i) >= 0 and ORDER(i) < X_LANES report "select_lanes: ORDER must hold lanes of x" severity failure;
    end loop;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of select_lanes is
  signal room   : std_logic;
  signal step   : std_logic;
  signal z_beat : std_logic_vector(Z_LANES * WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  move : for c in 0 to Z_LANES - 1 generate
    constant SOURCE : natural := ORDER(ORDER'low + c);
  begin
    z_beat((c + 1) * WIDTH - 1 downto c * WIDTH) <= x_payload((SOURCE + 1) * WIDTH - 1 downto SOURCE * WIDTH);
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_LANES * WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
