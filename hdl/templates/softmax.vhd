-- softmax: exponentials of the channels of a position, divided by their sum.
--
-- Generics: CHANNELS, LANES       channels of a position, lanes of a beat
--           X_WIDTH, X_SIGNED     format of a lane of x
--           ENTRIES               exponentials by distance from the greatest channel, the last for all beyond
--           ENTRY_WIDTH           bits of an exponential, unsigned
--           SHIFT                 bits of a distance that the table does not distinguish
--           Z_WIDTH, Z_FRACTION   format of a lane of z, unsigned; bits right of the point
--           CAPACITY              beats in the output buffer
-- Schedule: a position has three phases, one number a step. Reading: CHANNELS steps; that of the first lane of a beat
--           takes it. Looking up: CHANNELS + 4 steps, which form the sum as well. Dividing: Z_FRACTION + 2 steps a
--           channel, one bit of the quotient each; the last one of the last lane of a beat gives it.
--
-- Numbers and exponentials lie in a memory each. The quotient has one bit more than the result, which rounds it.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity softmax is
  generic (
    CHANNELS    : positive;
    LANES       : positive;
    X_WIDTH     : positive;
    X_SIGNED    : boolean;
    SHIFT       : natural;
    ENTRIES     : integer_vector;
    ENTRY_WIDTH : positive;
    Z_WIDTH     : positive;
    Z_FRACTION  : positive;
    CAPACITY    : positive := 1
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
    assert CHANNELS mod LANES = 0 report "softmax: LANES must divide CHANNELS" severity failure;
    assert SHIFT <= X_WIDTH report "softmax: SHIFT must be at most X_WIDTH" severity failure;
    assert ENTRIES'length <= 4096 report "softmax: ENTRIES must have at most 4096 numbers" severity failure;
    assert ENTRY_WIDTH <= 31 report "softmax: ENTRY_WIDTH must be at most 31" severity failure;
    assert Z_WIDTH >= Z_FRACTION report "softmax: Z_WIDTH must be at least Z_FRACTION" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of softmax is
  constant WAITS : positive := 4;
  constant BITS  : positive := Z_FRACTION + 2;

  constant SUM_WIDTH : positive := ENTRY_WIDTH + bits_below(CHANNELS);
  constant WIDE      : positive := X_WIDTH + 14;       -- holds a distance and the length of the table

  subtype entry_t is unsigned(ENTRY_WIDTH - 1 downto 0);
  type table_t is array (0 to ENTRIES'length - 1) of entry_t;

  function table_of(numbers : integer_vector) return table_t is
    variable result : table_t;
  begin
    for i in 0 to numbers'length - 1 loop
      result(i) := to_unsigned(numbers(numbers'low + i), ENTRY_WIDTH);
    end loop;
    return result;
  end function;

  constant TABLE : table_t := table_of(ENTRIES);

  type numbers_t is array (0 to memory_depth(maximum(CHANNELS, 2)) - 1) of std_logic_vector(X_WIDTH - 1 downto 0);
  type powers_t is array (0 to memory_depth(maximum(CHANNELS, 2)) - 1) of entry_t;

  signal reading  : std_logic := '1';
  signal dividing : std_logic := '0';
  signal count    : natural range 0 to CHANNELS + WAITS - 1 := 0;
  signal lane_no  : natural range 0 to LANES - 1 := 0;
  signal bit_no   : natural range 0 to BITS - 1 := 0;
  signal taking   : std_logic;
  signal ending   : std_logic;       -- the last bit of a quotient
  signal giving   : std_logic;
  signal room     : std_logic;
  signal step     : std_logic;
  signal push     : std_logic;

  signal x_held   : std_logic_vector(LANES * X_WIDTH - 1 downto 0) := (others => '0');
  signal x_beat   : std_logic_vector(LANES * X_WIDTH - 1 downto 0);
  signal numbers  : numbers_t := (others => (others => '0'));
  signal peak     : signed(X_WIDTH downto 0) := (others => '0');
  signal word     : std_logic_vector(X_WIDTH - 1 downto 0) := (others => '0');

  signal place    : natural range 0 to ENTRIES'length - 1 := 0;
  signal entry    : entry_t := (others => '0');
  signal powers   : powers_t := (others => (others => '0'));
  signal storing  : std_logic;
  signal power_in : natural range 0 to CHANNELS - 1;
  signal power_to : natural range 0 to CHANNELS - 1;
  signal total    : unsigned(SUM_WIDTH - 1 downto 0) := (others => '0');

  signal power    : entry_t := (others => '0');
  signal rest     : unsigned(SUM_WIDTH downto 0) := (others => '0');
  signal current  : unsigned(SUM_WIDTH downto 0);
  signal reached  : std_logic;
  signal quotient : unsigned(BITS - 1 downto 0) := (others => '0');
  signal result   : std_logic_vector(Z_WIDTH - 1 downto 0);
  signal z_held   : std_logic_vector(LANES * Z_WIDTH - 1 downto 0) := (others => '0');
  signal z_beat   : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  taking  <= '1' when reading = '1' and lane_no = 0 else '0';
  ending  <= '1' when dividing = '1' and bit_no = BITS - 1 else '0';
  giving  <= '1' when ending = '1' and lane_no = LANES - 1 else '0';
  x_ready <= taking;
  step    <= (room or not giving) and (x_valid or not taking);
  push    <= step and giving;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        reading  <= '1';
        dividing <= '0';
        count    <= 0;
        lane_no  <= 0;
        bit_no   <= 0;
      elsif step = '1' then
        if reading = '1' or ending = '1' then
          if lane_no = LANES - 1 then
            lane_no <= 0;
          else
            lane_no <= lane_no + 1;
          end if;
        end if;
        if dividing = '1' and ending = '0' then
          bit_no <= bit_no + 1;
        else
          bit_no <= 0;
          if reading = '1' and count = CHANNELS - 1 then
            count   <= 0;
            reading <= '0';
          elsif reading = '0' and dividing = '0' and count = CHANNELS + WAITS - 1 then
            count    <= 0;
            dividing <= '1';
          elsif dividing = '1' and count = CHANNELS - 1 then
            count    <= 0;
            dividing <= '0';
            reading  <= '1';
          else
            count <= count + 1;
          end if;
        end if;
      end if;
    end if;
  end process;

  -- Reading: lane after lane is shifted down to the lowest one.
  x_beat <= x_payload when taking = '1' else x_held;

  read_numbers : process (clk)
    variable value : signed(X_WIDTH downto 0);
  begin
    if rising_edge(clk) then
      if step = '1' and reading = '1' then
        value := lane(x_beat, 0, X_WIDTH, X_SIGNED);
        if count = 0 or value > peak then
          peak <= value;
        end if;
        numbers(count) <= x_beat(X_WIDTH - 1 downto 0);
        for l in 0 to LANES - 2 loop
          x_held((l + 1) * X_WIDTH - 1 downto l * X_WIDTH) <= x_beat((l + 2) * X_WIDTH - 1 downto (l + 1) * X_WIDTH);
        end loop;
      end if;
    end if;
  end process;

  -- Looking up: a number, its distance, its exponential and the sum follow each other, step by step.
  look_up : process (clk)
    variable distance : unsigned(WIDE - 1 downto 0);
    variable apart    : signed(X_WIDTH downto 0);
  begin
    if rising_edge(clk) then
      if step = '1' and reading = '0' and dividing = '0' then
        if count < CHANNELS then
          word <= numbers(count);
        end if;
        apart    := peak - lane(word, 0, X_WIDTH, X_SIGNED);
        distance := (others => '0');
        distance(X_WIDTH - SHIFT downto 0) := unsigned(apart(X_WIDTH downto SHIFT));
        if distance > to_unsigned(ENTRIES'length - 1, WIDE) then
          place <= ENTRIES'length - 1;
        else
          place <= to_integer(distance(11 downto 0));
        end if;
        entry <= TABLE(place);
        if count = 0 then
          total <= (others => '0');
        elsif count >= WAITS - 1 and count < CHANNELS + WAITS - 1 then
          total <= total + entry;
        end if;
      end if;
    end if;
  end process;

  -- The exponentials are kept as they are summed up, and read again one ahead of the division.
  storing  <= '1' when reading = '0' and dividing = '0'
                       and count >= WAITS - 1 and count < CHANNELS + WAITS - 1 else '0';
  power_in <= count - (WAITS - 1) when count >= WAITS - 1 and count < CHANNELS + WAITS - 1 else 0;
  power_to <= 0 when dividing = '0' or count >= CHANNELS - 1 else count + 1;

  powers_storage : process (clk)
  begin
    if rising_edge(clk) then
      if step = '1' and storing = '1' then
        powers(power_in) <= entry;
      end if;
      if step = '1' and (dividing = '0' or ending = '1') then
        power <= powers(power_to);
      end if;
    end if;
  end process;

  -- Dividing: what is left of the exponential, twice as much a step, is compared with the sum.
  current <= resize(power, SUM_WIDTH + 1) when bit_no = 0 else rest;
  reached <= '1' when current >= resize(total, SUM_WIDTH + 1) else '0';

  divide : process (clk)
    variable left : unsigned(SUM_WIDTH downto 0);
  begin
    if rising_edge(clk) then
      if step = '1' then
        left := current;
        if reached = '1' then
          left := current - total;
        end if;
        rest     <= left(SUM_WIDTH - 1 downto 0) & '0';
        quotient <= quotient(BITS - 2 downto 0) & reached;
        if ending = '1' then
          z_held <= z_beat;
        end if;
      end if;
    end if;
  end process;

  round : process (quotient, reached)
    variable nearest : unsigned(BITS downto 0);       -- and one bit below it
  begin
    nearest := ('0' & quotient(BITS - 2 downto 0) & reached) + 1;
    if Z_WIDTH = Z_FRACTION and nearest(Z_FRACTION + 1) = '1' then
      result <= (others => '1');
    else
      result <= std_logic_vector(resize(nearest(BITS downto 1), Z_WIDTH));
    end if;
  end process;

  -- The lanes of a beat are shifted down from the highest one.
  assemble : process (result, z_held)
  begin
    z_beat(LANES * Z_WIDTH - 1 downto (LANES - 1) * Z_WIDTH) <= result;
    for l in 0 to LANES - 2 loop
      z_beat((l + 1) * Z_WIDTH - 1 downto l * Z_WIDTH) <= z_held((l + 2) * Z_WIDTH - 1 downto (l + 1) * Z_WIDTH);
    end loop;
  end process;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => push, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
