-- argmax: the index of the greatest lane; of equal ones, the first.
--
-- Generics: INPUTS              lanes of x
--           X_WIDTH, X_SIGNED   format of a lane of x
--           Z_WIDTH             bits of the index
--           CAPACITY            beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity argmax is
  generic (
    INPUTS   : positive;
    X_WIDTH  : positive;
    X_SIGNED : boolean;
    Z_WIDTH  : positive;
    CAPACITY : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(INPUTS * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );
end entity;

architecture rtl of argmax is
  signal room   : std_logic;
  signal step   : std_logic;
  signal z_beat : std_logic_vector(Z_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  compare : process (x_payload)
    variable best  : signed(X_WIDTH downto 0);
    variable value : signed(X_WIDTH downto 0);
    variable place : natural range 0 to INPUTS - 1;
  begin
    best  := lane(x_payload, 0, X_WIDTH, X_SIGNED);
    place := 0;
    for i in 1 to INPUTS - 1 loop
      value := lane(x_payload, i, X_WIDTH, X_SIGNED);
      if value > best then
        best  := value;
        place := i;
      end if;
    end loop;
    z_beat <= low_bits(place, Z_WIDTH);
  end process;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
