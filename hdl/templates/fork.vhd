-- fork: one stream for two readers.
--
-- Generics: WIDTH      bits of a payload
--           CAPACITY   beats in the buffer of each output
-- Schedule: one step a beat, which takes it and gives a copy to both outputs.

library ieee;
use ieee.std_logic_1164.all;

entity fork is
  generic (
    WIDTH    : positive;
    CAPACITY : positive := 2
  );
  port (
    clk        : in  std_logic;
    rst        : in  std_logic;
    x_payload  : in  std_logic_vector(WIDTH - 1 downto 0);
    x_valid    : in  std_logic;
    x_ready    : out std_logic;
    z0_payload : out std_logic_vector(WIDTH - 1 downto 0);
    z0_valid   : out std_logic;
    z0_ready   : in  std_logic;
    z1_payload : out std_logic_vector(WIDTH - 1 downto 0);
    z1_valid   : out std_logic;
    z1_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert WIDTH > 0 and CAPACITY > 0 report "fork: WIDTH and CAPACITY must be positive" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of fork is
  signal room_0 : std_logic;
  signal room_1 : std_logic;
  signal step   : std_logic;
begin

  x_ready <= room_0 and room_1;
  step    <= room_0 and room_1 and x_valid;

  z0_buffer : entity work.stream_buffer
    generic map (WIDTH => WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room_0, push => step, payload => x_payload,
      z_payload => z0_payload, z_valid => z0_valid, z_ready => z0_ready
    );

  z1_buffer : entity work.stream_buffer
    generic map (WIDTH => WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room_1, push => step, payload => x_payload,
      z_payload => z1_payload, z_valid => z1_valid, z_ready => z1_ready
    );

end architecture;
