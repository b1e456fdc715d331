-- fifo: a first-in first-out store between two parts of different rhythm.
--
-- Generics: WIDTH      bits of a payload
--           CAPACITY   beats that it holds
-- Schedule: one step a beat, which takes it and gives it.

library ieee;
use ieee.std_logic_1164.all;

entity fifo is
  generic (
    WIDTH    : positive;
    CAPACITY : positive
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert WIDTH > 0 and CAPACITY > 0 report "fifo: WIDTH and CAPACITY must be positive" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of fifo is
  signal room : std_logic;
  signal step : std_logic;
begin

  x_ready <= room;
  step    <= room and x_valid;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => x_payload,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
