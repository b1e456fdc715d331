-- popcount: a matrix of -1, 0 and 1 times bits or ternary numbers, exact, by counting where they agree.
--
-- Generics: INPUTS, OUTPUTS    numbers of x and of z: columns and rows of W
--           GROUPS             rows g * OUTPUTS / GROUPS and on of W see numbers g * INPUTS / GROUPS and on of x
--           X_LANES, Z_LANES   of a beat: columns and rows that one step works on. They divide those of a group, or
--                              hold as many whole groups
--           X_WIDTH            1: a bit; 2: -1, 0 or 1 in two's complement
--           BIPOLAR            whether a bit stands for -1 (0) and 1 (1), and not for 0 and 1
--           Z_WIDTH            bits of a lane of z, at most 31; every sum fits
--           MASKED             whether a weight is 0
--           WEIGHTS            W, row by row: OUTPUTS * INPUTS / GROUPS numbers
--           BIAS               b, one a row; for bipolar bits less the number of weights of the row that are not 0
--           STAGES             ranks of registers: 1 for the sums, 2 for counts too, 3 for agreements too, 4 for counts
--                              of up to 36 agreements too
--           CAPACITY           beats in the output buffer
-- Schedule: for each block of groups, for each beat of its results, one step for each beat of its x. The steps of a
--           block's first result take a beat; the last of each result gives one, visible STAGES + 1 cycles later.
--
-- z = b + 2 * (agreements) for bipolar bits, else b + (agreements) - (disagreements) where neither is 0. Weights and
-- biases are memories of rows, read one step ahead; with a single step they are constants. A beat of x that is needed
-- again is kept, in a memory where there are several.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity popcount is
  generic (
    INPUTS   : positive;
    OUTPUTS  : positive;
    GROUPS   : positive := 1;
    X_LANES  : positive;
    Z_LANES  : positive;
    X_WIDTH  : positive;
    BIPOLAR  : boolean;
    Z_WIDTH  : positive;
    MASKED   : boolean := true;
    WEIGHTS  : integer_vector;
    BIAS     : integer_vector;
    STAGES   : positive := 1;
    CAPACITY : positive := 3
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );
end entity;

architecture rtl of popcount is
  constant COLUMNS  : positive := INPUTS / GROUPS;                -- of a group
  constant ROWS     : positive := OUTPUTS / GROUPS;
  constant TERMS    : positive := minimum(X_LANES, COLUMNS);      -- numbers that a step counts for a sum
  constant TOGETHER : positive := X_LANES / TERMS;                -- groups that a step works on
  constant PARTS    : positive := COLUMNS / TERMS;                -- steps of a sum
  constant PASSES   : positive := TOGETHER * ROWS / Z_LANES;      -- beats of z from a block of groups
  constant RESULTS  : positive := GROUPS / TOGETHER * PASSES;     -- beats of z from one x
  constant STEPS    : positive := RESULTS * PARTS;
  constant PAIRS    : positive := Z_LANES * TERMS;                -- weights of a step
  constant CHUNK    : positive := 36;
  constant CHUNKS   : positive := (TERMS + CHUNK - 1) / CHUNK;

  function bits_of(number : positive) return positive is
    variable result : positive;
  begin
    result := 1;
    for i in 1 to 30 loop
      if 2 ** i <= number then
        result := i + 1;
      end if;
    end loop;
    return result;
  end function;

  constant COUNT_BITS : positive := bits_of(TERMS);

  subtype sum_t is unsigned(Z_WIDTH - 1 downto 0);
  type sums_t is array (0 to Z_LANES - 1) of sum_t;
  type biases_t is array (0 to RESULTS - 1) of sums_t;
  subtype row_t is std_logic_vector(2 * PAIRS - 1 downto 0);      -- whether weights are negative; and whether not 0
  type rows_t is array (0 to STEPS - 1) of row_t;
  subtype pairs_t is std_logic_vector(PAIRS - 1 downto 0);
  subtype part_count_t is unsigned(5 downto 0);
  type part_counts_t is array (natural range <>) of part_count_t;
  subtype count_t is unsigned(COUNT_BITS - 1 downto 0);
  type counts_t is array (0 to Z_LANES - 1) of count_t;

  function all_rows return rows_t is
    variable weight : integer;
    variable result : rows_t;
  begin
    for s in 0 to RESULTS - 1 loop
      for part in 0 to PARTS - 1 loop
        for p in 0 to Z_LANES - 1 loop
          for k in 0 to TERMS - 1 loop
            weight := WEIGHTS(WEIGHTS'low + (s * Z_LANES + p) * COLUMNS + part * TERMS + k);
            result(s * PARTS + part)(p * TERMS + k) := to_std_logic(weight < 0);
            result(s * PARTS + part)(PAIRS + p * TERMS + k) := to_std_logic(weight /= 0);
          end loop;
        end loop;
      end loop;
    end loop;
    return result;
  end function;

  function all_biases return biases_t is
    variable result : biases_t;
  begin
    for s in 0 to RESULTS - 1 loop
      for p in 0 to Z_LANES - 1 loop
        result(s)(p) := unsigned(low_bits(BIAS(BIAS'low + s * Z_LANES + p), Z_WIDTH));
      end loop;
    end loop;
    return result;
  end function;

  -- How many of up to six flags are set: three bits, each a function of the flags.
  function ones_of_six(flags : std_logic_vector) return unsigned is
    variable all_six : std_logic_vector(5 downto 0);
    variable one     : std_logic_vector(1 downto 0);       -- lowest and upper bit of the sums of three
    variable two     : std_logic_vector(1 downto 0);
    variable carry   : std_logic;
    variable result  : unsigned(2 downto 0);
  begin
    all_six := (others => '0');
    all_six(flags'length - 1 downto 0) := flags;
    one(0) := all_six(0) xor all_six(1) xor all_six(2);
    one(1) := (all_six(0) and all_six(1)) or (all_six(2) and (all_six(0) or all_six(1)));
    two(0) := all_six(3) xor all_six(4) xor all_six(5);
    two(1) := (all_six(3) and all_six(4)) or (all_six(5) and (all_six(3) or all_six(4)));
    carry  := one(0) and two(0);
    result(0) := one(0) xor two(0);
    result(1) := one(1) xor two(1) xor carry;
    result(2) := (one(1) and two(1)) or (carry and (one(1) or two(1)));
    return result;
  end function;

  -- How many flags are set, by a tree of additions.
  function ones(flags : std_logic_vector; width : positive) return unsigned is
    constant SIXES     : positive := (flags'length + 5) / 6;
    constant LOWER     : natural := SIXES / 2 * 6;
    variable all_flags : std_logic_vector(flags'length - 1 downto 0);
  begin
    all_flags := flags;
    if flags'length <= 6 then
      return resize(ones_of_six(all_flags), width);
    end if;
    return ones(all_flags(flags'length - 1 downto LOWER), width) + ones(all_flags(LOWER - 1 downto 0), width);
  end function;

  function total(counts : part_counts_t; width : positive) return unsigned is
    constant HALF       : natural := counts'length / 2;
    variable all_counts : part_counts_t(0 to counts'length - 1);
  begin
    all_counts := counts;
    if counts'length = 1 then
      return resize(all_counts(0), width);
    end if;
    return total(all_counts(0 to HALF - 1), width) + total(all_counts(HALF to counts'length - 1), width);
  end function;

  constant WEIGHT_ROWS : rows_t   := all_rows;
  constant BIASES      : biases_t := all_biases;

  signal index    : natural range 0 to STEPS - 1 := 0;
  signal part     : natural range 0 to PARTS - 1 := 0;
  signal pass     : natural range 0 to PASSES - 1 := 0;
  signal takes    : std_logic;
  signal last     : std_logic;
  signal room     : std_logic;
  signal free     : std_logic;
  signal step     : std_logic;
  signal reserve  : std_logic;
  signal push     : std_logic := '0';
  signal row      : row_t;            -- without an initial value, for block RAM
  signal beat     : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
  signal z_beat   : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);

  -- The sums lag behind the steps by STAGES - 1 cycles.
  signal under_way  : std_logic_vector(0 to STAGES - 1);
  signal lasts      : std_logic_vector(0 to STAGES - 1);
  signal adds       : std_logic;                        -- a step's counts are added
  signal completes  : std_logic;                        -- they are the last of a sum
  signal begins     : std_logic := '1';                 -- they are the first of a sum
  signal agree      : pairs_t;
  signal disagree   : pairs_t;
  signal counts     : counts_t;
  signal bad_counts : counts_t;
  signal sums       : sums_t := (others => (others => '0'));
  signal biases_now : sums_t;
begin

  takes   <= '1' when pass = 0 else '0';
  last    <= '1' when part = PARTS - 1 else '0';
  free    <= room or not last;
  x_ready <= takes and free;
  step    <= free and (x_valid or not takes);
  reserve <= step and last;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        index <= 0;
        part  <= 0;
        pass  <= 0;
      elsif step = '1' then
        if index = STEPS - 1 then
          index <= 0;
        else
          index <= index + 1;
        end if;
        if part /= PARTS - 1 then
          part <= part + 1;
        else
          part <= 0;
          if pass = PASSES - 1 then
            pass <= 0;
          else
            pass <= pass + 1;
          end if;
        end if;
      end if;
    end if;
  end process;

  under_way(0) <= step;
  lasts(0)     <= last;
  adds         <= under_way(STAGES - 1);
  completes    <= adds and lasts(STAGES - 1);

  ranks : if STAGES > 1 generate
    move : process (clk)
    begin
      if rising_edge(clk) then
        lasts(1 to STAGES - 1) <= lasts(0 to STAGES - 2);
        if rst = '1' then
          under_way(1 to STAGES - 1) <= (others => '0');
        else
          under_way(1 to STAGES - 1) <= under_way(0 to STAGES - 2);
        end if;
      end if;
    end process;
  end generate;

  sums_position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        begins <= '1';
        push   <= '0';
      else
        push <= completes;
        if adds = '1' then
          begins <= lasts(STAGES - 1);
        end if;
      end if;
    end if;
  end process;

  several_steps : if STEPS > 1 generate
    signal following : natural range 0 to STEPS - 1;
  begin
    following <= 0 when rst = '1' or index = STEPS - 1 else index + 1;

    weight_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or step = '1' then
          row <= WEIGHT_ROWS(following);
        end if;
      end if;
    end process;
  end generate;

  several_results : if RESULTS > 1 generate
    signal sum_no    : natural range 0 to RESULTS - 1 := 0;
    signal following : natural range 0 to RESULTS - 1;
  begin
    following <= 0 when rst = '1' or sum_no = RESULTS - 1 else sum_no + 1;

    bias_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or completes = '1' then
          sum_no     <= following;
          biases_now <= BIASES(following);
        end if;
      end if;
    end process;
  end generate;

  -- What the later results see again.
  once : if PASSES = 1 generate
    beat <= x_payload;
  end generate;

  again : if PASSES > 1 generate
    signal kept : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
  begin
    beat <= x_payload when takes = '1' else kept;

    one_beat : if PARTS = 1 generate
      hold : process (clk)
      begin
        if rising_edge(clk) then
          if step = '1' and takes = '1' then
            kept <= x_payload;
          end if;
        end if;
      end process;
    end generate;

    several_beats : if PARTS > 1 generate
      type memory_t is array (0 to memory_depth(PARTS) - 1) of std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
      signal memory    : memory_t := (others => (others => '0'));
      signal following : natural range 0 to PARTS - 1;
    begin
      following <= 0 when part = PARTS - 1 else part + 1;

      hold : process (clk)
      begin
        if rising_edge(clk) then
          if step = '1' then
            kept <= memory(following);
            if takes = '1' then
              memory(part) <= x_payload;
            end if;
          end if;
        end if;
      end process;
    end generate;
  end generate;

  -- The only row is no signal: GHDL 2.0 writes one that is constant as a text in Verilog.
  compare : process (beat, row)
    variable signs    : row_t;
    variable lane     : natural range 0 to X_LANES - 1;
    variable negative : std_logic;
    variable counted  : std_logic;
    variable differs  : std_logic;
  begin
    signs := row;
    if STEPS = 1 then
      signs := WEIGHT_ROWS(0);
    end if;
    for p in 0 to Z_LANES - 1 loop
      for k in 0 to TERMS - 1 loop
        lane    := p * TOGETHER / Z_LANES * TERMS + k;            -- a row sees the numbers of its group
        counted := '1';
        if MASKED then
          counted := signs(PAIRS + p * TERMS + k);
        end if;
        if BIPOLAR then
          negative := not beat(lane * X_WIDTH);
        else
          counted  := counted and beat(lane * X_WIDTH);
          negative := '0';
          if X_WIDTH > 1 then
            negative := beat((lane + 1) * X_WIDTH - 1);
          end if;
        end if;
        differs := negative xor signs(p * TERMS + k);
        agree(p * TERMS + k)    <= counted and not differs;
        disagree(p * TERMS + k) <= counted and differs;
      end loop;
    end loop;
  end process;

  rows_of_beat : for p in 0 to Z_LANES - 1 generate
    subtype flags_t is std_logic_vector(TERMS - 1 downto 0);
    signal good, bad             : flags_t;
    signal good_parts, bad_parts : part_counts_t(0 to CHUNKS - 1);
    signal good_now, bad_now     : part_counts_t(0 to CHUNKS - 1);
  begin

    cut_before_counts : if STAGES > 2 generate
      good <= agree((p + 1) * TERMS - 1 downto p * TERMS) when rising_edge(clk);
      bad  <= disagree((p + 1) * TERMS - 1 downto p * TERMS) when rising_edge(clk);
    end generate;
    no_cut_before_counts : if STAGES <= 2 generate
      good <= agree((p + 1) * TERMS - 1 downto p * TERMS);
      bad  <= disagree((p + 1) * TERMS - 1 downto p * TERMS);
    end generate;

    chunks_of_row : for i in 0 to CHUNKS - 1 generate
      constant TOP : positive := minimum((i + 1) * CHUNK, TERMS);
    begin
      good_parts(i) <= ones(good(TOP - 1 downto i * CHUNK), 6);
      bad_parts(i)  <= ones(bad(TOP - 1 downto i * CHUNK), 6);
    end generate;

    cut_within_counts : if STAGES > 3 generate
      good_now <= good_parts when rising_edge(clk);
      bad_now  <= bad_parts when rising_edge(clk);
    end generate;
    no_cut_within_counts : if STAGES <= 3 generate
      good_now <= good_parts;
      bad_now  <= bad_parts;
    end generate;

    cut_behind_counts : if STAGES > 1 generate
      counts(p)     <= total(good_now, COUNT_BITS) when rising_edge(clk);
      bad_counts(p) <= total(bad_now, COUNT_BITS) when rising_edge(clk);
    end generate;
    no_cut_behind_counts : if STAGES <= 1 generate
      counts(p)     <= total(good_now, COUNT_BITS);
      bad_counts(p) <= total(bad_now, COUNT_BITS);
    end generate;

    accumulate : process (clk)
      variable sum : sum_t;
    begin
      if rising_edge(clk) then
        if adds = '1' then
          if begins = '0' then
            sum := sums(p);
          elsif RESULTS = 1 then
            sum := BIASES(0)(p);
          else
            sum := biases_now(p);
          end if;
          if BIPOLAR then
            sum := sum + resize(counts(p) & '0', Z_WIDTH);
          else
            sum := sum + resize(counts(p), Z_WIDTH) - resize(bad_counts(p), Z_WIDTH);
          end if;
          sums(p) <= sum;
        end if;
      end if;
    end process;

    z_beat((p + 1) * Z_WIDTH - 1 downto p * Z_WIDTH) <= std_logic_vector(sums(p));
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
