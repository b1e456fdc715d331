-- affine: a gain and a bias for each channel, z = x * GAINS + BIAS, exact.
--
-- Generics: CHANNELS                of a position
--           LANES                   lanes of x and z; a position is CHANNELS / LANES beats
--           X_WIDTH, X_SIGNED       format of a lane of x
--           Z_WIDTH                 bits of a lane of z; every result fits
--           GAIN_WIDTH, GAINS       bits of a gain, two's complement, and the gains, one a channel
--           BIAS_WIDTH, BIAS, BIAS_UPPER  the same of the biases, BIAS_UPPER * 2**24 + BIAS
--           STAGES                  pipeline stages: 2 splits after products, 3 also before them
--           CAPACITY                beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result, visible STAGES cycles later.
--
-- Where a position is several beats, gains and biases are memories of one row a beat, read one step ahead.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity affine is
  generic (
    CHANNELS   : positive;
    LANES      : positive;
    X_WIDTH    : positive;
    X_SIGNED   : boolean;
    Z_WIDTH    : positive;
    GAIN_WIDTH : positive;
    GAINS      : integer_vector;
    BIAS_WIDTH : positive;
    BIAS       : integer_vector;
    BIAS_UPPER : integer_vector := (0 => 0);
    STAGES     : positive := 1;
    CAPACITY   : positive := 2
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
    assert CHANNELS mod LANES = 0 report "affine: LANES must divide CHANNELS" severity failure;
    assert GAINS'length = CHANNELS and BIAS'length = CHANNELS
      report "affine: GAINS and BIAS must have CHANNELS numbers" severity failure;
    assert BIAS_UPPER'length = 1 or BIAS_UPPER'length = BIAS'length
      report "affine: BIAS_UPPER must have one number or as many as BIAS" severity failure;
    assert GAIN_WIDTH <= 31 report "affine: GAIN_WIDTH must be at most 31" severity failure;
    assert STAGES <= 3 report "affine: STAGES must be at most 3" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of affine is
  constant FOLDS     : positive := CHANNELS / LANES;
  constant PRODUCT   : positive := X_WIDTH + GAIN_WIDTH + 2;
  constant SUM_WIDTH : positive := maximum(Z_WIDTH, maximum(PRODUCT, BIAS_WIDTH));

  subtype gain_row_t is std_logic_vector(LANES * GAIN_WIDTH - 1 downto 0);
  subtype bias_row_t is std_logic_vector(LANES * BIAS_WIDTH - 1 downto 0);
  type gain_rows_t is array (0 to FOLDS - 1) of gain_row_t;
  type bias_rows_t is array (0 to FOLDS - 1) of bias_row_t;
  type products_t is array (0 to LANES - 1) of signed(PRODUCT - 1 downto 0);

  function all_gains return gain_rows_t is
    variable result : gain_rows_t;
  begin
    for f in 0 to FOLDS - 1 loop
      for c in 0 to LANES - 1 loop
        result(f)((c + 1) * GAIN_WIDTH - 1 downto c * GAIN_WIDTH)
          := low_bits(GAINS(GAINS'low + f * LANES + c), GAIN_WIDTH);
      end loop;
    end loop;
    return result;
  end function;

  function all_biases return bias_rows_t is
    variable upper  : integer;
    variable result : bias_rows_t;
  begin
    for f in 0 to FOLDS - 1 loop
      for c in 0 to LANES - 1 loop
        upper := 0;
        if BIAS_UPPER'length = BIAS'length then
          upper := BIAS_UPPER(BIAS_UPPER'low + f * LANES + c);
        end if;
        result(f)((c + 1) * BIAS_WIDTH - 1 downto c * BIAS_WIDTH)
          := std_logic_vector(long(upper, BIAS(BIAS'low + f * LANES + c), BIAS_WIDTH));
      end loop;
    end loop;
    return result;
  end function;

  constant GAIN_ROWS : gain_rows_t := all_gains;
  constant BIAS_ROWS : bias_rows_t := all_biases;

  signal gain_row   : gain_row_t;      -- without an initial value, for block RAM
  signal bias_row   : bias_row_t;
  signal operands   : std_logic_vector(LANES * X_WIDTH - 1 downto 0);
  signal products   : products_t;
  signal to_add     : products_t;
  signal under_way  : std_logic_vector(0 to STAGES - 1);
  signal multiplies : std_logic;
  signal adds       : std_logic;
  signal room       : std_logic;
  signal step       : std_logic;
  signal z_beat     : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  under_way(0) <= step;
  multiplies   <= under_way(maximum(STAGES, 2) - 2);
  adds         <= under_way(STAGES - 1);

  stages_of_beats : if STAGES > 1 generate
    move : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          under_way(1 to STAGES - 1) <= (others => '0');
        else
          under_way(1 to STAGES - 1) <= under_way(0 to STAGES - 2);
        end if;
      end if;
    end process;
  end generate;

  one_row : if FOLDS = 1 generate
    gain_row <= GAIN_ROWS(0);
    bias_row <= BIAS_ROWS(0);
  end generate;

  rows : if FOLDS > 1 generate
    signal gain_fold : natural range 0 to FOLDS - 1 := 0;
    signal bias_fold : natural range 0 to FOLDS - 1 := 0;
    signal next_gain : natural range 0 to FOLDS - 1;
    signal next_bias : natural range 0 to FOLDS - 1;
  begin
    next_gain <= 0 when rst = '1' or gain_fold = FOLDS - 1 else gain_fold + 1;
    next_bias <= 0 when rst = '1' or bias_fold = FOLDS - 1 else bias_fold + 1;

    gain_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or multiplies = '1' then
          gain_fold <= next_gain;
          gain_row  <= GAIN_ROWS(next_gain);
        end if;
      end if;
    end process;

    bias_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or adds = '1' then
          bias_fold <= next_bias;
          bias_row  <= BIAS_ROWS(next_bias);
        end if;
      end if;
    end process;
  end generate;

  stage_before_products : if STAGES > 2 generate
    operands <= x_payload when rising_edge(clk);
  end generate;
  no_stage_before_products : if STAGES <= 2 generate
    operands <= x_payload;
  end generate;

  multiply : for c in 0 to LANES - 1 generate
    products(c) <= lane(operands, c, X_WIDTH, X_SIGNED) * lane(gain_row, c, GAIN_WIDTH, true);
  end generate;

  stage_before_sums : if STAGES > 1 generate
    to_add <= products when rising_edge(clk);
  end generate;
  no_stage_before_sums : if STAGES <= 1 generate
    to_add <= products;
  end generate;

  add : for c in 0 to LANES - 1 generate
    z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= low_bits(
      resize(to_add(c), SUM_WIDTH) + signed(bias_row((c + 1) * BIAS_WIDTH - 1 downto c * BIAS_WIDTH)), Z_WIDTH);
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => adds, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
