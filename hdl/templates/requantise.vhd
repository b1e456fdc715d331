-- requantise: to another format, by shifting, rounding and saturating lane by lane.
--
-- Generics: CHANNELS             of a position
--           LANES                lanes of x and z; a position is CHANNELS / LANES beats
--           X_WIDTH, X_SIGNED    format of a lane of x
--           Z_WIDTH              bits of a lane of z
--           SHIFTS               bits to shift right, one a channel; negative: to the left
--           ROUNDING             to the nearest, ties to the even (0) or greater one (1); downwards (2), to zero (3)
--           OFFSET, OFFSET_UPPER added after rounding: OFFSET_UPPER * 2**24 + OFFSET
--           LOW, LOW_UPPER       least value of z, LOW_UPPER * 2**24 + LOW
--           HIGH, HIGH_UPPER     greatest value of z, HIGH_UPPER * 2**24 + HIGH
--           WORKING              bits that hold every number on the way
--           STAGES               pipeline stages: 2 splits before limiting, 3 also before rounding
--           CAPACITY             beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result, visible STAGES cycles later.
--
-- z = min(max(x / 2**SHIFTS + OFFSET, LOW), HIGH), the quotient rounded. Where a lane shifts by other amounts in other
-- beats, all are first shifted to the left, so that as many bits are left to be rounded off; how far to the left is
-- read from a memory, one step ahead.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity requantise is
  generic (
    CHANNELS     : positive;
    LANES        : positive;
    X_WIDTH      : positive;
    X_SIGNED     : boolean;
    Z_WIDTH      : positive;
    SHIFTS       : integer_vector;
    ROUNDING     : natural := 0;
    OFFSET       : integer := 0;
    OFFSET_UPPER : integer := 0;
    LOW          : integer;
    LOW_UPPER    : integer := 0;
    HIGH         : integer;
    HIGH_UPPER   : integer := 0;
    WORKING      : positive;
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
    assert CHANNELS mod LANES = 0 report "requantise: LANES must divide CHANNELS" severity failure;
    assert SHIFTS'length = CHANNELS report "requantise: SHIFTS must have CHANNELS numbers" severity failure;
    assert ROUNDING <= 3 report "requantise: ROUNDING must be at most 3" severity failure;
    assert WORKING > X_WIDTH and WORKING >= Z_WIDTH
      report "requantise: WORKING must exceed X_WIDTH and hold Z_WIDTH" severity failure;
    assert long(LOW_UPPER, LOW, 56) <= long(HIGH_UPPER, HIGH, 56)
      report "requantise: LOW must not exceed HIGH" severity failure;
    assert STAGES <= 3 report "requantise: STAGES must be at most 3" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of requantise is
  constant FOLDS : positive := CHANNELS / LANES;
  constant LEAST : signed(WORKING - 1 downto 0) := long(LOW_UPPER, LOW, WORKING);
  constant MOST  : signed(WORKING - 1 downto 0) := long(HIGH_UPPER, HIGH, WORKING);

  type numbers_t is array (0 to LANES - 1) of signed(WORKING - 1 downto 0);
  type places_t is array (0 to LANES - 1) of integer;

  function shift_of(channel : natural) return integer is
  begin
    return SHIFTS(SHIFTS'low + channel);
  end function;

  function varies return boolean is
  begin
    for c in 0 to CHANNELS - 1 loop
      if shift_of(c) /= shift_of(c mod LANES) then
        return true;
      end if;
    end loop;
    return false;
  end function;

  -- The bits that are rounded off in a lane.
  function places return places_t is
    variable farthest : natural;
    variable result   : places_t;
  begin
    farthest := 0;
    for c in 0 to CHANNELS - 1 loop
      farthest := maximum(farthest, shift_of(c));
    end loop;
    for c in 0 to LANES - 1 loop
      if varies then
        result(c) := farthest;
      else
        result(c) := shift_of(c);
      end if;
    end loop;
    return result;
  end function;

  constant VARYING : boolean  := varies;
  constant OFF     : places_t := places;

  -- A number without its lowest bits, rounded, and the offset.
  function shifted(value : signed; by : integer) return signed is
    variable bias    : signed(WORKING - 1 downto 0);
    variable wide    : signed(WORKING - 1 downto 0);
    variable result  : signed(WORKING - 1 downto 0);
    variable carried : signed(WORKING downto 0);     -- the lowest bit makes the carry
  begin
    bias := long(OFFSET_UPPER, OFFSET, WORKING);
    wide := value;
    if by > 0 then
      result := (others => '0');
      result(WORKING - 1 downto by) := bias(WORKING - 1 - by downto 0);
      for i in 0 to WORKING - 1 loop
        -- Half even: just below one half; an odd quotient lifts it to one half.
        if i < by - 1 and ROUNDING = 0 then
          result(i) := '1';
        elsif i = by - 1 and ROUNDING = 1 then
          result(i) := '1';
        elsif i < by and ROUNDING = 3 then
          result(i) := wide(WORKING - 1);
        end if;
      end loop;
      carried := (wide & '1') + (result & to_std_logic(ROUNDING = 0 and wide(by) = '1'));
      result := resize(carried(WORKING downto by + 1), WORKING);
    elsif by < 0 then
      result := (others => '0');
      result(WORKING - 1 downto -by) := wide(WORKING - 1 + by downto 0);
      result := result + bias;
    else
      result := wide + bias;
    end if;
    return result;
  end function;

  signal aligned   : numbers_t;
  signal to_round  : numbers_t;
  signal quotients : numbers_t;
  signal to_limit  : numbers_t;
  signal under_way : std_logic_vector(0 to STAGES - 1);
  signal room      : std_logic;
  signal step      : std_logic;
  signal push      : std_logic;
  signal z_beat    : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  under_way(0) <= step;
  push         <= under_way(STAGES - 1);

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

  alike : if not VARYING generate
    places_of_lanes : for c in 0 to LANES - 1 generate
      aligned(c) <= resize(lane(x_payload, c, X_WIDTH, X_SIGNED), WORKING);
    end generate;
  end generate;

  different : if VARYING generate
    function bits return positive is
      variable result : positive;
    begin
      result := 1;
      for c in 0 to CHANNELS - 1 loop
        for i in 1 to 7 loop
          if OFF(0) - shift_of(c) >= 2 ** i then
            result := maximum(result, i + 1);
          end if;
        end loop;
      end loop;
      return result;
    end function;

    constant PLACE_BITS : positive := bits;
    subtype row_t is std_logic_vector(LANES * PLACE_BITS - 1 downto 0);
    type rows_t is array (0 to FOLDS - 1) of row_t;

    function all_rows return rows_t is
      variable result : rows_t;
    begin
      for f in 0 to FOLDS - 1 loop
        for c in 0 to LANES - 1 loop
          result(f)((c + 1) * PLACE_BITS - 1 downto c * PLACE_BITS)
            := low_bits(OFF(0) - shift_of(f * LANES + c), PLACE_BITS);
        end loop;
      end loop;
      return result;
    end function;

    constant ROWS    : rows_t := all_rows;
    signal fold      : natural range 0 to FOLDS - 1 := 0;
    signal following : natural range 0 to FOLDS - 1;
    signal row       : row_t;
  begin
    following <= 0 when rst = '1' or fold = FOLDS - 1 else fold + 1;

    row_memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or step = '1' then
          fold <= following;
          row  <= ROWS(following);
        end if;
      end if;
    end process;

    align : process (x_payload, row)
      variable value : signed(WORKING - 1 downto 0);
    begin
      for c in 0 to LANES - 1 loop
        value := resize(lane(x_payload, c, X_WIDTH, X_SIGNED), WORKING);
        for i in 0 to PLACE_BITS - 1 loop
          if row(c * PLACE_BITS + i) = '1' then
            value := shift_left(value, 2 ** i);
          end if;
        end loop;
        aligned(c) <= value;
      end loop;
    end process;
  end generate;

  stage_before_rounding : if STAGES > 2 generate
    to_round <= aligned when rising_edge(clk);
  end generate;
  no_stage_before_rounding : if STAGES <= 2 generate
    to_round <= aligned;
  end generate;

  round : for c in 0 to LANES - 1 generate
    quotients(c) <= shifted(to_round(c), OFF(c));
  end generate;

  stage_before_limiting : if STAGES > 1 generate
    to_limit <= quotients when rising_edge(clk);
  end generate;
  no_stage_before_limiting : if STAGES <= 1 generate
    to_limit <= quotients;
  end generate;

  limit : for c in 0 to LANES - 1 generate
    z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= low_bits(saturated(to_limit(c), LEAST, MOST), Z_WIDTH);
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
