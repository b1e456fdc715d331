-- maximum: the greatest of GROUPS numbers, channel by channel.
--
-- Generics: CHANNELS                   lanes of z; x has GROUPS * CHANNELS lanes
--           GROUPS                     numbers to compare; channel c of group g is lane g * CHANNELS + c of x
--           ELEMENT_WIDTH, IS_SIGNED   format of a lane
--           CAPACITY                   beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity maximum is
  generic (
    CHANNELS      : positive;
    GROUPS        : positive;
    ELEMENT_WIDTH : positive;
    IS_SIGNED     : boolean;
    CAPACITY      : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(GROUPS * CHANNELS * ELEMENT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(CHANNELS * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );
end entity;

architecture rtl of maximum is
  signal room   : std_logic;
  signal step   : std_logic;
  signal z_beat : std_logic_vector(CHANNELS * ELEMENT_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  compare : process (x_payload)
    variable best  : signed(ELEMENT_WIDTH downto 0);
    variable value : signed(ELEMENT_WIDTH downto 0);
  begin
    for c in 0 to CHANNELS - 1 loop
      best := lane(x_payload, c, ELEMENT_WIDTH, IS_SIGNED);
      for g in 1 to GROUPS - 1 loop
        value := lane(x_payload, g * CHANNELS + c, ELEMENT_WIDTH, IS_SIGNED);
        if value > best then
          best := value;
        end if;
      end loop;
      z_beat((c + 1) * ELEMENT_WIDTH - 1 downto c * ELEMENT_WIDTH) <= low_bits(best, ELEMENT_WIDTH);
    end loop;
  end process;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => CHANNELS * ELEMENT_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
