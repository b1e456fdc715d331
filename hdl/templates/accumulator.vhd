-- accumulator: the sums of the rows of a matrix product, for matvec and popcount; each starts at its bias.
--
-- Generics: LANES        sums of a beat
--           RESULTS      beats of sums that differ in their biases; then all begins again
--           WIDTH        bits of a sum, which holds it
--           BIAS, BIAS_UPPER   lane by lane, beat by beat: BIAS_UPPER * 2**24 + BIAS
-- Ports:    adds         `addends` are added to the sums
--           ends         they are the last of these sums
--           addends        a number for each lane, as wide as the sums
--           push         the cycle after the last were added: `sums` is complete
--
-- Biases are a memory of beats, read one beat ahead; a single one is a constant.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity accumulator is
  generic (
    LANES      : positive;
    RESULTS    : positive;
    WIDTH      : positive;
    BIAS       : integer_vector;
    BIAS_UPPER : integer_vector := (0 => 0)
  );
  port (
    clk     : in  std_logic;
    rst     : in  std_logic;
    adds    : in  std_logic;
    ends    : in  std_logic;
    addends : in  std_logic_vector(LANES * WIDTH - 1 downto 0);
    push    : out std_logic := '0';
    sums    : out std_logic_vector(LANES * WIDTH - 1 downto 0)
  );

  function generics_are_legal return boolean is
  begin
    assert BIAS'length = LANES * RESULTS report "accumulator: BIAS must have LANES * RESULTS numbers" severity failure;
    assert BIAS_UPPER'length = 1 or BIAS_UPPER'length = BIAS'length
      report "accumulator: BIAS_UPPER must have one number or as many as BIAS" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of accumulator is
  subtype sum_t is unsigned(WIDTH - 1 downto 0);
  type sums_t is array (0 to LANES - 1) of sum_t;
  type biases_t is array (0 to RESULTS - 1) of sums_t;

  function all_biases return biases_t is
    variable upper  : integer;
    variable index  : natural;
    variable result : biases_t;
  begin
    for s in 0 to RESULTS - 1 loop
      for p in 0 to LANES - 1 loop
        index := s * LANES + p;
        upper := 0;
        if BIAS_UPPER'length = BIAS'length then
          upper := BIAS_UPPER(BIAS_UPPER'low + index);
        end if;
        result(s)(p) := unsigned(low_bits(long(upper, BIAS(BIAS'low + index), WIDTH + 1), WIDTH));
      end loop;
    end loop;
    return result;
  end function;

  -- The sum without its carry; an addition of integers simulates faster.
  function sum(a, b : sum_t) return sum_t is
    variable full : unsigned(WIDTH downto 0);
  begin
    if WIDTH <= 30 then
      full := to_unsigned(to_integer(a) + to_integer(b), WIDTH + 1);
      return full(WIDTH - 1 downto 0);
    end if;
    return a + b;
  end function;

  constant BIASES : biases_t := all_biases;

  signal begins     : std_logic := '1';                                   -- the next addends are the first ones
  signal totals     : sums_t := (others => (others => '0'));
  signal biases_now : sums_t;                                             -- without an initial value, for block RAM
begin

  control : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        begins <= '1';
        push   <= '0';
      else
        push <= adds and ends;
        if adds = '1' then
          begins <= ends;
        end if;
      end if;
    end if;
  end process;

  one_result : if RESULTS = 1 generate
    biases_now <= BIASES(0);
  end generate;

  several_results : if RESULTS > 1 generate
    signal index     : natural range 0 to RESULTS - 1 := 0;
    signal following : natural range 0 to RESULTS - 1;
  begin
    following <= 0 when index = RESULTS - 1 else index + 1;

    bias_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          index      <= 0;
          biases_now <= BIASES(0);
        elsif adds = '1' and ends = '1' then
          index      <= following;
          biases_now <= BIASES(following);
        end if;
      end if;
    end process;
  end generate;

  accumulate : process (clk)
    variable total : sum_t;
  begin
    if rising_edge(clk) then
      if adds = '1' then
        for p in 0 to LANES - 1 loop
          total := totals(p);
          if begins = '1' then
            total := biases_now(p);
          end if;
          totals(p) <= sum(total, unsigned(addends((p + 1) * WIDTH - 1 downto p * WIDTH)));
        end loop;
      end if;
    end if;
  end process;

  -- The totals themselves are given, so that their registers may be those of DSP blocks.
  lanes_of_sums : for p in 0 to LANES - 1 generate
    sums((p + 1) * WIDTH - 1 downto p * WIDTH) <= std_logic_vector(totals(p));
  end generate;

end architecture;
