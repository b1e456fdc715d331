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
--           STAGES                ranks of registers: 1 for the sums, 2 for products too, 3 for operands too, then
--                                 within the tree that adds the products of a step
--           CAPACITY              beats in the output buffer
-- Schedule: for each block of groups, for each beat of its results, one step for each beat of its x. The steps of a
--           block's first result take a beat; the last of each result gives one, visible STAGES + 1 cycles later.
--
-- Weights and biases are memories of rows, read one step ahead, which synthesis maps to block RAM or to LUTs; with a
-- single step they are constants. A beat of x that is needed again is kept, in a memory where there are several.
-- Sums of up to 31 bits are integers, wider ones are `signed`.

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
end entity;

architecture rtl of matvec is
  constant COLUMNS  : positive := INPUTS / GROUPS;                        -- of a group
  constant ROWS     : positive := OUTPUTS / GROUPS;
  constant TERMS    : positive := minimum(X_LANES, COLUMNS);              -- products that a step adds to a sum
  constant TOGETHER : positive := X_LANES / TERMS;                        -- groups that a step works on
  constant PARTS    : positive := COLUMNS / TERMS;                        -- steps of a sum
  constant PASSES   : positive := TOGETHER * ROWS / Z_LANES;              -- beats of z from a block of groups
  constant RESULTS     : positive := GROUPS / TOGETHER * PASSES;             -- beats of z from one x
  constant STEPS    : positive := RESULTS * PARTS;

  function levels_of(leaves : positive) return natural is
    variable result : natural := 0;
  begin
    for i in 1 to 30 loop
      if 2 ** result < leaves then
        result := result + 1;
      end if;
    end loop;
    return result;
  end function;

  constant LEVELS : natural := levels_of(TERMS);
  constant RANKS  : natural := STAGES - 1;

  -- Whether registers follow this level of the tree: as many as are left, evenly spread.
  function ranked(level : positive) return boolean is
  begin
    return STAGES > 3 and (level * (STAGES - 3)) / LEVELS > ((level - 1) * (STAGES - 3)) / LEVELS;
  end function;

  constant NARROW : boolean := Z_WIDTH <= 31 and X_WIDTH <= 31 and TERM_WIDTH <= 31;

  subtype weight_t is integer range least(WEIGHT_WIDTH, true) to greatest(WEIGHT_WIDTH, true);
  type row_t is array (0 to Z_LANES * TERMS - 1) of weight_t;
  type rows_t is array (0 to STEPS - 1) of row_t;

  function rows_of(matrix : integer_vector) return rows_t is
    variable result : rows_t;
  begin
    for s in 0 to RESULTS - 1 loop
      for part in 0 to PARTS - 1 loop
        for p in 0 to Z_LANES - 1 loop
          for k in 0 to TERMS - 1 loop
            result(s * PARTS + part)(p * TERMS + k)
              := matrix(matrix'low + (s * Z_LANES + p) * COLUMNS + part * TERMS + k);
          end loop;
        end loop;
      end loop;
    end loop;
    return result;
  end function;

  constant WEIGHT_ROWS : rows_t := rows_of(WEIGHTS);

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
  signal row      : row_t;                                                -- without an initial value, for block RAM
  signal beat     : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0);
  signal z_beat   : std_logic_vector(Z_LANES * Z_WIDTH - 1 downto 0);

  -- The sums lag behind the steps by RANKS cycles.
  signal steps_now  : std_logic_vector(RANKS downto 0);
  signal lasts_now  : std_logic_vector(RANKS downto 0);
  signal steps_late : std_logic_vector(RANKS downto 0) := (others => '0');
  signal lasts_late : std_logic_vector(RANKS downto 0) := (others => '0');
  signal active     : std_logic;                                          -- a step is at some rank
  signal adds       : std_logic;                                          -- a step's products are added
  signal completes  : std_logic;                                          -- they are the last of a sum
  signal begins     : std_logic := '1';                                   -- they are the first of a sum
  signal sum_no     : natural range 0 to RESULTS - 1 := 0;
  signal sum_after  : natural range 0 to RESULTS;
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

  steps_now(0) <= step;
  lasts_now(0) <= last;
  late : if RANKS > 0 generate
    steps_now(RANKS downto 1) <= steps_late(RANKS - 1 downto 0);
    lasts_now(RANKS downto 1) <= lasts_late(RANKS - 1 downto 0);
  end generate;
  active    <= or steps_now;
  adds      <= steps_now(RANKS);
  completes <= adds and lasts_now(RANKS);
  sum_after <= 0 when sum_no = RESULTS - 1 else sum_no + 1;

  sums_position : process (clk)
  begin
    if rising_edge(clk) then
      lasts_late <= lasts_now;
      if rst = '1' then
        steps_late <= (others => '0');
        begins     <= '1';
        sum_no     <= 0;
        push       <= '0';
      else
        steps_late <= steps_now;
        push       <= completes;
        if adds = '1' then
          begins <= lasts_now(RANKS);
        end if;
        if completes = '1' then
          sum_no <= sum_after;
        end if;
      end if;
    end if;
  end process;

  unrolled : if STEPS = 1 generate
    row <= WEIGHT_ROWS(0);
  end generate;

  folded : if STEPS > 1 generate
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

  -- What the later results of a block see again.
  once : if PASSES = 1 generate
    beat <= x_payload;
  end generate;

  again : if PASSES > 1 generate
    signal kept : std_logic_vector(X_LANES * X_WIDTH - 1 downto 0) := (others => '0');
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

  integer_sums : if NARROW generate
    subtype operand_t is integer range least(X_WIDTH, X_SIGNED) to greatest(X_WIDTH, X_SIGNED);
    subtype term_t is integer range least(TERM_WIDTH, true) to greatest(TERM_WIDTH, true);
    subtype total_t is integer range least(Z_WIDTH, Z_SIGNED) to greatest(Z_WIDTH, Z_SIGNED);
    -- The group of operands that row p of a step sees.
    function seen(p : natural) return natural is
    begin
      return p * TOGETHER / Z_LANES * TERMS;
    end function;

    type operands_t is array (0 to X_LANES - 1) of operand_t;
    type terms_t is array (0 to Z_LANES * TERMS - 1) of term_t;
    type tree_t is array (0 to LEVELS) of terms_t;
    type totals_t is array (0 to Z_LANES - 1) of total_t;
    type biases_t is array (0 to RESULTS - 1) of totals_t;

    function biases_of(lower, upper : integer_vector) return biases_t is
      variable result : biases_t;
    begin
      for s in 0 to RESULTS - 1 loop
        for p in 0 to Z_LANES - 1 loop
          result(s)(p) := lower(lower'low + s * Z_LANES + p);
        end loop;
      end loop;
      return result;
    end function;

    constant BIASES : biases_t := biases_of(BIAS, BIAS_UPPER);

    signal operand_rank : operands_t := (others => 0);
    signal weight_rank  : row_t := (others => 0);
    signal product_rank : terms_t := (others => 0);
    signal tree_rank    : tree_t := (others => (others => 0));
    signal sums         : totals_t := (others => 0);
    signal biases_now   : totals_t;
  begin

    one_bias : if RESULTS = 1 generate
      biases_now <= BIASES(0);
    end generate;

    bias_memory : if RESULTS > 1 generate
      read : process (clk)
      begin
        if rising_edge(clk) then
          if rst = '1' then
            biases_now <= BIASES(0);
          elsif completes = '1' then
            biases_now <= BIASES(sum_after);
          end if;
        end if;
      end process;
    end generate;

    -- The sums themselves are given, so that their registers may be those of DSP blocks; they change in the next cycle.
    present : for p in 0 to Z_LANES - 1 generate
      z_beat((p + 1) * Z_WIDTH - 1 downto p * Z_WIDTH)
        <= low_bits(sums(p), Z_WIDTH) when push = '1' else (others => '-');
    end generate;

    accumulate : process (clk)
      variable operands : operands_t;
      variable factors  : row_t;
      variable tree     : terms_t;         -- of each sum, TERMS places: at last, the first holds all
      variable total    : total_t;
    begin
      if rising_edge(clk) then
        if active = '1' then
          -- Where a rank stands, what goes on is what it held.
          for i in 0 to X_LANES - 1 loop
            operands(i) := number(beat, i, X_WIDTH, X_SIGNED);
          end loop;
          factors := row;
          if STAGES >= 3 then
            operand_rank <= operands;
            weight_rank  <= factors;
            operands := operand_rank;
            factors  := weight_rank;
          end if;
          for p in 0 to Z_LANES - 1 loop
            for k in 0 to TERMS - 1 loop
              tree(p * TERMS + k) := factors(p * TERMS + k) * operands(seen(p) + k);
            end loop;
          end loop;
          if STAGES >= 2 then
            product_rank <= tree;
            tree := product_rank;
          end if;
          for level in 1 to LEVELS loop
            for p in 0 to Z_LANES - 1 loop
              for k in 0 to TERMS - 1 loop
                if k mod 2 ** level = 0 and k + 2 ** (level - 1) < TERMS then
                  tree(p * TERMS + k) := tree(p * TERMS + k) + tree(p * TERMS + k + 2 ** (level - 1));
                end if;
              end loop;
            end loop;
            if ranked(level) then
              tree_rank(level) <= tree;
              tree := tree_rank(level);
            end if;
          end loop;
          if adds = '1' then
            for p in 0 to Z_LANES - 1 loop
              if begins = '1' then
                total := biases_now(p);
              else
                total := sums(p);
              end if;
              total := total + tree(p * TERMS);
              sums(p) <= total;
            end loop;
          end if;
        end if;
      end if;
    end process;

  end generate;

  signed_sums : if not NARROW generate
    constant SUM_WIDTH : positive := maximum(Z_WIDTH + 1, TERM_WIDTH);
    subtype operand_t is signed(X_WIDTH downto 0);
    subtype term_t is signed(SUM_WIDTH - 1 downto 0);
    subtype total_t is signed(SUM_WIDTH - 1 downto 0);
    -- The group of operands that row p of a step sees.
    function seen(p : natural) return natural is
    begin
      return p * TOGETHER / Z_LANES * TERMS;
    end function;

    type operands_t is array (0 to X_LANES - 1) of operand_t;
    type terms_t is array (0 to Z_LANES * TERMS - 1) of term_t;
    type tree_t is array (0 to LEVELS) of terms_t;
    type totals_t is array (0 to Z_LANES - 1) of total_t;
    type biases_t is array (0 to RESULTS - 1) of totals_t;

    function biases_of(lower, upper : integer_vector) return biases_t is
      variable result : biases_t;
    begin
      for s in 0 to RESULTS - 1 loop
        for p in 0 to Z_LANES - 1 loop
          result(s)(p) := long(upper(upper'low + s * Z_LANES + p), lower(lower'low + s * Z_LANES + p), SUM_WIDTH);
        end loop;
      end loop;
      return result;
    end function;

    constant BIASES : biases_t := biases_of(BIAS, BIAS_UPPER);

    signal operand_rank : operands_t := (others => (others => '0'));
    signal weight_rank  : row_t := (others => 0);
    signal product_rank : terms_t := (others => (others => '0'));
    signal tree_rank    : tree_t := (others => (others => (others => '0')));
    signal sums         : totals_t := (others => (others => '0'));
    signal biases_now   : totals_t;
  begin

    one_bias : if RESULTS = 1 generate
      biases_now <= BIASES(0);
    end generate;

    bias_memory : if RESULTS > 1 generate
      read : process (clk)
      begin
        if rising_edge(clk) then
          if rst = '1' then
            biases_now <= BIASES(0);
          elsif completes = '1' then
            biases_now <= BIASES(sum_after);
          end if;
        end if;
      end process;
    end generate;

    -- The sums themselves are given, so that their registers may be those of DSP blocks; they change in the next cycle.
    present : for p in 0 to Z_LANES - 1 generate
      z_beat((p + 1) * Z_WIDTH - 1 downto p * Z_WIDTH)
        <= low_bits(sums(p), Z_WIDTH) when push = '1' else (others => '-');
    end generate;

    accumulate : process (clk)
      variable operands : operands_t;
      variable factors  : row_t;
      variable tree     : terms_t;         -- of each sum, TERMS places: at last, the first holds all
      variable total    : total_t;
    begin
      if rising_edge(clk) then
        if active = '1' then
          -- Where a rank stands, what goes on is what it held.
          for i in 0 to X_LANES - 1 loop
            operands(i) := lane(beat, i, X_WIDTH, X_SIGNED);
          end loop;
          factors := row;
          if STAGES >= 3 then
            operand_rank <= operands;
            weight_rank  <= factors;
            operands := operand_rank;
            factors  := weight_rank;
          end if;
          for p in 0 to Z_LANES - 1 loop
            for k in 0 to TERMS - 1 loop
              tree(p * TERMS + k) := resize(
                to_signed(factors(p * TERMS + k), WEIGHT_WIDTH) * operands(seen(p) + k), SUM_WIDTH
              );
            end loop;
          end loop;
          if STAGES >= 2 then
            product_rank <= tree;
            tree := product_rank;
          end if;
          for level in 1 to LEVELS loop
            for p in 0 to Z_LANES - 1 loop
              for k in 0 to TERMS - 1 loop
                if k mod 2 ** level = 0 and k + 2 ** (level - 1) < TERMS then
                  tree(p * TERMS + k) := tree(p * TERMS + k) + tree(p * TERMS + k + 2 ** (level - 1));
                end if;
              end loop;
            end loop;
            if ranked(level) then
              tree_rank(level) <= tree;
              tree := tree_rank(level);
            end if;
          end loop;
          if adds = '1' then
            for p in 0 to Z_LANES - 1 loop
              if begins = '1' then
                total := biases_now(p);
              else
                total := sums(p);
              end if;
              total := total + tree(p * TERMS);
              sums(p) <= total;
            end loop;
          end if;
        end if;
      end if;
    end process;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
