-- window: the pixels under a sliding window, for each position of the window.
--
-- Generics: LANES, FOLDS                      of a pixel: numbers in a beat, and beats
--           GROUP_SIZE                        channels that stay together, a divisor of LANES
--           HEIGHT, WIDTH                     of an image
--           KERNEL_HEIGHT, KERNEL_WIDTH       taps of the window
--           STRIDE_HEIGHT, STRIDE_WIDTH       steps of the window
--           DILATION_HEIGHT, DILATION_WIDTH   distance of its taps
--           PAD_TOP, PAD_LEFT, PAD_BOTTOM, PAD_RIGHT, FILL   what stands around the image
--           ELEMENT_WIDTH                     bits of a lane
--           CAPACITY                          beats in the output buffer
-- Ports:    x, pixels in raster order
--           z, whose lane (g * taps + ky * KERNEL_WIDTH + kx) * GROUP_SIZE + c is lane g * GROUP_SIZE + c of a pixel
-- Schedule: one step a beat of the padded image, in raster order; a step inside the image takes a beat, a step that
--           completes a window gives one.
--
-- The rows above the current pixel lie in one line memory (a word is a column of pixels), read one step ahead.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity window is
  generic (
    LANES           : positive;
    FOLDS           : positive := 1;
    GROUP_SIZE      : positive;
    HEIGHT          : positive;
    WIDTH           : positive;
    KERNEL_HEIGHT   : positive;
    KERNEL_WIDTH    : positive;
    STRIDE_HEIGHT   : positive := 1;
    STRIDE_WIDTH    : positive := 1;
    DILATION_HEIGHT : positive := 1;
    DILATION_WIDTH  : positive := 1;
    PAD_TOP         : natural := 0;
    PAD_LEFT        : natural := 0;
    PAD_BOTTOM      : natural := 0;
    PAD_RIGHT       : natural := 0;
    FILL            : integer := 0;
    ELEMENT_WIDTH   : positive;
    CAPACITY        : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(KERNEL_HEIGHT * KERNEL_WIDTH * LANES * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert LANES mod GROUP_SIZE = 0 report "window: GROUP_SIZE must divide LANES" severity failure;
    assert DILATION_HEIGHT * (KERNEL_HEIGHT - 1) < PAD_TOP + HEIGHT + PAD_BOTTOM
      report "window: the window must not be higher than the padded image" severity failure;
    assert DILATION_WIDTH * (KERNEL_WIDTH - 1) < PAD_LEFT + WIDTH + PAD_RIGHT
      report "window: the window must not be wider than the padded image" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of window is
  constant TAPS          : positive := KERNEL_HEIGHT * KERNEL_WIDTH;
  constant ROWS          : positive := PAD_TOP + HEIGHT + PAD_BOTTOM;
  constant COLUMNS       : positive := PAD_LEFT + WIDTH + PAD_RIGHT;
  constant EXTENT_HEIGHT : positive := DILATION_HEIGHT * (KERNEL_HEIGHT - 1) + 1;
  constant EXTENT_WIDTH  : positive := DILATION_WIDTH * (KERNEL_WIDTH - 1) + 1;
  constant PIXEL         : positive := LANES * ELEMENT_WIDTH;
  constant COLUMN        : positive := EXTENT_HEIGHT * PIXEL;             -- of the line memory and what comes in
  constant TAPPED        : positive := KERNEL_HEIGHT * PIXEL;             -- what the window sees of it
  constant WORDS         : positive := COLUMNS * FOLDS;
  constant BEFORE        : natural := (EXTENT_WIDTH - 1) * FOLDS;         -- columns kept beside the current one
  constant GROUP_BITS    : positive := GROUP_SIZE * ELEMENT_WIDTH;

  function border return std_logic_vector is
    variable result : std_logic_vector(PIXEL - 1 downto 0);
  begin
    for c in 0 to LANES - 1 loop
      result((c + 1) * ELEMENT_WIDTH - 1 downto c * ELEMENT_WIDTH) := low_bits(FILL, ELEMENT_WIDTH);
    end loop;
    return result;
  end function;

  constant BORDER_PIXEL : std_logic_vector(PIXEL - 1 downto 0) := border;

  signal row         : natural range 0 to ROWS - 1 := 0;
  signal col         : natural range 0 to COLUMNS - 1 := 0;
  signal fold        : natural range 0 to FOLDS - 1 := 0;
  signal row_wait    : natural range 0 to maximum(EXTENT_HEIGHT, STRIDE_HEIGHT) - 1 := EXTENT_HEIGHT - 1;
  signal col_wait    : natural range 0 to maximum(EXTENT_WIDTH, STRIDE_WIDTH) - 1 := EXTENT_WIDTH - 1;
  signal inside      : std_logic;
  signal complete    : std_logic;
  signal room        : std_logic;
  signal free        : std_logic;
  signal step        : std_logic;
  signal push        : std_logic;
  signal pixel_now   : std_logic_vector(PIXEL - 1 downto 0);
  signal column_now  : std_logic_vector(COLUMN - 1 downto 0);                       -- lowest: the oldest row
  signal tapped_now  : std_logic_vector(TAPPED - 1 downto 0);
  signal picture     : std_logic_vector((BEFORE + 1) * TAPPED - 1 downto 0);        -- lowest: the oldest column
  signal z_beat      : std_logic_vector(TAPS * PIXEL - 1 downto 0);
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
        fold     <= 0;
        row_wait <= EXTENT_HEIGHT - 1;
        col_wait <= EXTENT_WIDTH - 1;
      elsif step = '1' then
        if fold /= FOLDS - 1 then
          fold <= fold + 1;
        else
          fold <= 0;
          if col /= COLUMNS - 1 then
            col <= col + 1;
            if col_wait = 0 then
              col_wait <= STRIDE_WIDTH - 1;
            else
              col_wait <= col_wait - 1;
            end if;
          else
            col      <= 0;
            col_wait <= EXTENT_WIDTH - 1;
            if row /= ROWS - 1 then
              row <= row + 1;
              if row_wait = 0 then
                row_wait <= STRIDE_HEIGHT - 1;
              else
                row_wait <= row_wait - 1;
              end if;
            else
              row      <= 0;
              row_wait <= EXTENT_HEIGHT - 1;
            end if;
          end if;
        end if;
      end if;
    end if;
  end process;

  pixel_now <= x_payload when inside = '1' else BORDER_PIXEL;

  one_row : if EXTENT_HEIGHT = 1 generate
    column_now <= pixel_now;
  end generate;

  rows_above : if EXTENT_HEIGHT > 1 generate
    signal above : std_logic_vector(COLUMN - PIXEL - 1 downto 0) := (others => '0');
  begin

    column_now <= pixel_now & above;

    one_column : if WORDS = 1 generate
      hold : process (clk)
      begin
        if rising_edge(clk) then
          if step = '1' then
            above <= column_now(COLUMN - 1 downto PIXEL);
          end if;
        end if;
      end process;
    end generate;

    line_memory : if WORDS > 1 generate
      type memory_t is array (0 to memory_depth(WORDS) - 1) of std_logic_vector(COLUMN - PIXEL - 1 downto 0);
      signal memory    : memory_t := (others => (others => '0'));
      signal word      : natural range 0 to WORDS - 1 := 0;
      signal following : natural range 0 to WORDS - 1;
    begin

      following <= 0 when word = WORDS - 1 else word + 1;

      storage : process (clk)
      begin
        if rising_edge(clk) then
          if rst = '1' then
            word <= 0;
          elsif step = '1' then
            word <= following;
          end if;
          if step = '1' then
            above <= memory(following);
            memory(word) <= column_now(COLUMN - 1 downto PIXEL);
          end if;
        end if;
      end process;

    end generate;

  end generate;

  tapped_rows : for ky in 0 to KERNEL_HEIGHT - 1 generate
    tapped_now((ky + 1) * PIXEL - 1 downto ky * PIXEL)
      <= column_now((ky * DILATION_HEIGHT + 1) * PIXEL - 1 downto ky * DILATION_HEIGHT * PIXEL);
  end generate;

  one_pixel : if BEFORE = 0 generate
    picture <= tapped_now;
  end generate;

  pixels_before : if BEFORE > 0 generate
    signal previous : std_logic_vector(BEFORE * TAPPED - 1 downto 0) := (others => '0');
  begin
    picture <= tapped_now & previous;

    hold : process (clk)
    begin
      if rising_edge(clk) then
        if step = '1' then
          previous <= picture((BEFORE + 1) * TAPPED - 1 downto TAPPED);
        end if;
      end if;
    end process;
  end generate;

  kernel_rows : for ky in 0 to KERNEL_HEIGHT - 1 generate
    kernel_columns : for kx in 0 to KERNEL_WIDTH - 1 generate
      constant TAP  : natural := ky * KERNEL_WIDTH + kx;
      constant FROM : natural := kx * DILATION_WIDTH * FOLDS * TAPPED + ky * PIXEL;
    begin
      channels : for g in 0 to LANES / GROUP_SIZE - 1 generate
        z_beat((g * TAPS + TAP + 1) * GROUP_BITS - 1 downto (g * TAPS + TAP) * GROUP_BITS)
          <= picture(FROM + (g + 1) * GROUP_BITS - 1 downto FROM + g * GROUP_BITS);
      end generate;
    end generate;
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => TAPS * PIXEL, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => push, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
