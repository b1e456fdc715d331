-- adder_graph: a constant matrix times the lanes of x, plus a bias, as a network of shifts and additions.
--
-- Generics: INPUTS, OUTPUTS    lanes of x and of z
--           X_WIDTH, X_SIGNED  format of a lane of x
--           Z_WIDTH            bits of a lane of z; every result fits
--           STAGES             pipeline stages, the last of which ends with z
--           LAST_RANK          whether the stage before the last ends with the sums, without the bits that are cut off
--           BITS               bits of all numbers of the network, the lanes of x first
--           ADDERS, ADDER      nine integers an adder: lowest bit, width and inversion (0 or 1) of the low operand, the
--                              same of the high one, its shift to the left, lowest bit and width of the sum
--           COPIES, COPY       four integers a delayed number: lowest bit before and after, width, stage that ends
--           ENDS               nine integers a lane of z: lowest bit, width (0: nothing), inversion and shift of what
--                              is summed; bits of the sum, 1 if it may be negative, bits that are cut off, limits
--                              (0: none, 1: zero, 2: zero and SPAN), how ties are rounded (0: as they are, 1: the
--                              lowest bit is cleared if all that is cut off is zero, 2: it is set if all that is one)
--           OFFSET, OFFSET_UPPER   what is added to each sum, as UPPER * 2**24 + lower: a half for rounding as well
--           LEAST, LEAST_UPPER what is added to limited sums
--           SPAN, SPAN_UPPER   greatest limited sum
-- Schedule: one step a beat, which takes it and gives the result, visible STAGES cycles later.
--
-- All numbers are natural ones: a signed lane of x is counted from its least number, a difference is the sum with a
-- complement, and what this adds is in the offsets. So nothing is extended by a sign, and an adder is as long as
-- its operands overlap.
--
-- A beat moves on where the stage before it is free or becomes free. One more beat waits at the input, whence x_ready
-- is a register.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity adder_graph is
  generic (
    INPUTS       : positive;
    OUTPUTS      : positive;
    X_WIDTH      : positive;
    X_SIGNED     : boolean;
    Z_WIDTH      : positive;
    STAGES       : positive := 1;
    LAST_RANK    : boolean := false;
    BITS         : positive;
    ADDERS       : natural;
    ADDER        : integer_vector;
    COPIES       : natural;
    COPY         : integer_vector;
    ENDS         : integer_vector;
    OFFSET       : integer_vector;
    OFFSET_UPPER : integer_vector := (0 => 0);
    LEAST        : integer := 0;
    LEAST_UPPER  : integer := 0;
    SPAN         : integer := 0;
    SPAN_UPPER   : integer := 0
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

  function generics_are_legal return boolean is
  begin
    assert ADDERS = 0 or ADDER'length = 9 * ADDERS
      report "adder_graph: ADDER must have 9 * ADDERS numbers" severity failure;
    assert COPIES = 0 or COPY'length = 4 * COPIES
      report "adder_graph: COPY must have 4 * COPIES numbers" severity failure;
    assert ENDS'length = 9 * OUTPUTS report "adder_graph: ENDS must have 9 * OUTPUTS numbers" severity failure;
    assert OFFSET'length = OUTPUTS report "adder_graph: OFFSET must have OUTPUTS numbers" severity failure;
    assert OFFSET_UPPER'length = 1 or OFFSET_UPPER'length = OFFSET'length
      report "adder_graph: OFFSET_UPPER must have one number or as many as OFFSET" severity failure;
    assert BITS >= INPUTS * X_WIDTH report "adder_graph: BITS must hold the lanes of x" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of adder_graph is

  function upright(value : std_logic_vector; inverted : integer) return unsigned is
    variable result : unsigned(value'length - 1 downto 0);
  begin
    result := unsigned(value);
    if inverted = 1 then
      result := not result;
    end if;
    return result;
  end function;

  -- The lowest `width` bits, with zeros above those that there are.
  function fitted(value : unsigned; width : positive) return unsigned is
    variable source : unsigned(value'length - 1 downto 0);
    variable result : unsigned(width - 1 downto 0);
  begin
    source := value;
    if value'length >= width then
      return source(width - 1 downto 0);
    end if;
    result := (others => '0');
    result(value'length - 1 downto 0) := source;
    return result;
  end function;

  -- low + high * 2**shift. Bits of `low` below `high` are wires. Where both begin at the same bit, the lowest bit of
  -- the sum is written apart: a synthesis tool that finds a sum whose only use is in another sum may build a tree of
  -- carry-save adders of them, which takes twice the cells of two carry chains. An inverted operand stands last, where
  -- its inverters vanish in the chain.
  function sum(low, high : unsigned; shift : natural; high_last : boolean; width : positive) return unsigned is
    constant LOW_WIDTH : positive := low'length;
    constant LONG      : positive := maximum(width, shift + 1);
    constant WIRES     : natural := minimum(shift, LOW_WIDTH);
    variable lower     : unsigned(LOW_WIDTH - 1 downto 0);
    variable upper     : unsigned(high'length - 1 downto 0);
    variable total     : unsigned(LONG - shift - 1 downto 0);
    variable result    : unsigned(LONG - 1 downto 0);
  begin
    lower := low;
    upper := high;
    if shift >= LOW_WIDTH then
      total := fitted(upper, LONG - shift);
    else
      if high_last then
        total := fitted(lower(LOW_WIDTH - 1 downto WIRES), LONG - shift) + fitted(upper, LONG - shift);
      else
        total := fitted(upper, LONG - shift) + fitted(lower(LOW_WIDTH - 1 downto WIRES), LONG - shift);
      end if;
      total(0) := lower(WIRES) xor upper(0);
    end if;
    result := (others => '0');
    result(LONG - 1 downto shift) := total;
    if WIRES > 0 then
      result(WIRES - 1 downto 0) := lower(WIRES - 1 downto 0);
    end if;
    return result(width - 1 downto 0);
  end function;

  -- A sum without its lowest bits. Of a tie, which leaves only zeros or only ones there, the lowest bit is made even,
  -- or odd where an odd number was added to the quotient.
  function without_places(total : unsigned; places, tie : natural) return unsigned is
    constant LENGTH : positive := total'length;
    variable value  : unsigned(LENGTH - 1 downto 0);
    variable result : unsigned(LENGTH - places - 1 downto 0);
    variable is_tie : std_logic;
  begin
    value  := total;
    result := value(LENGTH - 1 downto places);
    if tie > 0 then
      is_tie := '1';
      for i in 0 to places - 1 loop
        is_tie := is_tie and (value(i) xor to_std_logic(tie = 1));
      end loop;
      if tie = 1 then
        result(0) := result(0) and not is_tie;
      else
        result(0) := result(0) or is_tie;
      end if;
    end if;
    return result;
  end function;

  function bits_of_span return positive is
    constant ALL_BITS : signed(55 downto 0) := long(SPAN_UPPER, SPAN, 56);
    variable result   : positive;
  begin
    result := 1;
    for i in 0 to 55 loop
      if ALL_BITS(i) = '1' then
        result := i + 1;
      end if;
    end loop;
    return result;
  end function;

  constant SPAN_BITS : positive := bits_of_span;
  constant MOST      : unsigned(SPAN_BITS - 1 downto 0) := unsigned(long(SPAN_UPPER, SPAN, SPAN_BITS));
  constant BASE     : unsigned(Z_WIDTH - 1 downto 0) := unsigned(long(LEAST_UPPER, LEAST, Z_WIDTH));

  -- Whether limited sums are all numbers of so many bits.
  function is_all_ones return boolean is
  begin
    for i in 0 to SPAN_BITS - 1 loop
      if MOST(i) = '0' then
        return false;
      end if;
    end loop;
    return true;
  end function;

  constant IS_FULL : boolean := is_all_ones;

  -- The lowest bits of `BASE` that are zero.
  function zeros_of_base return natural is
  begin
    for i in 0 to Z_WIDTH - 1 loop
      if BASE(i) = '1' then
        return i;
      end if;
    end loop;
    return Z_WIDTH;
  end function;

  constant ZEROS : natural := zeros_of_base;

  -- A sum as a lane of z, limited to 0 .. SPAN and counted from LEAST, or as it is.
  function limited(total : unsigned; is_signed : boolean; limits : natural) return unsigned is
    constant LENGTH   : positive := total'length;
    variable value    : unsigned(LENGTH - 1 downto 0);
    variable result   : unsigned(Z_WIDTH - 1 downto 0);
    variable lower    : unsigned(SPAN_BITS - 1 downto 0);
    variable negative : std_logic;
    variable above    : std_logic;
  begin
    value    := total;
    negative := '0';
    if is_signed then
      negative := value(LENGTH - 1);
    end if;
    if limits = 0 then
      result := (others => negative);
      for i in 0 to Z_WIDTH - 1 loop
        if i < LENGTH then
          result(i) := value(i);
        end if;
      end loop;
      return result;
    end if;
    lower := fitted(value, SPAN_BITS);
    above := '0';
    if limits = 2 then
      for i in SPAN_BITS to LENGTH - 1 loop
        above := above or value(i);
      end loop;
      if not IS_FULL then
        above := above or to_std_logic(lower > MOST);
      end if;
    end if;
    for i in 0 to SPAN_BITS - 1 loop
      if MOST(i) = '1' then
        lower(i) := (lower(i) or above) and not negative;
      else
        lower(i) := lower(i) and not above and not negative;
      end if;
    end loop;
    result := fitted(lower, Z_WIDTH);
    if ZEROS < Z_WIDTH then
      result(Z_WIDTH - 1 downto ZEROS) := result(Z_WIDTH - 1 downto ZEROS) + BASE(Z_WIDTH - 1 downto ZEROS);
    end if;
    return result;
  end function;

  signal number   : std_logic_vector(BITS - 1 downto 0) := (others => '0');
  signal valid    : std_logic_vector(1 to STAGES) := (others => '0');
  signal advance  : std_logic_vector(1 to STAGES + 1);
  signal waiting  : std_logic := '0';
  signal kept     : std_logic_vector(INPUTS * X_WIDTH - 1 downto 0) := (others => '0');
  signal beat     : std_logic_vector(INPUTS * X_WIDTH - 1 downto 0);
  signal given    : std_logic;
begin

  x_ready <= not waiting;
  given   <= x_valid or waiting;
  beat    <= kept when waiting = '1' else x_payload;
  z_valid <= valid(STAGES);

  advance(STAGES + 1) <= z_ready;
  stages_of_beats : for r in 1 to STAGES generate
    advance(r) <= advance(r + 1) or not valid(r);
  end generate;

  control : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        valid   <= (others => '0');
        waiting <= '0';
      else
        waiting <= given and not advance(1);
        if advance(1) = '1' then
          valid(1) <= given;
        end if;
        for r in 2 to STAGES loop
          if advance(r) = '1' then
            valid(r) <= valid(r - 1);
          end if;
        end loop;
      end if;
      if waiting = '0' then
        kept <= x_payload;
      end if;
    end if;
  end process;

  lanes_of_x : for i in 0 to INPUTS - 1 generate
    unsigned_lane : if not X_SIGNED generate
      number((i + 1) * X_WIDTH - 1 downto i * X_WIDTH) <= beat((i + 1) * X_WIDTH - 1 downto i * X_WIDTH);
    end generate;
    signed_lane : if X_SIGNED generate
      number((i + 1) * X_WIDTH - 1) <= not beat((i + 1) * X_WIDTH - 1);
      several_bits : if X_WIDTH > 1 generate
        number((i + 1) * X_WIDTH - 2 downto i * X_WIDTH) <= beat((i + 1) * X_WIDTH - 2 downto i * X_WIDTH);
      end generate;
    end generate;
  end generate;

  network : for k in 0 to ADDERS - 1 generate
    constant ROW   : natural := ADDER'low + 9 * k;
    constant LOW   : natural := ADDER(ROW);
    constant HIGH  : natural := ADDER(ROW + 3);
    constant PLACE : natural := ADDER(ROW + 7);
    constant WIDTH : natural := ADDER(ROW + 8);
  begin
    number(PLACE + WIDTH - 1 downto PLACE) <= std_logic_vector(sum(
      upright(number(LOW + ADDER(ROW + 1) - 1 downto LOW), ADDER(ROW + 2)),
      upright(number(HIGH + ADDER(ROW + 4) - 1 downto HIGH), ADDER(ROW + 5)),
      ADDER(ROW + 6), ADDER(ROW + 5) = 1, WIDTH));
  end generate;

  delayed : for k in 0 to COPIES - 1 generate
    constant ROW   : natural := COPY'low + 4 * k;
    constant FROM  : natural := COPY(ROW);
    constant PLACE : natural := COPY(ROW + 1);
    constant WIDTH : natural := COPY(ROW + 2);
  begin
    copied : process (clk)
    begin
      if rising_edge(clk) then
        if advance(COPY(ROW + 3)) = '1' then
          number(PLACE + WIDTH - 1 downto PLACE) <= number(FROM + WIDTH - 1 downto FROM);
        end if;
      end if;
    end process;
  end generate;

  results : for o in 0 to OUTPUTS - 1 generate
    constant ROW    : natural := ENDS'low + 9 * o;
    constant FROM   : natural := ENDS(ROW);
    constant WIDTH  : natural := ENDS(ROW + 1);
    constant SHIFT  : natural := ENDS(ROW + 3);
    constant LENGTH : positive := ENDS(ROW + 4);
    constant PLACES : natural := ENDS(ROW + 6);

    function offset_of_lane return unsigned is
    begin
      if OFFSET_UPPER'length = OUTPUTS then
        return unsigned(long(OFFSET_UPPER(OFFSET_UPPER'low + o), OFFSET(OFFSET'low + o), LENGTH));
      end if;
      return fitted(to_unsigned(OFFSET(OFFSET'low + o), 31), LENGTH);
    end function;

    constant TERM   : unsigned(LENGTH - 1 downto 0) := offset_of_lane;
    signal total    : unsigned(LENGTH - 1 downto 0);
    signal quotient : unsigned(LENGTH - PLACES - 1 downto 0);
    signal kept_sum : unsigned(LENGTH - PLACES - 1 downto 0) := (others => '0');
    signal held     : std_logic_vector(Z_WIDTH - 1 downto 0) := (others => '0');
  begin
    z_payload((o + 1) * Z_WIDTH - 1 downto o * Z_WIDTH) <= held;

    nothing : if WIDTH = 0 or SHIFT >= LENGTH generate
      total <= TERM;
    end generate;

    something : if WIDTH > 0 and SHIFT < LENGTH generate
      signal upper : unsigned(LENGTH - SHIFT - 1 downto 0);
    begin
      upper <= fitted(upright(number(FROM + WIDTH - 1 downto FROM), ENDS(ROW + 2)), LENGTH - SHIFT)
               + TERM(LENGTH - 1 downto SHIFT);
      total(LENGTH - 1 downto SHIFT) <= upper;
      wires : if SHIFT > 0 generate
        total(SHIFT - 1 downto 0) <= TERM(SHIFT - 1 downto 0);
      end generate;
    end generate;

    quotient <= without_places(total, PLACES, ENDS(ROW + 8));

    stage_of_sums : if LAST_RANK generate
      register_of_sum : process (clk)
      begin
        if rising_edge(clk) then
          if advance(STAGES - 1) = '1' then
            kept_sum <= quotient;
          end if;
        end if;
      end process;
    end generate;
    sums_in_last_stage : if not LAST_RANK generate
      kept_sum <= quotient;
    end generate;

    register_of_z : process (clk)
    begin
      if rising_edge(clk) then
        if advance(STAGES) = '1' then
          held <= std_logic_vector(limited(kept_sum, ENDS(ROW + 5) = 1, ENDS(ROW + 7)));
        end if;
      end if;
    end process;
  end generate;

end architecture;
