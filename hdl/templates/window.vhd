-- window: the pixels under a sliding window, one beat a position of the window.
--
-- Generics: CHANNELS, HEIGHT, WIDTH           of an image; one pixel of all channels is one beat
--           KERNEL_HEIGHT, KERNEL_WIDTH       of the window
--           STRIDE_HEIGHT, STRIDE_WIDTH       steps of the window
--           PAD_TOP, PAD_LEFT, PAD_BOTTOM, PAD_RIGHT, FILL   what stands around the image
--           ELEMENT_WIDTH                     bits of a lane
--           CAPACITY                          beats in the output buffer
-- Ports:    x, one pixel a beat, in raster order; z, lane (ky * KERNEL_WIDTH + kx) * CHANNELS + channel
-- Schedule: one step a pixel of the padded image, in raster order; a step inside the image takes a beat, a step that
--           completes a window gives one.
--
-- The rows above the current pixel lie in one line memory (a word is a column of the window), read one step ahead.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity window is
  generic (
    CHANNELS      : positive;
    HEIGHT        : positive;
    WIDTH         : positive;
    KERNEL_HEIGHT : positive;
    KERNEL_WIDTH  : positive;
    STRIDE_HEIGHT : positive := 1;
    STRIDE_WIDTH  : positive := 1;
    PAD_TOP       : natural := 0;
    PAD_LEFT      : natural := 0;
    PAD_BOTTOM    : natural := 0;
    PAD_RIGHT     : natural := 0;
    FILL          : integer := 0;
    ELEMENT_WIDTH : positive;
    CAPACITY      : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(CHANNELS * ELEMENT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(KERNEL_HEIGHT * KERNEL_WIDTH * CHANNELS * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );
end entity;

architecture rtl of window is
  constant ROWS    : positive := PAD_TOP + HEIGHT + PAD_BOTTOM;
  constant COLUMNS : positive := PAD_LEFT + WIDTH + PAD_RIGHT;
  constant PIXEL   : positive := CHANNELS * ELEMENT_WIDTH;
  constant COLUMN  : positive := KERNEL_HEIGHT * PIXEL;

  function border return std_logic_vector is
    variable result : std_logic_vector(PIXEL - 1 downto 0);
  begin
    for c in 0 to CHANNELS - 1 loop
      result((c + 1) * ELEMENT_WIDTH - 1 downto c * ELEMENT_WIDTH) := low_bits(FILL, ELEMENT_WIDTH);
    end loop;
    return result;
  end function;

  constant BORDER_PIXEL : std_logic_vector(PIXEL - 1 downto 0) := border;

  signal row         : natural range 0 to ROWS - 1 := 0;
  signal col         : natural range 0 to COLUMNS - 1 := 0;
  signal row_wait    : natural range 0 to maximum(KERNEL_HEIGHT, STRIDE_HEIGHT) - 1 := KERNEL_HEIGHT - 1;
  signal col_wait    : natural range 0 to maximum(KERNEL_WIDTH, STRIDE_WIDTH) - 1 := KERNEL_WIDTH - 1;
  signal inside      : std_logic;
  signal complete    : std_logic;
  signal room        : std_logic;
  signal free        : std_logic;
  signal step        : std_logic;
  signal push        : std_logic;
  signal pixel_now   : std_logic_vector(PIXEL - 1 downto 0);
  signal column_now  : std_logic_vector(COLUMN - 1 downto 0);                       -- lowest: the oldest row
  signal picture     : std_logic_vector(KERNEL_WIDTH * COLUMN - 1 downto 0);        -- lowest: the oldest column
  signal previous    : std_logic_vector(KERNEL_WIDTH * COLUMN - 1 downto 0) := (others => '0');
  signal z_beat      : std_logic_vector(KERNEL_WIDTH * COLUMN - 1 downto 0);
begin

  inside <= '1' when row >= PAD_TOP and row < PAD_TOP + HEIGHT and col >= PAD_LEFT and col < PAD_LEFT + WIDTH else '0';
  complete <= '1' when row_wait = 0 and col_wait = 0 else '0';
  free     <= room or not complete;
  x_ready  <= inside and free;
  step     <= free and (x_valid or not inside);
  push     <= step and complete;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        row      <= 0;
        col      <= 0;
        row_wait <= KERNEL_HEIGHT - 1;
        col_wait <= KERNEL_WIDTH - 1;
      elsif step = '1' then
        if col /= COLUMNS - 1 then
          col <= col + 1;
          if col_wait = 0 then
            col_wait <= STRIDE_WIDTH - 1;
          else
            col_wait <= col_wait - 1;
          end if;
        else
          col      <= 0;
          col_wait <= KERNEL_WIDTH - 1;
          if row /= ROWS - 1 then
            row <= row + 1;
            if row_wait = 0 then
              row_wait <= STRIDE_HEIGHT - 1;
            else
              row_wait <= row_wait - 1;
            end if;
          else
            row      <= 0;
            row_wait <= KERNEL_HEIGHT - 1;
          end if;
        end if;
      end if;
    end if;
  end process;

  pixel_now <= x_payload when inside = '1' else BORDER_PIXEL;

  one_row : if KERNEL_HEIGHT = 1 generate
    column_now <= pixel_now;
  end generate;

  rows_above : if KERNEL_HEIGHT > 1 generate
    signal above : std_logic_vector(COLUMN - PIXEL - 1 downto 0) := (others => '0');
  begin

    column_now <= pixel_now & above;

    one_column : if COLUMNS = 1 generate
      hold : process (clk)
      begin
        if rising_edge(clk) then
          if step = '1' then
            above <= column_now(COLUMN - 1 downto PIXEL);
          end if;
        end if;
      end process;
    end generate;

    line_memory : if COLUMNS > 1 generate
      type memory_t is array (0 to memory_depth(COLUMNS) - 1) of std_logic_vector(COLUMN - PIXEL - 1 downto 0);
      signal memory    : memory_t := (others => (others => '0'));
      signal following : natural range 0 to COLUMNS - 1;
    begin

      following <= 0 when col = COLUMNS - 1 else col + 1;

      storage : process (clk)
      begin
        if rising_edge(clk) then
          if step = '1' then
            above <= memory(following);
            memory(col) <= column_now(COLUMN - 1 downto PIXEL);
          end if;
        end if;
      end process;

    end generate;

  end generate;

  one_pixel : if KERNEL_WIDTH = 1 generate
    picture <= column_now;
  end generate;

  pixels_before : if KERNEL_WIDTH > 1 generate
    picture <= column_now & previous(KERNEL_WIDTH * COLUMN - 1 downto COLUMN);

    hold : process (clk)
    begin
      if rising_edge(clk) then
        if step = '1' then
          previous <= picture;
        end if;
      end if;
    end process;
  end generate;

  kernel_rows : for ky in 0 to KERNEL_HEIGHT - 1 generate
    kernel_columns : for kx in 0 to KERNEL_WIDTH - 1 generate
      z_beat((ky * KERNEL_WIDTH + kx + 1) * PIXEL - 1 downto (ky * KERNEL_WIDTH + kx) * PIXEL)
        <= picture((kx * KERNEL_HEIGHT + ky + 1) * PIXEL - 1 downto (kx * KERNEL_HEIGHT + ky) * PIXEL);
    end generate;
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => KERNEL_WIDTH * COLUMN, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => push, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
