-- interpolate: a function of one number, by a straight line for each segment of its range.
--
-- Generics: CHANNELS                       of a position
--           LANES                          lanes of x and z; a position is CHANNELS / LANES beats
--           TABLES                         1: the same lines for all; CHANNELS: lines of each channel
--           X_WIDTH                        bits of a lane of x
--           REST                           bits of x that say where in a segment it is; those above say which
--           Z_WIDTH                        bits of a lane of z; every result fits
--           BASE_WIDTH, BASES, BASES_UPPER bits of a base, two's complement, and the bases, BASES_UPPER * 2**24 +
--                                          BASES, in the order of the upper bits of x as an unsigned number, one table
--                                          after the other
--           SLOPE_WIDTH, SLOPES            the same of the slopes
--           SHIFT                          bits of a base that z is without
--           STAGES                         pipeline stages after the table: the output buffer, one after products
--           CAPACITY                       beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result, visible STAGES + 1 cycles later.
--
-- z = (BASES + SLOPES * rest) / 2**SHIFT, rounded down. Each lane has a memory of lines of its own, with a synchronous
-- read, which synthesis maps to block RAM or to LUTs.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity interpolate is
  generic (
    CHANNELS    : positive;
    LANES       : positive;
    TABLES      : positive := 1;
    X_WIDTH     : positive;
    REST        : positive;
    Z_WIDTH     : positive;
    BASE_WIDTH  : positive;
    BASES       : integer_vector;
    BASES_UPPER : integer_vector := (0 => 0);
    SLOPE_WIDTH : positive;
    SLOPES      : integer_vector;
    SHIFT       : natural;
    STAGES      : positive := 1;
    CAPACITY    : positive := 3
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
    assert CHANNELS mod LANES = 0 report "interpolate: LANES must divide CHANNELS" severity failure;
    assert TABLES = 1 or TABLES = CHANNELS report "interpolate: TABLES must be 1 or CHANNELS" severity failure;
    assert REST < X_WIDTH report "interpolate: REST must be less than X_WIDTH" severity failure;
    assert BASES'length = TABLES * 2 ** (X_WIDTH - REST) and SLOPES'length = BASES'length
      report "interpolate: BASES and SLOPES must have TABLES * 2 ** (X_WIDTH - REST) numbers" severity failure;
    assert BASES_UPPER'length = 1 or BASES_UPPER'length = BASES'length
      report "interpolate: BASES_UPPER must have one number or as many as BASES" severity failure;
    assert SLOPE_WIDTH <= 31 report "interpolate: SLOPE_WIDTH must be at most 31" severity failure;
    assert STAGES <= 2 report "interpolate: STAGES must be at most 2" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of interpolate is
  function groups return positive is
  begin
    if TABLES = 1 then
      return 1;
    end if;
    return CHANNELS / LANES;
  end function;

  constant FOLDS     : positive := groups;                        -- tables of a lane
  constant SEGMENTS  : positive := 2 ** (X_WIDTH - REST);         -- lines of a table
  constant DEPTH     : positive := memory_depth(FOLDS) * SEGMENTS;
  constant PRODUCT   : positive := SLOPE_WIDTH + REST + 1;
  constant SUM_WIDTH : positive := maximum(maximum(BASE_WIDTH, PRODUCT) + 1, SHIFT + Z_WIDTH);

  subtype line_t is std_logic_vector(BASE_WIDTH + SLOPE_WIDTH - 1 downto 0);
  type memory_t is array (0 to DEPTH - 1) of line_t;

  function memory_of(first : natural) return memory_t is
    variable at     : natural;
    variable upper  : integer;
    variable result : memory_t;
  begin
    for f in 0 to memory_depth(FOLDS) - 1 loop
      for i in 0 to SEGMENTS - 1 loop
        result(f * SEGMENTS + i) := (others => '0');
        if f < FOLDS then
          at := first + f * LANES * SEGMENTS + i;
          upper := 0;
          if BASES_UPPER'length = BASES'length then
            upper := BASES_UPPER(BASES_UPPER'low + at);
          end if;
          result(f * SEGMENTS + i)(BASE_WIDTH - 1 downto 0) :=
            std_logic_vector(long(upper, BASES(BASES'low + at), BASE_WIDTH));
          result(f * SEGMENTS + i)(BASE_WIDTH + SLOPE_WIDTH - 1 downto BASE_WIDTH) :=
            low_bits(SLOPES(SLOPES'low + at), SLOPE_WIDTH);
        end if;
      end loop;
    end loop;
    return result;
  end function;

  signal fold      : natural range 0 to FOLDS - 1 := 0;
  signal under_way : std_logic_vector(0 to STAGES);
  signal room      : std_logic;
  signal step      : std_logic;
  signal push      : std_logic;
  signal z_beat    : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;

  under_way(0) <= step;
  push         <= under_way(STAGES);

  move : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        under_way(1 to STAGES) <= (others => '0');
        fold <= 0;
      else
        under_way(1 to STAGES) <= under_way(0 to STAGES - 1);
        if step = '1' then
          if fold = FOLDS - 1 then
            fold <= 0;
          else
            fold <= fold + 1;
          end if;
        end if;
      end if;
    end if;
  end process;

  functions_of_lanes : for c in 0 to LANES - 1 generate
    function first return natural is
    begin
      if TABLES = 1 then
        return 0;
      end if;
      return c * SEGMENTS;
    end function;

    constant MEMORY   : memory_t := memory_of(first);
    signal address    : natural range 0 to DEPTH - 1;
    signal x          : std_logic_vector(X_WIDTH - 1 downto 0);
    signal line       : line_t;                                 -- without an initial value, for block RAM
    signal within     : std_logic_vector(REST - 1 downto 0);
    signal slope_part : signed(PRODUCT - 1 downto 0);
    signal to_add     : signed(PRODUCT - 1 downto 0);
    signal start      : std_logic_vector(BASE_WIDTH - 1 downto 0);
    signal sum        : signed(SUM_WIDTH - 1 downto 0);
  begin
    x <= x_payload((c + 1) * X_WIDTH - 1 downto c * X_WIDTH);

    one_table : if FOLDS = 1 generate
      address <= to_integer(unsigned(x(X_WIDTH - 1 downto REST)));
    end generate;
    several_tables : if FOLDS > 1 generate
      address <= to_integer(to_unsigned(fold, 14) & unsigned(x(X_WIDTH - 1 downto REST)));
    end generate;

    read : process (clk)
    begin
      if rising_edge(clk) then
        line   <= MEMORY(address);
        within <= x(REST - 1 downto 0);
      end if;
    end process;

    slope_part <= signed(line(BASE_WIDTH + SLOPE_WIDTH - 1 downto BASE_WIDTH)) * signed('0' & within);

    two_stages : if STAGES > 1 generate
      to_add <= slope_part when rising_edge(clk);
      start  <= line(BASE_WIDTH - 1 downto 0) when rising_edge(clk);
    end generate;
    one_stage : if STAGES <= 1 generate
      to_add <= slope_part;
      start  <= line(BASE_WIDTH - 1 downto 0);
    end generate;

    sum <= resize(to_add, SUM_WIDTH) + resize(signed(start), SUM_WIDTH);
    z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= std_logic_vector(sum(SHIFT + Z_WIDTH - 1 downto SHIFT));
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
