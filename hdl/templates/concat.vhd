-- concat: two streams, one after the other along the channels or an axis of positions.
--
-- Generics: X_WIDTH, Y_WIDTH, Z_WIDTH   bits of a payload: of z as many as of x and y together, or all are equal
--           X_BEATS, Y_BEATS            beats of x, and of y, that come together, again and again; 0 for side by side
--           CAPACITY                    beats in the output buffer
-- Schedule: side by side, one step a pair of beats, which takes both and gives one. Else one step a beat: X_BEATS of x,
--           then Y_BEATS of y. These are those of a position where channels are concatenated, of a row for columns, and
--           all of a frame for rows.

library ieee;
use ieee.std_logic_1164.all;

entity concat is
  generic (
    X_WIDTH  : positive;
    Y_WIDTH  : positive;
    Z_WIDTH  : positive;
    X_BEATS  : natural := 0;
    Y_BEATS  : natural := 0;
    CAPACITY : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    y_payload : in  std_logic_vector(Y_WIDTH - 1 downto 0);
    y_valid   : in  std_logic;
    y_ready   : out std_logic;
    z_payload : out std_logic_vector(Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert (X_BEATS = 0 and Y_BEATS = 0 and Z_WIDTH = X_WIDTH + Y_WIDTH)
      or (X_BEATS > 0 and Y_BEATS > 0 and X_WIDTH = Z_WIDTH and Y_WIDTH = Z_WIDTH)
      report "concat: payloads must lie side by side, or be equal and come in turn" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of concat is
  signal room   : std_logic;
  signal step   : std_logic;
  signal z_beat : std_logic_vector(Z_WIDTH - 1 downto 0);
begin

  side_by_side : if X_BEATS = 0 generate
    x_ready <= room and y_valid;
    y_ready <= room and x_valid;
    step    <= room and x_valid and y_valid;
    z_beat  <= y_payload & x_payload;
  end generate;

  in_turn : if X_BEATS > 0 generate
    signal beat : natural range 0 to X_BEATS + Y_BEATS - 1 := 0;
    signal of_x : std_logic;
  begin
    of_x    <= '1' when beat < X_BEATS else '0';
    x_ready <= room and of_x;
    y_ready <= room and not of_x;
    step    <= (room and of_x and x_valid) or (room and not of_x and y_valid);
    z_beat  <= x_payload when of_x = '1' else y_payload;

    count : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          beat <= 0;
        elsif step = '1' then
          if beat = X_BEATS + Y_BEATS - 1 then
            beat <= 0;
          else
            beat <= beat + 1;
          end if;
        end if;
      end if;
    end process;
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
