-- matrix_steps: the steps of a folded matrix product, for matvec and popcount.
--
-- Generics: BEAT_WIDTH   bits of a beat of x
--           PARTS        steps of a sum: beats of x that it is made of
--           PASSES       sums one after the other that see the same beats of x
--           STEPS        steps until all begins again, a multiple of PARTS * PASSES
--           STAGES       pipeline stages, the last of which adds to the sums
-- Ports:    x            the stream
--           room         the output buffer has a free slot
--           step         a step takes place, on `beat`
--           following    number of the step after this one, for memories that are read one step ahead
--           reserve      it starts the last part of a sum
--           active       a step is in some stage
--           adds         a step is in the last stage
--           ends         it is the last part of a sum
--
-- The first of PASSES takes the beats of x and keeps them, in a memory where there are several; the others see them
-- again.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity matrix_steps is
  generic (
    BEAT_WIDTH : positive;
    PARTS      : positive;
    PASSES     : positive;
    STEPS      : positive;
    STAGES     : positive := 1
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(BEAT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    room      : in  std_logic;
    step      : out std_logic;
    following : out natural range 0 to maximum(STEPS - 1, 1);  -- GHDL 2.0 writes no vector of no bits
    beat      : out std_logic_vector(BEAT_WIDTH - 1 downto 0);
    reserve   : out std_logic;
    active    : out std_logic;
    adds      : out std_logic;
    ends      : out std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert STEPS mod (PARTS * PASSES) = 0
      report "matrix_steps: STEPS must be a multiple of PARTS * PASSES" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of matrix_steps is
  signal index : natural range 0 to STEPS - 1 := 0;
  signal part  : natural range 0 to PARTS - 1 := 0;
  signal pass  : natural range 0 to PASSES - 1 := 0;
  signal takes : std_logic;
  signal last  : std_logic;
  signal goes  : std_logic;                                   -- nothing but x is waited for
  signal moves : std_logic;                                   -- step, read in here

  -- Of the step in each stage.
  signal present : std_logic_vector(0 to STAGES - 1);
  signal ending  : std_logic_vector(0 to STAGES - 1);
begin

  takes   <= '1' when pass = 0 else '0';
  last    <= '1' when part = PARTS - 1 else '0';
  goes    <= room or not last;
  moves   <= goes and (x_valid or not takes);
  x_ready <= takes and goes;
  step    <= moves;
  reserve <= moves and last;

  one_step : if STEPS = 1 generate
    following <= 0;
  end generate;
  several_steps : if STEPS > 1 generate
    following <= 0 when rst = '1' or index = STEPS - 1 else index + 1;
  end generate;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        index <= 0;
        part  <= 0;
        pass  <= 0;
      elsif moves = '1' then
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

  present(0) <= moves;
  ending(0)  <= last;
  active     <= or present;
  adds       <= present(STAGES - 1);
  ends       <= ending(STAGES - 1);

  later_stages : if STAGES > 1 generate
    advance : process (clk)
    begin
      if rising_edge(clk) then
        ending(1 to STAGES - 1) <= ending(0 to STAGES - 2);
        if rst = '1' then
          present(1 to STAGES - 1) <= (others => '0');
        else
          present(1 to STAGES - 1) <= present(0 to STAGES - 2);
        end if;
      end if;
    end process;
  end generate;

  one_pass : if PASSES = 1 generate
    beat <= x_payload;
  end generate;

  several_passes : if PASSES > 1 generate
    signal kept : std_logic_vector(BEAT_WIDTH - 1 downto 0) := (others => '0');
  begin
    beat <= x_payload when takes = '1' else kept;

    one_beat : if PARTS = 1 generate
      hold : process (clk)
      begin
        if rising_edge(clk) then
          if moves = '1' and takes = '1' then
            kept <= x_payload;
          end if;
        end if;
      end process;
    end generate;

    several_beats : if PARTS > 1 generate
      type memory_t is array (0 to memory_depth(PARTS) - 1) of std_logic_vector(BEAT_WIDTH - 1 downto 0);
      signal memory    : memory_t := (others => (others => '0'));
      signal next_part : natural range 0 to PARTS - 1;
    begin
      next_part <= 0 when part = PARTS - 1 else part + 1;

      hold : process (clk)
      begin
        if rising_edge(clk) then
          if moves = '1' then
            kept <= memory(next_part);
            if takes = '1' then
              memory(part) <= x_payload;
            end if;
          end if;
        end if;
      end process;
    end generate;
  end generate;

end architecture;
