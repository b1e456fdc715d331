-- reduce: greatest or sum of several numbers of each channel.
--
-- Generics: LANES               lanes of z; x has TAPS * LANES lanes
--           TAPS                numbers of a lane of z in a beat of x: number t of lane l is lane t * LANES + l of x
--           ROUNDS              beats of x that a beat of z is made of
--           FOLDS               beats of z that are under way at once: those of x go round among them
--           IS_SUM              sum, or else greatest number
--           X_WIDTH, X_SIGNED   format of a lane of x
--           Z_WIDTH, Z_SIGNED   format of a lane of z; every sum fits, a greatest number has the format of x
--           STAGES              pipeline stages of the tree of comparisons or additions, the output buffer included;
--                               at most its levels, one of which is that of the rounds
--           CAPACITY            beats in the output buffer
-- Schedule: one step a beat of x, which takes it; those of the last round give a beat, visible STAGES cycles later.
--
-- The numbers of a beat go through a balanced tree; what comes out joins what the rounds before left. For a few folds
-- that lies in registers which go round, for more in a memory, read one beat ahead.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity reduce is
  generic (
    LANES    : positive;
    TAPS     : positive;
    ROUNDS   : positive;
    FOLDS    : positive;
    IS_SUM   : boolean;
    X_WIDTH  : positive;
    X_SIGNED : boolean;
    Z_WIDTH  : positive;
    Z_SIGNED : boolean;
    STAGES   : positive := 1;
    CAPACITY : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(TAPS * LANES * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert Z_WIDTH >= X_WIDTH and (IS_SUM or Z_WIDTH = X_WIDTH)
      report "reduce: Z_WIDTH must hold a lane of x, and equal X_WIDTH for the greatest number" severity failure;
    assert IS_SUM or X_SIGNED = Z_SIGNED
      report "reduce: Z_SIGNED must equal X_SIGNED for the greatest number" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of reduce is
  constant REGISTERS : positive := 4;

  function level_of_rounds return natural is
  begin
    if ROUNDS > 1 then
      return 1;
    end if;
    return 0;
  end function;

  constant LEVELS : natural := bits_below(TAPS) + level_of_rounds;

  signal fold     : natural range 0 to FOLDS - 1 := 0;
  signal round    : natural range 0 to ROUNDS - 1 := 0;
  signal first    : std_logic;
  signal last     : std_logic;
  signal room     : std_logic;
  signal free     : std_logic;
  signal step     : std_logic;
  signal reserve  : std_logic;
  signal push     : std_logic;
  -- Of the beat in each stage.
  signal present  : std_logic_vector(STAGES - 1 downto 0);
  signal starting : std_logic_vector(STAGES - 1 downto 0);
  signal ending   : std_logic_vector(STAGES - 1 downto 0);
  signal before   : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
  signal z_beat   : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  first   <= '1' when round = 0 else '0';
  last    <= '1' when round = ROUNDS - 1 else '0';
  free    <= room or not last;
  x_ready <= free;
  step    <= free and x_valid;
  reserve <= step and last;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        fold  <= 0;
        round <= 0;
      elsif step = '1' then
        if fold /= FOLDS - 1 then
          fold <= fold + 1;
        else
          fold <= 0;
          if round /= ROUNDS - 1 then
            round <= round + 1;
          else
            round <= 0;
          end if;
        end if;
      end if;
    end if;
  end process;

  present(0)  <= step;
  starting(0) <= first;
  ending(0)   <= last;

  flags : for s in 1 to STAGES - 1 generate
    flag : process (clk)
    begin
      if rising_edge(clk) then
        starting(s) <= starting(s - 1);
        ending(s)   <= ending(s - 1);
        if rst = '1' then
          present(s) <= '0';
        else
          present(s) <= present(s - 1);
        end if;
      end if;
    end process;
  end generate;

  -- Numbers of up to 30 bits are integers, wider ones `signed`. The bit more is for what is no beat: signals that are
  -- about to change.
  integers : if Z_WIDTH <= 30 generate
    subtype value_t is integer range least(Z_WIDTH + 1, Z_SIGNED) to greatest(Z_WIDTH + 1, Z_SIGNED);
    type row_t is array (0 to TAPS * LANES - 1) of value_t;       -- number t of lane l at l * TAPS + t
    type rows_t is array (0 to STAGES - 1) of row_t;

    function combined(a, b : value_t) return value_t is
      variable result : value_t;
    begin
      result := a;
      if IS_SUM then
        result := a + b;
      elsif b > a then
        result := b;
      end if;
      return result;
    end function;

    -- The numbers after the levels above + 1 to below of the tree; entries that are used no more hold zero.
    function reduced(row : row_t; above, below : natural) return row_t is
      variable result : row_t;
      variable count  : positive;
    begin
      -- One by one: the synthesis of GHDL 2.0 may lose an entry that is written after the whole row was.
      for i in row'range loop
        result(i) := row(i);
      end loop;
      count := TAPS;
      for level in 1 to bits_below(TAPS) loop
        if level > above and level <= below then
          for l in 0 to LANES - 1 loop
            for t in 0 to count - 1 loop
              if 2 * t + 1 < count then
                result(l * TAPS + t) := combined(result(l * TAPS + 2 * t), result(l * TAPS + 2 * t + 1));
              elsif 2 * t < count then
                result(l * TAPS + t) := result(l * TAPS + 2 * t);
              else
                result(l * TAPS + t) := 0;
              end if;
            end loop;
          end loop;
        end if;
        count := (count + 1) / 2;
      end loop;
      return result;
    end function;

    signal rows : rows_t := (others => (others => 0));
  begin

    split : process (x_payload)
      variable row : row_t;
    begin
      for l in 0 to LANES - 1 loop
        for t in 0 to TAPS - 1 loop
          row(l * TAPS + t) := number(x_payload, t * LANES + l, X_WIDTH, X_SIGNED);
        end loop;
      end loop;
      rows(0) <= row;
    end process;

    stages_of_beats : for s in 1 to STAGES - 1 generate
      hold_stage : process (clk)
      begin
        if rising_edge(clk) then
          rows(s) <= reduced(rows(s - 1), (s - 1) * LEVELS / STAGES, s * LEVELS / STAGES);
        end if;
      end process;
    end generate;

    join : process (rows, before, starting)
      variable row   : row_t;
      variable value : value_t;
    begin
      row := reduced(rows(STAGES - 1), (STAGES - 1) * LEVELS / STAGES, LEVELS);
      for l in 0 to LANES - 1 loop
        value := row(l * TAPS);
        if ROUNDS > 1 and starting(STAGES - 1) = '0' then
          value := combined(number(before, l, Z_WIDTH, Z_SIGNED), value);
        end if;
        z_beat((l + 1) * Z_WIDTH - 1 downto l * Z_WIDTH) <= low_bits(value, Z_WIDTH);
      end loop;
    end process;

  end generate;

  signeds : if Z_WIDTH > 30 generate
    subtype value_t is signed(Z_WIDTH downto 0);
    type row_t is array (0 to TAPS * LANES - 1) of value_t;       -- number t of lane l at l * TAPS + t
    type rows_t is array (0 to STAGES - 1) of row_t;

    function combined(a, b : value_t) return value_t is
      variable result : value_t;
    begin
      result := a;
      if IS_SUM then
        result := a + b;
      elsif b > a then
        result := b;
      end if;
      return result;
    end function;

    -- The numbers after the levels above + 1 to below of the tree; entries that are used no more hold zero.
    function reduced(row : row_t; above, below : natural) return row_t is
      variable result : row_t;
      variable count  : positive;
    begin
      -- One by one: the synthesis of GHDL 2.0 may lose an entry that is written after the whole row was.
      for i in row'range loop
        result(i) := row(i);
      end loop;
      count := TAPS;
      for level in 1 to bits_below(TAPS) loop
        if level > above and level <= below then
          for l in 0 to LANES - 1 loop
            for t in 0 to count - 1 loop
              if 2 * t + 1 < count then
                result(l * TAPS + t) := combined(result(l * TAPS + 2 * t), result(l * TAPS + 2 * t + 1));
              elsif 2 * t < count then
                result(l * TAPS + t) := result(l * TAPS + 2 * t);
              else
                result(l * TAPS + t) := (others => '0');
              end if;
            end loop;
          end loop;
        end if;
        count := (count + 1) / 2;
      end loop;
      return result;
    end function;

    signal rows : rows_t := (others => (others => (others => '0')));
  begin

    split : process (x_payload)
      variable row : row_t;
    begin
      for l in 0 to LANES - 1 loop
        for t in 0 to TAPS - 1 loop
          row(l * TAPS + t) := resize(lane(x_payload, t * LANES + l, X_WIDTH, X_SIGNED), Z_WIDTH + 1);
        end loop;
      end loop;
      rows(0) <= row;
    end process;

    stages_of_beats : for s in 1 to STAGES - 1 generate
      hold_stage : process (clk)
      begin
        if rising_edge(clk) then
          rows(s) <= reduced(rows(s - 1), (s - 1) * LEVELS / STAGES, s * LEVELS / STAGES);
        end if;
      end process;
    end generate;

    join : process (rows, before, starting)
      variable row   : row_t;
      variable value : value_t;
    begin
      row := reduced(rows(STAGES - 1), (STAGES - 1) * LEVELS / STAGES, LEVELS);
      for l in 0 to LANES - 1 loop
        value := row(l * TAPS);
        if ROUNDS > 1 and starting(STAGES - 1) = '0' then
          value := combined(lane(before, l, Z_WIDTH, Z_SIGNED), value);
        end if;
        z_beat((l + 1) * Z_WIDTH - 1 downto l * Z_WIDTH) <= low_bits(value, Z_WIDTH);
      end loop;
    end process;

  end generate;

  push <= present(STAGES - 1) and ending(STAGES - 1);

  one_round : if ROUNDS = 1 generate
    before <= (others => '0');
  end generate;

  few : if ROUNDS > 1 and FOLDS <= REGISTERS generate
    type places_t is array (0 to FOLDS - 1) of std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
    signal places : places_t := (others => (others => '0'));
  begin

    before <= places(0);

    store : process (clk)
    begin
      if rising_edge(clk) then
        if present(STAGES - 1) = '1' then
          for f in 0 to FOLDS - 2 loop
            places(f) <= places(f + 1);
          end loop;
          places(FOLDS - 1) <= z_beat;
        end if;
      end if;
    end process;

  end generate;

  many : if ROUNDS > 1 and FOLDS > REGISTERS generate
    type memory_t is array (0 to memory_depth(FOLDS) - 1) of std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
    signal memory    : memory_t := (others => (others => '0'));
    signal word      : std_logic_vector(LANES * Z_WIDTH - 1 downto 0) := (others => '0');
    signal place     : natural range 0 to FOLDS - 1 := 0;
    signal following : natural range 0 to FOLDS - 1;
  begin

    following <= 0 when place = FOLDS - 1 else place + 1;
    before    <= word;

    storage : process (clk)
    begin
      if rising_edge(clk) then
        if present(STAGES - 1) = '1' then
          word          <= memory(following);
          memory(place) <= z_beat;
        end if;
      end if;
    end process;

    address : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          place <= 0;
        elsif present(STAGES - 1) = '1' then
          place <= following;
        end if;
      end if;
    end process;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
