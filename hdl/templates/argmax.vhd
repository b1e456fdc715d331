-- argmax: the index of the greatest channel; of equal ones, the first.
--
-- Generics: CHANNELS            of a position
--           LANES               lanes of x; a position is CHANNELS / LANES beats
--           X_WIDTH, X_SIGNED   format of a lane of x
--           Z_WIDTH             bits of the index
--           STAGES              pipeline stages: the output buffer, and STAGES - 1 between comparisons
--           CAPACITY            beats in the output buffer
-- Schedule: one step a beat, which takes it; the last of a position gives the result, visible STAGES cycles later.
--
-- A tree compares the lanes of a beat; its winner meets the best of the beats before.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity argmax is
  generic (
    CHANNELS : positive;
    LANES    : positive;
    X_WIDTH  : positive;
    X_SIGNED : boolean;
    Z_WIDTH  : positive;
    STAGES   : positive := 1;
    CAPACITY : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(LANES * X_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert CHANNELS mod LANES = 0 report "argmax: LANES must divide CHANNELS" severity failure;
    assert bits_below(CHANNELS) <= Z_WIDTH report "argmax: Z_WIDTH must hold an index" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of argmax is
  constant FOLDS : positive := CHANNELS / LANES;

  function all_levels return natural is
  begin
    if FOLDS > 1 then
      return bits_below(LANES) + 1;
    end if;
    return bits_below(LANES);
  end function;

  constant DEPTH  : natural := bits_below(LANES);
  constant LEVELS : natural := all_levels;

  -- Whether registers stand after a level: STAGES - 1 of them, evenly.
  function ends_stage(level : natural) return boolean is
  begin
    return level < LEVELS and (level * STAGES) / LEVELS /= ((level - 1) * STAGES) / LEVELS;
  end function;

  subtype value_t is signed(X_WIDTH downto 0);
  subtype place_t is natural range 0 to CHANNELS - 1;
  type values_t is array (0 to LANES - 1) of value_t;
  type places_t is array (0 to LANES - 1) of place_t;
  type value_levels_t is array (0 to DEPTH) of values_t;
  type place_levels_t is array (0 to DEPTH) of places_t;

  signal values    : value_levels_t;      -- after each level of the tree
  signal places    : place_levels_t;
  signal under_way : std_logic_vector(0 to STAGES - 1);
  signal arrives   : std_logic;           -- the tree has the winner of a beat
  signal best      : value_t;             -- of that beat and those before
  signal place     : place_t;
  signal last      : std_logic;
  signal room      : std_logic;
  signal free      : std_logic;
  signal step      : std_logic;
  signal reserve   : std_logic;
  signal push      : std_logic;
  signal z_beat    : std_logic_vector(Z_WIDTH - 1 downto 0);
begin

  free    <= room or not last;
  x_ready <= free;
  step    <= free and x_valid;
  reserve <= step and last;

  under_way(0) <= step;
  arrives      <= under_way(STAGES - 1);

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

  leaves : for c in 0 to LANES - 1 generate
    values(0)(c) <= lane(x_payload, c, X_WIDTH, X_SIGNED);
    places(0)(c) <= c;
  end generate;

  tree : for l in 1 to DEPTH generate
    constant BELOW : positive := (LANES + 2 ** (l - 1) - 1) / 2 ** (l - 1);       -- winners of the level before
    signal winners : values_t;
    signal at      : places_t;
  begin

    nodes : for i in 0 to LANES - 1 generate
      pair : if 2 * i + 1 < BELOW generate
        signal second : boolean;
      begin
        second     <= values(l - 1)(2 * i + 1) > values(l - 1)(2 * i);
        winners(i) <= values(l - 1)(2 * i + 1) when second else values(l - 1)(2 * i);
        at(i)      <= places(l - 1)(2 * i + 1) when second else places(l - 1)(2 * i);
      end generate;
      alone : if 2 * i + 1 = BELOW generate
        winners(i) <= values(l - 1)(2 * i);
        at(i)      <= places(l - 1)(2 * i);
      end generate;
      nothing : if 2 * i + 1 > BELOW generate
        winners(i) <= (others => '0');
        at(i)      <= 0;
      end generate;
    end generate;

    hold_stage : if ends_stage(l) generate
      hold : process (clk)
      begin
        if rising_edge(clk) then
          values(l) <= winners;
          places(l) <= at;
        end if;
      end process;
    end generate;

    no_stage : if not ends_stage(l) generate
      values(l) <= winners;
      places(l) <= at;
    end generate;

  end generate;

  one_beat : if FOLDS = 1 generate
    last  <= '1';
    best  <= values(DEPTH)(0);
    place <= places(DEPTH)(0);
    push  <= arrives;
  end generate;

  beats : if FOLDS > 1 generate
    signal fold         : natural range 0 to FOLDS - 1 := 0;              -- of the beat that is taken
    signal base         : natural range 0 to CHANNELS - LANES := 0;       -- first channel of the beat that arrives
    signal so_far       : value_t := (others => '0');
    signal place_so_far : place_t := 0;
    signal better       : boolean;
  begin
    last   <= '1' when fold = FOLDS - 1 else '0';
    better <= base = 0 or values(DEPTH)(0) > so_far;
    best   <= values(DEPTH)(0) when better else so_far;
    place  <= base + places(DEPTH)(0) when better else place_so_far;
    push   <= arrives when base = CHANNELS - LANES else '0';

    count : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          fold <= 0;
          base <= 0;
        else
          if step = '1' then
            if last = '1' then
              fold <= 0;
            else
              fold <= fold + 1;
            end if;
          end if;
          if arrives = '1' then
            if base = CHANNELS - LANES then
              base <= 0;
            else
              base <= base + LANES;
            end if;
          end if;
        end if;
      end if;
    end process;

    keep : process (clk)
    begin
      if rising_edge(clk) then
        if arrives = '1' then
          so_far       <= best;
          place_so_far <= place;
        end if;
      end if;
    end process;
  end generate;

  z_beat <= low_bits(place, Z_WIDTH);

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
