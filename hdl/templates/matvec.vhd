-- matvec: z = W x + b, exact; x is the channels of a position, or all numbers of a frame in the order of its beats.
--
-- Generics: INPUTS, OUTPUTS       numbers of x and of z
--           GROUPS                rows g * OUTPUTS / GROUPS and on of W see numbers g * INPUTS / GROUPS and on of x
--           X_LANES, Z_LANES      of a beat: columns and rows that one step works on. They divide those of a group, or
--                                 hold as many whole groups
--           X_WIDTH, X_SIGNED     format of a lane of x
--           Z_WIDTH, Z_SIGNED     format of a lane of z; every sum fits
--           WEIGHT_WIDTH          bits of a weight, two's complement
--           TERM_WIDTH            bits of the sum of a step's products for a row, two's complement
--           WEIGHTS               W, row by row: OUTPUTS * INPUTS / GROUPS numbers
--           BIAS, BIAS_UPPER      b = BIAS_UPPER * 2**24 + BIAS
--           STAGES                pipeline stages: 1 sums only, 2 products first, 3 operands before them, more within
--                                 the tree that adds the products of a step
--           CAPACITY              beats in the output buffer
-- Schedule: for each block of groups, for each beat of its results, one step for each beat of its x. The steps of a
--           block's first result take a beat; the last of each result gives one, visible STAGES + 1 cycles later.
--
-- Weights and biases are memories of rows, read one step ahead, which synthesis maps to block RAM or to LUTs; with a
-- single step they are constants. A beat of x that is needed again is kept, in a memory where there are several.
-- Products and their tree are integers where all numbers have up to 31 bits, which simulates ten times as fast, and
-- `signed` where they are wider.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity matvec is
  generic (
    INPUTS       : positive;
    OUTPUTS      : positive;
    GROUPS       : positive := 1;
    X_LANES      : positive;
    Z_LANES      : positive;
    X_WIDTH      : positive;
    X_SIGNED     : boolean;
    Z_WIDTH      : positive;
    Z_SIGNED     : boolean := true;
    WEIGHT_WIDTH : positive;
    TERM_WIDTH   : positive;
    WEIGHTS      : integer_vector;
    BIAS         : integer_vector;
    BIAS_UPPER   : integer_vector := (0 => 0);
    STAGES       : positive := 1;
    CAPACITY     : positive := 3
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
      report "matvec: GROUPS must divide INPUTS and OUTPUTS" severity failure;
    assert (COLUMNS mod X_LANES = 0 and ROWS mod Z_LANES = 0)
      or (X_LANES mod COLUMNS = 0 and INPUTS mod X_LANES = 0 and Z_LANES = X_LANES / COLUMNS * ROWS)
      report "matvec: X_LANES and Z_LANES must divide a group, or hold as many whole groups" severity failure;
    assert WEIGHTS'length = OUTPUTS * COLUMNS
      report "matvec: WEIGHTS must have OUTPUTS * INPUTS / GROUPS numbers" severity failure;
    assert BIAS'length = OUTPUTS report "matvec: BIAS must have OUTPUTS numbers" severity failure;
    assert BIAS_UPPER'length = 1 or BIAS_UPPER'length = BIAS'length
      report "matvec: BIAS_UPPER must have one number or as many as BIAS" severity failure;
    assert WEIGHT_WIDTH <= 31 report "matvec: WEIGHT_WIDTH must be at most 31" severity failure;
    assert STAGES <= 3 + bits_below(minimum(X_LANES, COLUMNS))
      report "matvec: STAGES must be at most 3 and the levels of the tree" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of matvec is
  constant COLUMNS  : positive := INPUTS / GROUPS;                        -- of a group
  constant ROWS     : positive := OUTPUTS / GROUPS;
  constant TERMS    : positive := minimum(X_LANES, COLUMNS);              -- products that a step adds to a sum
  constant TOGETHER : positive := X_LANES / TERMS;                        -- groups that a step works on
  constant PARTS    : positive := COLUMNS / TERMS;                        -- steps of a sum
  constant PASSES   : positive := TOGETHER * ROWS / Z_LANES;              -- beats of z from a block of groups
  constant RESULTS  : positive := GROUPS / TOGETHER * PASSES;             -- beats of z from one x
  constant STEPS    : positive := RESULTS * PARTS;
  constant PAIRS    : positive := Z_LANES * TERMS;                        -- products of a step

  constant LEVELS   : natural := bits_below(TERMS);                          -- of the tree that adds the products
  constant IN_TREE  : natural := maximum(STAGES, 3) - 3;                  -- stages that end within the tree
  constant NARROW   : boolean := Z_WIDTH <= 31 and X_WIDTH <= 31 and TERM_WIDTH <= 31;

  -- Whether a stage ends after this level of the tree: those in the tree evenly; level 0 are the products.
  function is_registered(level : natural) return boolean is
  begin
    if level = 0 then
      return STAGES > 1;
    end if;
    return (level * IN_TREE) / LEVELS > ((level - 1) * IN_TREE) / LEVELS;
  end function;

  -- The first level of the last stage.
  function first_of_last_stage return natural is
    variable result : natural;
  begin
    result := 0;
    for level in 0 to LEVELS loop
      if is_registered(level) then
        result := level + 1;
      end if;
    end loop;
    return result;
  end function;

  constant LAST_STAGE : natural := first_of_last_stage;

  subtype weight_t is integer range least(WEIGHT_WIDTH, true) to greatest(WEIGHT_WIDTH, true);
  type row_t is array (0 to PAIRS - 1) of weight_t;
  type rows_t is array (0 to STEPS - 1) of row_t;

  function all_rows return rows_t is
    variable result : rows_t;
  begin
    for s in 0 to RESULTS - 1 loop
      for part in 0 to PARTS - 1 loop
        for p in 0 to Z_LANES - 1 loop
          for k in 0 to TERMS - 1 loop
            result(s * PARTS + part)(p * TERMS + k)
              := WEIGHTS(WEIGHTS'low + (s * Z_LANES + p) * COLUMNS + part * TERMS + k);
          end loop;
        end loop;
      end loop;
    end loop;
    return result;
  end function;

  constant WEIGHT_ROWS : rows_t := all_rows;

  -- The lane of x that product k of row p reads: a row sees the numbers of its group.
  function lane_of(p, k : natural) return natural is
  begin
    return p * TOGETHER / Z_LANES * TERMS + k;
  end function;

  signal following : natural range 0 to maximum(STEPS - 1, 1);
  signal room      : std_logic;
  signal step      : std_logic;
  signal reserve   : std_logic;
  signal active    : std_logic;
  signal adds      : std_logic;
  signal ends      : std_logic;
  signal push      : std_logic;
  signal row       : row_t;                                               -- without an initial value, for block RAM
  signal factors   : row_t;
  signal beat      : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
  signal operands  : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
  signal addends   : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);
  signal sums      : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);
begin

  steps_of_x : entity work.matrix_steps
    generic map (
      BEAT_WIDTH => X_LANES * X_WIDTH, PARTS => PARTS, PASSES => PASSES, STEPS => STEPS, STAGES => STAGES
    )
    port map (
      clk => clk, rst => rst, x_payload => x_payload, x_valid => x_valid, x_ready => x_ready, room => room,
      step => step, following => following, beat => beat, reserve => reserve, active => active, adds => adds,
      ends => ends
    );

  unrolled : if STEPS = 1 generate
    row <= WEIGHT_ROWS(0);
  end generate;

  folded : if STEPS > 1 generate
    weight_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or step = '1' then
          row <= WEIGHT_ROWS(following);
        end if;
      end if;
    end process;
  end generate;

  operands_now : if STAGES <= 2 generate
    operands <= beat;
    factors  <= row;
  end generate;

  operands_held : if STAGES > 2 generate
    signal beat_held : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0) := (others => '0');
    signal row_held  : row_t := (others => 0);
  begin
    operands <= beat_held;
    factors  <= row_held;

    hold : process (clk)
    begin
      if rising_edge(clk) then
        if active = '1' then
          beat_held <= beat;
          row_held  <= row;
        end if;
      end if;
    end process;
  end generate;

  integers : if NARROW generate
    subtype term_t is integer range least(TERM_WIDTH, true) to greatest(TERM_WIDTH, true);
    type numbers_t is array (0 to X_LANES - 1) of integer range least(X_WIDTH, X_SIGNED) to greatest(X_WIDTH, X_SIGNED);
    type terms_t is array (0 to PAIRS - 1) of term_t;
    type levels_t is array (0 to LEVELS) of terms_t;
    signal held : levels_t := (others => (others => 0));      -- after the levels at which a stage ends

    -- One level of the tree, in place: level 0 multiplies, each other one adds the numbers of a row in pairs.
    procedure compute(level : natural; tree : inout terms_t) is
      variable numbers : numbers_t;
    begin
      if level = 0 then
        for i in 0 to X_LANES - 1 loop
          numbers(i) := number(operands, i, X_WIDTH, X_SIGNED);
        end loop;
      end if;
      for p in 0 to Z_LANES - 1 loop
        for k in 0 to TERMS - 1 loop
          if level = 0 then
            tree(p * TERMS + k) := factors(p * TERMS + k) * numbers(lane_of(p, k));
          elsif k mod 2 ** level = 0 and k + 2 ** (level - 1) < TERMS then
            tree(p * TERMS + k) := tree(p * TERMS + k) + tree(p * TERMS + k + 2 ** (level - 1));
          end if;
        end loop;
      end loop;
    end procedure;
  begin

    earlier_stages : if STAGES > 1 generate
      advance : process (clk)
        variable tree : terms_t;
      begin
        if rising_edge(clk) then
          if active = '1' then
            for level in 0 to LAST_STAGE - 1 loop
              compute(level, tree);
              if is_registered(level) then
                held(level) <= tree;
                tree := held(level);
              end if;
            end loop;
          end if;
        end if;
      end process;
    end generate;

    sum : process (adds, held, factors, operands)
      variable tree : terms_t;
      variable word : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);
    begin
      word := (others => '-');
      if adds = '1' then
        if STAGES > 1 then
          tree := held(LAST_STAGE - 1);
        end if;
        for level in LAST_STAGE to LEVELS loop
          compute(level, tree);
        end loop;
        for p in 0 to Z_LANES - 1 loop
          word((p + 1) * Z_WIDTH - 1 downto p * Z_WIDTH) := low_bits(tree(p * TERMS), Z_WIDTH);
        end loop;
      end if;
      addends <= word;
    end process;

  end generate;

  signeds : if not NARROW generate
    subtype term_t is signed(maximum(Z_WIDTH + 1, TERM_WIDTH) - 1 downto 0);
    type numbers_t is array (0 to X_LANES - 1) of signed(X_WIDTH downto 0);
    type terms_t is array (0 to PAIRS - 1) of term_t;
    type levels_t is array (0 to LEVELS) of terms_t;
    signal held : levels_t := (others => (others => (others => '0')));      -- after the levels at which a stage ends

    -- One level of the tree, in place: level 0 multiplies, each other one adds the numbers of a row in pairs.
    procedure compute(level : natural; tree : inout terms_t) is
      variable numbers : numbers_t;
    begin
      if level = 0 then
        for i in 0 to X_LANES - 1 loop
          numbers(i) := lane(operands, i, X_WIDTH, X_SIGNED);
        end loop;
      end if;
      for p in 0 to Z_LANES - 1 loop
        for k in 0 to TERMS - 1 loop
          if level = 0 then
            tree(p * TERMS + k) := resize(
              to_signed(factors(p * TERMS + k), WEIGHT_WIDTH) * numbers(lane_of(p, k)), term_t'length
            );
          elsif k mod 2 ** level = 0 and k + 2 ** (level - 1) < TERMS then
            tree(p * TERMS + k) := tree(p * TERMS + k) + tree(p * TERMS + k + 2 ** (level - 1));
          end if;
        end loop;
      end loop;
    end procedure;
  begin

    earlier_stages : if STAGES > 1 generate
      advance : process (clk)
        variable tree : terms_t;
      begin
        if rising_edge(clk) then
          if active = '1' then
            for level in 0 to LAST_STAGE - 1 loop
              compute(level, tree);
              if is_registered(level) then
                held(level) <= tree;
                tree := held(level);
              end if;
            end loop;
          end if;
        end if;
      end process;
    end generate;

    sum : process (adds, held, factors, operands)
      variable tree : terms_t;
      variable word : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);
    begin
      word := (others => '-');
      if adds = '1' then
        if STAGES > 1 then
          tree := held(LAST_STAGE - 1);
        end if;
        for level in LAST_STAGE to LEVELS loop
          compute(level, tree);
        end loop;
        for p in 0 to Z_LANES - 1 loop
          word((p + 1) * Z_WIDTH - 1 downto p * Z_WIDTH) := low_bits(tree(p * TERMS), Z_WIDTH);
        end loop;
      end if;
      addends <= word;
    end process;

  end generate;

  sums_of_rows : entity work.accumulator
    generic map (LANES => Z_LANES, RESULTS => RESULTS, WIDTH => Z_WIDTH, BIAS => BIAS, BIAS_UPPER => BIAS_UPPER)
    port map (clk => clk, rst => rst, adds => adds, ends => ends, addends => addends, push => push, sums => sums);

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => sums,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
