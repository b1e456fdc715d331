-- matvec: z = W x + b at every position, exact.
--
-- Generics: INPUTS, OUTPUTS       columns and rows of W: lanes of x and of z
--           PE, SIMD              rows and columns of W that one step works on; they divide OUTPUTS and INPUTS
--           X_WIDTH, X_SIGNED     format of a lane of x
--           Z_WIDTH               bits of a lane of z; every sum fits
--           Z_SIGNED              format of a lane of z
--           WEIGHT_WIDTH          bits of a weight, two's complement
--           WEIGHTS               W, row by row
--           BIAS, BIAS_UPPER      b = BIAS_UPPER * 2**24 + BIAS
--           CAPACITY              beats in the output buffer
-- Schedule: (OUTPUTS / PE) * (INPUTS / SIMD) steps a position: for each PE rows, all columns, SIMD at a time.
--           The first step takes a beat, the last gives one, visible two cycles later.
--
-- The weights are a memory of one row a step (PE * SIMD weights), read one step ahead, which synthesis maps to block
-- RAM; with a single step they are constants. Sums of up to 31 bits are integers, wider ones are `signed`.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity matvec is
  generic (
    INPUTS       : positive;
    OUTPUTS      : positive;
    PE           : positive;
    SIMD         : positive;
    X_WIDTH      : positive;
    X_SIGNED     : boolean;
    Z_WIDTH      : positive;
    Z_SIGNED     : boolean := true;
    WEIGHT_WIDTH : positive;
    WEIGHTS      : integer_vector;
    BIAS         : integer_vector;
    BIAS_UPPER   : integer_vector := (0 => 0);
    CAPACITY     : positive := 3
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(INPUTS * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(OUTPUTS * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );
end entity;

architecture rtl of matvec is
  constant PARTS  : positive := INPUTS / SIMD;
  constant GROUPS : positive := OUTPUTS / PE;
  constant STEPS  : positive := PARTS * GROUPS;

  subtype weight_t is integer range least(WEIGHT_WIDTH, true) to greatest(WEIGHT_WIDTH, true);
  type row_t is array (0 to PE * SIMD - 1) of weight_t;
  type rows_t is array (0 to STEPS - 1) of row_t;

  -- Of the integer sums.
  constant X_BITS : positive := minimum(X_WIDTH, 31);
  constant Z_BITS : positive := minimum(Z_WIDTH, 31);
  subtype number_t is integer range least(X_BITS, X_SIGNED) to greatest(X_BITS, X_SIGNED);
  subtype total_t is integer range least(Z_BITS, Z_SIGNED) to greatest(Z_BITS, Z_SIGNED);
  type numbers_t is array (0 to INPUTS - 1) of number_t;
  type totals_t is array (0 to PE - 1) of total_t;

  function rows_of(matrix : integer_vector) return rows_t is
    variable result : rows_t;
  begin
    for g in 0 to GROUPS - 1 loop
      for s in 0 to PARTS - 1 loop
        for p in 0 to PE - 1 loop
          for k in 0 to SIMD - 1 loop
            result(g * PARTS + s)(p * SIMD + k) := matrix(matrix'low + (g * PE + p) * INPUTS + s * SIMD + k);
          end loop;
        end loop;
      end loop;
    end loop;
    return result;
  end function;

  constant ROWS : rows_t := rows_of(WEIGHTS);

  signal index    : natural range 0 to STEPS := 0;
  signal group_no : natural range 0 to GROUPS := 0;     -- rows group_no * PE and on
  signal column   : natural range 0 to INPUTS := 0;     -- columns `column` to column + SIMD - 1
  signal first    : std_logic;
  signal last     : std_logic;
  signal room     : std_logic;
  signal free     : std_logic;
  signal step     : std_logic;
  signal reserve  : std_logic;
  signal push     : std_logic := '0';
  signal row      : row_t;
  signal z_beat   : std_logic_vector(OUTPUTS * Z_WIDTH - 1 downto 0) := (others => '0');
begin

  first   <= '1' when index = 0 else '0';
  last    <= '1' when index = STEPS - 1 else '0';
  free    <= room or not last;
  x_ready <= first and free;
  step    <= free and (x_valid or not first);
  reserve <= step and last;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        index    <= 0;
        group_no <= 0;
        column   <= 0;
        push     <= '0';
      else
        push <= reserve;
        if step = '1' then
          if last = '1' then
            index    <= 0;
            group_no <= 0;
            column   <= 0;
          else
            index <= index + 1;
            if column = INPUTS - SIMD then
              column   <= 0;
              group_no <= group_no + 1;
            else
              column <= column + SIMD;
            end if;
          end if;
        end if;
      end if;
    end if;
  end process;

  unrolled : if STEPS = 1 generate
    row <= ROWS(0);
  end generate;

  folded : if STEPS > 1 generate
    signal following : natural range 0 to STEPS - 1;
  begin
    following <= 0 when rst = '1' or index = STEPS - 1 else index + 1;

    weight_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or step = '1' then
          row <= ROWS(following);
        end if;
      end if;
    end process;
  end generate;

  integer_sums : if Z_WIDTH <= 31 and X_WIDTH <= 31 generate
    signal held : numbers_t;
    signal sums : totals_t;
  begin

    accumulate : process (clk)
      variable operands : numbers_t;       -- the first SIMD of them are used
      variable sum      : total_t;
    begin
      if rising_edge(clk) then
        if step = '1' then
          if first = '1' then
            for i in 0 to INPUTS - 1 loop
              operands(i) := number(x_payload, i, X_WIDTH, X_SIGNED);
            end loop;
            held <= operands;
          else
            for k in 0 to SIMD - 1 loop
              operands(k) := held(column + k);
            end loop;
          end if;
          for p in 0 to PE - 1 loop
            if column = 0 then
              sum := 0;
              for g in 0 to GROUPS - 1 loop
                if group_no = g then
                  sum := BIAS(BIAS'low + g * PE + p);
                end if;
              end loop;
            else
              sum := sums(p);
            end if;
            for k in 0 to SIMD - 1 loop
              sum := sum + row(p * SIMD + k) * operands(k);
            end loop;
            sums(p) <= sum;
            if column = INPUTS - SIMD then
              for g in 0 to GROUPS - 1 loop
                if group_no = g then
                  z_beat((g * PE + p + 1) * Z_WIDTH - 1 downto (g * PE + p) * Z_WIDTH) <= low_bits(sum, Z_WIDTH);
                end if;
              end loop;
            end if;
          end loop;
        end if;
      end if;
    end process;

  end generate;

  signed_sums : if Z_WIDTH > 31 or X_WIDTH > 31 generate
    constant PRODUCT_WIDTH : positive := WEIGHT_WIDTH + X_WIDTH + 1;
    constant SUM_WIDTH     : positive := maximum(Z_WIDTH, PRODUCT_WIDTH) + 1;
    type operands_t is array (0 to INPUTS - 1) of signed(X_WIDTH downto 0);
    type sums_t is array (0 to PE - 1) of signed(SUM_WIDTH - 1 downto 0);
    signal held : operands_t := (others => (others => '0'));
    signal sums : sums_t := (others => (others => '0'));
  begin

    accumulate : process (clk)
      variable operands : operands_t;       -- the first SIMD of them are used
      variable sum      : signed(SUM_WIDTH - 1 downto 0);
    begin
      if rising_edge(clk) then
        if step = '1' then
          if first = '1' then
            for i in 0 to INPUTS - 1 loop
              operands(i) := lane(x_payload, i, X_WIDTH, X_SIGNED);
            end loop;
            held <= operands;
          else
            for k in 0 to SIMD - 1 loop
              operands(k) := held(column + k);
            end loop;
          end if;
          for p in 0 to PE - 1 loop
            if column = 0 then
              sum := (others => '0');
              for g in 0 to GROUPS - 1 loop
                if group_no = g then
                  sum := long(BIAS_UPPER(BIAS_UPPER'low + g * PE + p), BIAS(BIAS'low + g * PE + p), SUM_WIDTH);
                end if;
              end loop;
            else
              sum := sums(p);
            end if;
            for k in 0 to SIMD - 1 loop
              sum := sum + resize(to_signed(row(p * SIMD + k), WEIGHT_WIDTH) * operands(k), SUM_WIDTH);
            end loop;
            sums(p) <= sum;
            if column = INPUTS - SIMD then
              for g in 0 to GROUPS - 1 loop
                if group_no = g then
                  z_beat((g * PE + p + 1) * Z_WIDTH - 1 downto (g * PE + p) * Z_WIDTH) <= low_bits(sum, Z_WIDTH);
                end if;
              end loop;
            end if;
          end loop;
        end if;
      end if;
    end process;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => OUTPUTS * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
