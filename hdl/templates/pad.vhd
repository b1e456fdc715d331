-- pad: a border of one number around an image; a sequence is an image of one row.
--
-- Generics: LANES, FOLDS                                lanes of a beat, beats of a position
--           HEIGHT, WIDTH                               of the image
--           PAD_TOP, PAD_LEFT, PAD_BOTTOM, PAD_RIGHT    rows and columns of the border
--           FILL, FILL_UPPER                            what it holds: FILL_UPPER * 2**24 + FILL
--           ELEMENT_WIDTH                               bits of a lane
--           CAPACITY                                    beats in the output buffer
-- Schedule: one step a beat of the padded image, which gives it; a step inside of the image takes a beat. If a border
--           comes first, the first beat of the image is taken by the first step, and held until it is due.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity pad is
  generic (
    LANES         : positive;
    FOLDS         : positive := 1;
    HEIGHT        : positive;
    WIDTH         : positive;
    PAD_TOP       : natural;
    PAD_LEFT      : natural;
    PAD_BOTTOM    : natural;
    PAD_RIGHT     : natural;
    FILL          : integer;
    FILL_UPPER    : integer := 0;
    ELEMENT_WIDTH : positive;
    CAPACITY      : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert ELEMENT_WIDTH <= 48 report "pad: ELEMENT_WIDTH must be at most 48" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of pad is
  constant BEAT    : positive := LANES * ELEMENT_WIDTH;
  constant ROWS    : positive := PAD_TOP + HEIGHT + PAD_BOTTOM;
  constant COLUMNS : positive := (PAD_LEFT + WIDTH + PAD_RIGHT) * FOLDS;       -- beats of a row
  constant LEFT    : natural  := PAD_LEFT * FOLDS;
  constant RIGHT   : positive := (PAD_LEFT + WIDTH) * FOLDS;
  constant LATER   : boolean  := PAD_TOP + PAD_LEFT > 0;                       -- the image comes after a border

  function border return std_logic_vector is
    variable result : std_logic_vector(BEAT - 1 downto 0);
  begin
    for l in 0 to LANES - 1 loop
      result((l + 1) * ELEMENT_WIDTH - 1 downto l * ELEMENT_WIDTH)
        := low_bits(long(FILL_UPPER, FILL, ELEMENT_WIDTH + 1), ELEMENT_WIDTH);
    end loop;
    return result;
  end function;

  constant BORDER_BEAT : std_logic_vector(BEAT - 1 downto 0) := border;

  signal row    : natural range 0 to ROWS - 1 := 0;
  signal col    : natural range 0 to COLUMNS - 1 := 0;
  signal begins : std_logic;
  signal inside : std_logic;
  signal due    : std_logic;
  signal taking : std_logic;
  signal room   : std_logic;
  signal step   : std_logic;
  signal held   : std_logic_vector(BEAT - 1 downto 0) := (others => '0');
  signal z_beat : std_logic_vector(BEAT - 1 downto 0);
begin

  begins <= '1' when row = 0 and col = 0 else '0';
  inside <= '1' when row >= PAD_TOP and row < PAD_TOP + HEIGHT and col >= LEFT and col < RIGHT else '0';
  due    <= '1' when LATER and row = PAD_TOP and col = LEFT else '0';
  taking <= begins or (inside and not due);

  x_ready <= taking and room;
  step    <= room and (x_valid or not taking);
  z_beat  <= BORDER_BEAT when inside = '0' else held when due = '1' else x_payload;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        row <= 0;
        col <= 0;
      elsif step = '1' then
        if col /= COLUMNS - 1 then
          col <= col + 1;
        else
          col <= 0;
          if row /= ROWS - 1 then
            row <= row + 1;
          else
            row <= 0;
          end if;
        end if;
      end if;
    end if;
  end process;

  keep : if LATER generate
    hold : process (clk)
    begin
      if rising_edge(clk) then
        if begins = '1' and step = '1' then
          held <= x_payload;
        end if;
      end if;
    end process;
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => BEAT, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
