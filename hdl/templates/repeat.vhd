-- repeat: up-sampling by repetition; a sequence is an image of one row.
--
-- Generics: BEAT_WIDTH   bits of a beat
--           FOLDS        beats of a position
--           WIDTH        positions of a row
--           ROW_TIMES    how often each row comes
--           TIMES        how often each position of a row comes
--           CAPACITY     beats in the output buffer
-- Schedule: one step a beat of the result, which gives it; a step at which a beat is due for the first time takes it.
--
-- What comes again lies in a memory of one row, or of one position if rows come once, read one step ahead.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity repeat is
  generic (
    BEAT_WIDTH : positive;
    FOLDS      : positive := 1;
    WIDTH      : positive;
    ROW_TIMES  : positive;
    TIMES      : positive;
    CAPACITY   : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(BEAT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(BEAT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert BEAT_WIDTH > 0 and FOLDS > 0 and WIDTH > 0 and ROW_TIMES > 0 and TIMES > 0
      report "repeat: BEAT_WIDTH, FOLDS, WIDTH, ROW_TIMES and TIMES must be positive" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of repeat is

  function places return positive is
  begin
    if ROW_TIMES > 1 then
      return WIDTH * FOLDS;
    end if;
    return FOLDS;
  end function;

  constant STORED : positive := places;

  signal fold   : natural range 0 to FOLDS - 1 := 0;
  signal time_x : natural range 0 to TIMES - 1 := 0;
  signal col    : natural range 0 to WIDTH - 1 := 0;
  signal time_y : natural range 0 to ROW_TIMES - 1 := 0;
  signal taking : std_logic;
  signal room   : std_logic;
  signal step   : std_logic;
  signal known  : std_logic_vector(BEAT_WIDTH - 1 downto 0);
  signal z_beat : std_logic_vector(BEAT_WIDTH - 1 downto 0);
begin

  taking  <= '1' when time_x = 0 and time_y = 0 else '0';
  x_ready <= taking and room;
  step    <= room and (x_valid or not taking);
  z_beat  <= x_payload when taking = '1' else known;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        fold   <= 0;
        time_x <= 0;
        col    <= 0;
        time_y <= 0;
      elsif step = '1' then
        if fold /= FOLDS - 1 then
          fold <= fold + 1;
        else
          fold <= 0;
          if time_x /= TIMES - 1 then
            time_x <= time_x + 1;
          else
            time_x <= 0;
            if col /= WIDTH - 1 then
              col <= col + 1;
            else
              col <= 0;
              if time_y /= ROW_TIMES - 1 then
                time_y <= time_y + 1;
              else
                time_y <= 0;
              end if;
            end if;
          end if;
        end if;
      end if;
    end if;
  end process;

  one : if STORED = 1 generate
    signal beat : std_logic_vector(BEAT_WIDTH - 1 downto 0) := (others => '0');
  begin

    known <= beat;

    hold : process (clk)
    begin
      if rising_edge(clk) then
        if step = '1' then
          beat <= z_beat;
        end if;
      end if;
    end process;

  end generate;

  row : if STORED > 1 generate
    type memory_t is array (0 to memory_depth(STORED) - 1) of std_logic_vector(BEAT_WIDTH - 1 downto 0);
    signal memory    : memory_t := (others => (others => '0'));
    signal place     : natural range 0 to STORED - 1 := 0;
    signal following : natural range 0 to STORED - 1;
    signal word      : std_logic_vector(BEAT_WIDTH - 1 downto 0) := (others => '0');
  begin

    -- Back to the first beat of a position that comes again, else on; the last one is followed by the first.
    following <= place + 1 - FOLDS when fold = FOLDS - 1 and time_x /= TIMES - 1 else
                 0 when place = STORED - 1 else
                 place + 1;

    storage : process (clk)
    begin
      if rising_edge(clk) then
        if step = '1' then
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
        elsif step = '1' then
          place <= following;
        end if;
      end if;
    end process;

    -- A position of one beat that comes again in the next step is not in the memory yet.
    single : if FOLDS = 1 generate
      signal last : std_logic_vector(BEAT_WIDTH - 1 downto 0) := (others => '0');
      signal past : std_logic := '0';
    begin

      known <= last when past = '1' else word;

      hold : process (clk)
      begin
        if rising_edge(clk) then
          if step = '1' then
            last <= z_beat;
            past <= to_std_logic(time_x /= TIMES - 1);
          end if;
        end if;
      end process;

    end generate;

    several : if FOLDS > 1 generate
      known <= word;
    end generate;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => BEAT_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
