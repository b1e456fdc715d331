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
--           STAGES             pipeline stages: 1 sums only, 2 counts first, 3 agreements before them, 4 more within
--                              counts of more than 36
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

  function generics_are_legal return boolean is
    constant COLUMNS : natural := INPUTS / GROUPS;
    constant ROWS    : natural := OUTPUTS / GROUPS;
  begin
    assert INPUTS mod GROUPS = 0 and OUTPUTS mod GROUPS = 0
      report "popcount: GROUPS must divide INPUTS and OUTPUTS" severity failure;
    assert (COLUMNS mod X_LANES = 0 and ROWS mod Z_LANES = 0)
      or (X_LANES mod COLUMNS = 0 and INPUTS mod X_LANES = 0 and Z_LANES = X_LANES / COLUMNS * ROWS)
      report "popcount: X_LANES and Z_LANES must divide a group, or hold as many whole groups" severity failure;
    assert WEIGHTS'length = OUTPUTS * COLUMNS
      report "popcount: WEIGHTS must have OUTPUTS * INPUTS / GROUPS numbers" severity failure;
    assert BIAS'length = OUTPUTS report "popcount: BIAS must have OUTPUTS numbers" severity failure;
    assert X_WIDTH <= 2 and (X_WIDTH = 1 or not BIPOLAR)
      report "popcount: X_WIDTH must be 1 or 2, and 1 for bipolar bits" severity failure;
    assert Z_WIDTH <= 31 report "popcount: Z_WIDTH must be at most 31" severity failure;
    assert STAGES <= 4 report "popcount: STAGES must be at most 4" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
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

  constant COUNT_BITS : positive := bits_below(TERMS + 1);

  subtype row_t is std_logic_vector(2 * PAIRS - 1 downto 0);      -- whether weights are negative; and whether not 0
  type rows_t is array (0 to STEPS - 1) of row_t;
  subtype pairs_t is std_logic_vector(PAIRS - 1 downto 0);
  subtype part_count_t is unsigned(5 downto 0);
  type part_counts_t is array (natural range <>) of part_count_t;
  subtype count_t is unsigned(COUNT_BITS - 1 downto 0);

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

  constant WEIGHT_ROWS : rows_t := all_rows;

  signal following : natural range 0 to maximum(STEPS - 1, 1);
  signal room      : std_logic;
  signal step      : std_logic;
  signal reserve   : std_logic;
  signal adds      : std_logic;
  signal ends      : std_logic;
  signal push      : std_logic;
  signal row       : row_t;                                       -- without an initial value, for block RAM
  signal beat      : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
  signal agree     : pairs_t;
  signal disagree  : pairs_t;
  signal addends   : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);
  signal sums      : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);
begin

  steps_of_x : entity work.matrix_steps
    generic map (
      BEAT_WIDTH => X_LANES * X_WIDTH, PARTS => PARTS, PASSES => PASSES, STEPS => STEPS, STAGES => STAGES
    )
    port map (
      clk => clk, rst => rst, x_payload => x_payload, x_valid => x_valid, x_ready => x_ready, room => room,
      step => step, following => following, beat => beat, reserve => reserve, active => open, adds => adds,
      ends => ends
    );

  several_steps : if STEPS > 1 generate
    weight_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or step = '1' then
          row <= WEIGHT_ROWS(following);
        end if;
      end if;
    end process;
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
    signal count, bad_count      : count_t;
    signal term                  : unsigned(Z_WIDTH - 1 downto 0);
  begin

    stage_before_counts : if STAGES > 2 generate
      good <= agree((p + 1) * TERMS - 1 downto p * TERMS) when rising_edge(clk);
      bad  <= disagree((p + 1) * TERMS - 1 downto p * TERMS) when rising_edge(clk);
    end generate;
    no_stage_before_counts : if STAGES <= 2 generate
      good <= agree((p + 1) * TERMS - 1 downto p * TERMS);
      bad  <= disagree((p + 1) * TERMS - 1 downto p * TERMS);
    end generate;

    chunks_of_row : for i in 0 to CHUNKS - 1 generate
      constant TOP : positive := minimum((i + 1) * CHUNK, TERMS);
    begin
      good_parts(i) <= ones(good(TOP - 1 downto i * CHUNK), 6);
      bad_parts(i)  <= ones(bad(TOP - 1 downto i * CHUNK), 6);
    end generate;

    stage_within_counts : if STAGES > 3 generate
      good_now <= good_parts when rising_edge(clk);
      bad_now  <= bad_parts when rising_edge(clk);
    end generate;
    no_stage_within_counts : if STAGES <= 3 generate
      good_now <= good_parts;
      bad_now  <= bad_parts;
    end generate;

    stage_after_counts : if STAGES > 1 generate
      count     <= total(good_now, COUNT_BITS) when rising_edge(clk);
      bad_count <= total(bad_now, COUNT_BITS) when rising_edge(clk);
    end generate;
    no_stage_after_counts : if STAGES <= 1 generate
      count     <= total(good_now, COUNT_BITS);
      bad_count <= total(bad_now, COUNT_BITS);
    end generate;

    bits : if BIPOLAR generate
      term <= resize(count & '0', Z_WIDTH);
    end generate;
    numbers : if not BIPOLAR generate
      term <= resize(count, Z_WIDTH) - resize(bad_count, Z_WIDTH);
    end generate;

    addends((p + 1) * Z_WIDTH - 1 downto p * Z_WIDTH) <= std_logic_vector(term);
  end generate;

  sums_of_rows : entity work.accumulator
    generic map (LANES => Z_LANES, RESULTS => RESULTS, WIDTH => Z_WIDTH, BIAS => BIAS)
    port map (clk => clk, rst => rst, adds => adds, ends => ends, addends => addends, push => push, sums => sums);

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => sums,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
