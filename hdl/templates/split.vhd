-- split: the first channels of a stream, and the others.
--
-- Generics: X_WIDTH, Z0_WIDTH, Z1_WIDTH   bits of a payload: of x as many as of z0 and z1 together, or all are equal
--           Z0_BEATS, Z1_BEATS            beats of a position, where they come one after the other; else 0
--           CAPACITY                      beats in the buffer of each output
-- Schedule: one step a beat, which takes it; with narrower payloads it gives a beat to both outputs, else the first
--           Z0_BEATS of a position go to z0, the others to z1.

library ieee;
use ieee.std_logic_1164.all;

entity split is
  generic (
    X_WIDTH  : positive;
    Z0_WIDTH : positive;
    Z1_WIDTH : positive;
    Z0_BEATS : natural := 0;
    Z1_BEATS : natural := 0;
    CAPACITY : positive := 2
  );
  port (
    clk        : in  std_logic;
    rst        : in  std_logic;
    x_payload  : in  std_logic_vector(X_WIDTH - 1 downto 0);
    x_valid    : in  std_logic;
    x_ready    : out std_logic;
    z0_payload : out std_logic_vector(Z0_WIDTH - 1 downto 0);
    z0_valid   : out std_logic;
    z0_ready   : in  std_logic;
    z1_payload : out std_logic_vector(Z1_WIDTH - 1 downto 0);
    z1_valid   : out std_logic;
    z1_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert (Z0_BEATS = 0 and Z1_BEATS = 0 and X_WIDTH = Z0_WIDTH + Z1_WIDTH)
      or (Z0_BEATS > 0 and Z1_BEATS > 0 and Z0_WIDTH = X_WIDTH and Z1_WIDTH = X_WIDTH)
      report "split: payloads must lie side by side, or be equal and come in turn" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of split is
  signal room_0 : std_logic;
  signal room_1 : std_logic;
  signal push_0 : std_logic;
  signal push_1 : std_logic;
begin

  side_by_side : if Z0_BEATS = 0 generate
    x_ready <= room_0 and room_1;
    push_0  <= room_0 and room_1 and x_valid;
    push_1  <= room_0 and room_1 and x_valid;
  end generate;

  in_turn : if Z0_BEATS > 0 generate
    signal beat : natural range 0 to Z0_BEATS + Z1_BEATS - 1 := 0;
    signal to_0 : std_logic;
  begin
    to_0    <= '1' when beat < Z0_BEATS else '0';
    x_ready <= (room_0 and to_0) or (room_1 and not to_0);
    push_0  <= room_0 and to_0 and x_valid;
    push_1  <= room_1 and not to_0 and x_valid;

    count : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          beat <= 0;
        elsif push_0 = '1' or push_1 = '1' then
          if beat = Z0_BEATS + Z1_BEATS - 1 then
            beat <= 0;
          else
            beat <= beat + 1;
          end if;
        end if;
      end if;
    end process;
  end generate;

  z0_buffer : entity work.stream_buffer
    generic map (WIDTH => Z0_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => push_0, room => room_0, push => push_0,
      payload => x_payload(Z0_WIDTH - 1 downto 0),
      z_payload => z0_payload, z_valid => z0_valid, z_ready => z0_ready
    );

  z1_buffer : entity work.stream_buffer
    generic map (WIDTH => Z1_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => push_1, room => room_1, push => push_1,
      payload => x_payload(X_WIDTH - 1 downto X_WIDTH - Z1_WIDTH),
      z_payload => z1_payload, z_valid => z1_valid, z_ready => z1_ready
    );

end architecture;
