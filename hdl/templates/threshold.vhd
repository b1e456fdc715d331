-- threshold: how many levels of its channel a number has reached, z = OFFSET + STEP * (number of levels <= x).
--
-- Generics: CHANNELS              of a position
--           LANES                 lanes of x and z; a position is CHANNELS / LANES beats
--           X_WIDTH, X_SIGNED     format of a lane of x
--           Z_WIDTH               bits of a lane of z, at most 31; every result fits
--           ROWS                  1: the same levels for all; CHANNELS: those of each channel
--           COUNT                 levels of a row; for a search one less than a power of two
--           LEVEL_WIDTH           bits of a level, two's complement
--           LEVELS, LEVELS_UPPER  the rows, ascending, LEVELS_UPPER * 2**24 + LEVELS; none below the least number of x,
--                                 or by more than one above the greatest
--           STEP, OFFSET          of the result
--           SEARCH                whether levels are searched by bisection, or all compared at once
--           STAGES                pipeline stages without a search: 2 splits before counting
--           CAPACITY              beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result, visible STAGES cycles later; with a search, one cycle
--           more than the bits of COUNT.
--
-- A search compares with one level after the other, each from a memory of its own: the middle one, the middle one of
-- the half above or below it, and so on. A memory has a synchronous read; a beat can follow in each cycle.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity threshold is
  generic (
    CHANNELS     : positive;
    LANES        : positive;
    X_WIDTH      : positive;
    X_SIGNED     : boolean;
    Z_WIDTH      : positive;
    ROWS         : positive := 1;
    COUNT        : positive;
    LEVEL_WIDTH  : positive;
    LEVELS       : integer_vector;
    LEVELS_UPPER : integer_vector := (0 => 0);
    STEP         : integer := 1;
    OFFSET       : integer := 0;
    SEARCH       : boolean := false;
    STAGES       : positive := 1;
    CAPACITY     : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(LANES * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert CHANNELS mod LANES = 0 report "threshold: LANES must divide CHANNELS" severity failure;
    assert ROWS = 1 or ROWS = CHANNELS report "threshold: ROWS must be 1 or CHANNELS" severity failure;
    assert LEVELS'length = ROWS * COUNT report "threshold: LEVELS must have ROWS * COUNT numbers" severity failure;
    assert LEVELS_UPPER'length = 1 or LEVELS_UPPER'length = LEVELS'length
      report "threshold: LEVELS_UPPER must have one number or as many as LEVELS" severity failure;
    assert not SEARCH or 2 ** bits_below(COUNT + 1) = COUNT + 1
      report "threshold: COUNT must be one less than a power of two for a search" severity failure;
    assert Z_WIDTH <= 31 report "threshold: Z_WIDTH must be at most 31" severity failure;
    assert STAGES <= 2 report "threshold: STAGES must be at most 2" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of threshold is
  function rows_of_a_lane return positive is
  begin
    if ROWS = 1 then
      return 1;
    end if;
    return CHANNELS / LANES;
  end function;

  function stages_after_a_step return natural is
  begin
    if SEARCH then
      return bits_below(COUNT + 1);
    end if;
    return STAGES - 1;
  end function;

  constant FOLDS : positive := rows_of_a_lane;
  constant BITS  : positive := bits_below(COUNT + 1);
  constant STAGES_AFTER : natural  := stages_after_a_step;

  subtype level_t is std_logic_vector(LEVEL_WIDTH - 1 downto 0);

  -- A level of a lane in one of the beats of a position.
  function level_of(fold, c, index : natural) return level_t is
    variable at    : natural;
    variable upper : integer;
  begin
    at := index;
    if ROWS > 1 then
      at := (fold * LANES + c) * COUNT + index;
    end if;
    upper := 0;
    if LEVELS_UPPER'length = LEVELS'length then
      upper := LEVELS_UPPER(LEVELS_UPPER'low + at);
    end if;
    return std_logic_vector(long(upper, LEVELS(LEVELS'low + at), LEVEL_WIDTH));
  end function;

  function result_of(reached : unsigned) return std_logic_vector is
  begin
    return low_bits(to_integer(reached) * STEP + OFFSET, Z_WIDTH);
  end function;

  signal under_way : std_logic_vector(0 to STAGES_AFTER);
  signal room      : std_logic;
  signal takes     : std_logic;
  signal push      : std_logic;
  signal z_beat    : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  takes   <= room and x_valid;

  under_way(0) <= takes;
  push         <= under_way(STAGES_AFTER);

  late : if STAGES_AFTER > 0 generate
    move : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          under_way(1 to STAGES_AFTER) <= (others => '0');
        else
          under_way(1 to STAGES_AFTER) <= under_way(0 to STAGES_AFTER - 1);
        end if;
      end if;
    end process;
  end generate;

  all_at_once : if not SEARCH generate
    subtype row_t is std_logic_vector(LANES * COUNT * LEVEL_WIDTH - 1 downto 0);
    subtype reached_t is std_logic_vector(LANES * COUNT - 1 downto 0);
    type rows_t is array (0 to FOLDS - 1) of row_t;

    function all_rows return rows_t is
      variable result : rows_t;
    begin
      for f in 0 to FOLDS - 1 loop
        for c in 0 to LANES - 1 loop
          for i in 0 to COUNT - 1 loop
            result(f)((c * COUNT + i + 1) * LEVEL_WIDTH - 1 downto (c * COUNT + i) * LEVEL_WIDTH) := level_of(f, c, i);
          end loop;
        end loop;
      end loop;
      return result;
    end function;

    -- How many bits are set, by a tree of additions.
    function ones(flags : std_logic_vector) return unsigned is
      constant ALL_FLAGS : std_logic_vector(flags'length - 1 downto 0) := flags;
      constant HALF      : natural := flags'length / 2;
      variable result    : unsigned(BITS - 1 downto 0);
    begin
      result := (others => '0');
      if flags'length = 1 then
        result(0) := ALL_FLAGS(0);
      else
        result := ones(ALL_FLAGS(flags'length - 1 downto HALF)) + ones(ALL_FLAGS(HALF - 1 downto 0));
      end if;
      return result;
    end function;

    constant LEVEL_ROWS : rows_t := all_rows;
    signal row          : row_t;               -- without an initial value, for block RAM
    signal reached      : reached_t;
    signal to_count     : reached_t;
  begin

    one_row : if FOLDS = 1 generate
      row <= LEVEL_ROWS(0);
    end generate;

    several_rows : if FOLDS > 1 generate
      signal fold      : natural range 0 to FOLDS - 1 := 0;
      signal following : natural range 0 to FOLDS - 1;
    begin
      following <= 0 when rst = '1' or fold = FOLDS - 1 else fold + 1;

      row_memory : process (clk)
      begin
        if rising_edge(clk) then
          if rst = '1' or takes = '1' then
            fold <= following;
            row  <= LEVEL_ROWS(following);
          end if;
        end if;
      end process;
    end generate;

    compare : for c in 0 to LANES - 1 generate
      with_level : for i in 0 to COUNT - 1 generate
        reached(c * COUNT + i) <= to_std_logic(
          lane(x_payload, c, X_WIDTH, X_SIGNED)
          >= signed(row((c * COUNT + i + 1) * LEVEL_WIDTH - 1 downto (c * COUNT + i) * LEVEL_WIDTH)));
      end generate;
    end generate;

    two_stages : if STAGES > 1 generate
      to_count <= reached when rising_edge(clk);
    end generate;
    one_stage : if STAGES <= 1 generate
      to_count <= reached;
    end generate;

    results : for c in 0 to LANES - 1 generate
      z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH)
        <= result_of(ones(to_count((c + 1) * COUNT - 1 downto c * COUNT)));
    end generate;

  end generate;

  by_bisection : if SEARCH generate
    constant FOLD_BITS : positive := bits_below(FOLDS + 1);
    subtype fold_t is unsigned(FOLD_BITS - 1 downto 0);
    type folds_t is array (0 to BITS - 1) of fold_t;
    type numbers_t is array (0 to BITS) of std_logic_vector(X_WIDTH - 1 downto 0);
    type places_t is array (0 to BITS) of unsigned(BITS downto 0);

    signal folds_now : folds_t;       -- of the beat that each memory is read for
  begin

    one_row : if FOLDS = 1 generate
      folds_now <= (others => (others => '0'));
    end generate;

    several_rows : if FOLDS > 1 generate
      count_folds : process (clk)
      begin
        if rising_edge(clk) then
          if rst = '1' then
            folds_now(0) <= (others => '0');
          elsif takes = '1' then
            if folds_now(0) = FOLDS - 1 then
              folds_now(0) <= (others => '0');
            else
              folds_now(0) <= folds_now(0) + 1;
            end if;
          end if;
        end if;
      end process;

      later : for d in 1 to BITS - 1 generate
        folds_now(d) <= folds_now(d - 1) when rising_edge(clk);
      end generate;
    end generate;

    lanes_of_beat : for c in 0 to LANES - 1 generate
      signal numbers : numbers_t;       -- x, before each read and after the last
      signal places  : places_t;        -- the upper bits of the result, as far as they are known by then
    begin
      numbers(0) <= x_payload((c + 1) * X_WIDTH - 1 downto c * X_WIDTH);
      places(0)  <= (others => '0');

      comparisons : for d in 0 to BITS - 1 generate
        constant LENGTH : positive := 2 ** d;
        type memory_t is array (0 to memory_depth(FOLDS) * LENGTH - 1) of level_t;

        function memory_of return memory_t is
          variable result : memory_t;
        begin
          for f in 0 to memory_depth(FOLDS) - 1 loop
            for i in 0 to LENGTH - 1 loop
              result(f * LENGTH + i) := (others => '0');
              if f < FOLDS then
                result(f * LENGTH + i) := level_of(f, c, i * 2 ** (BITS - d) + 2 ** (BITS - 1 - d) - 1);
              end if;
            end loop;
          end loop;
          return result;
        end function;

        constant MEMORY : memory_t := memory_of;
        signal level    : level_t;             -- without an initial value, for block RAM
        signal place    : unsigned(BITS downto 0) := (others => '0');
        signal reached  : std_logic;
      begin
        numbers(d + 1) <= numbers(d) when rising_edge(clk);
        place          <= places(d) when rising_edge(clk);

        one_level : if memory_depth(FOLDS) * LENGTH = 1 generate
          level <= MEMORY(0);
        end generate;
        several_levels : if memory_depth(FOLDS) * LENGTH > 1 generate
          read : process (clk)
          begin
            if rising_edge(clk) then
              level <= MEMORY(to_integer(folds_now(d) & places(d)(BITS - 1 downto BITS - d)));
            end if;
          end process;
        end generate;

        reached <= to_std_logic(lane(numbers(d + 1), 0, X_WIDTH, X_SIGNED) >= signed(level));

        decided : process (place, reached)
        begin
          places(d + 1) <= place;
          places(d + 1)(BITS - 1 - d) <= reached;
        end process;
      end generate;

      z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= result_of(places(BITS)(BITS - 1 downto 0));
    end generate;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => takes, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
