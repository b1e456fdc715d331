-- delay: the beats of a frame some beats later; the first ones hold an initial value, the last ones are dropped.
--
-- Generics: LANES                     lanes of a beat
--           BEATS                     beats of a frame
--           DELAYED                   beats by which they come later, fewer than BEATS
--           INITIAL, INITIAL_UPPER    what the first ones hold: INITIAL_UPPER * 2**24 + INITIAL
--           ELEMENT_WIDTH             bits of a lane
--           CAPACITY                  beats in the output buffer
-- Schedule: one step a beat, which takes one and gives an earlier one.
--
-- Few beats lie in a shift register, more in a memory that is a ring, read one step ahead.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity delay is
  generic (
    LANES         : positive;
    BEATS         : positive;
    DELAYED       : positive;
    INITIAL       : integer := 0;
    INITIAL_UPPER : integer := 0;
    ELEMENT_WIDTH : positive;
    CAPACITY      : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert DELAYED < BEATS report "delay: DELAYED must be less than BEATS" severity failure;
    assert ELEMENT_WIDTH <= 48 report "delay: ELEMENT_WIDTH must be at most 48" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of delay is
  constant REGISTERS : positive := 4;
  constant BEAT      : positive := LANES * ELEMENT_WIDTH;

  function initial_value return std_logic_vector is
    variable result : std_logic_vector(BEAT - 1 downto 0);
  begin
    for l in 0 to LANES - 1 loop
      result((l + 1) * ELEMENT_WIDTH - 1 downto l * ELEMENT_WIDTH)
        := low_bits(long(INITIAL_UPPER, INITIAL, ELEMENT_WIDTH + 1), ELEMENT_WIDTH);
    end loop;
    return result;
  end function;

  constant INITIAL_BEAT : std_logic_vector(BEAT - 1 downto 0) := initial_value;

  signal index   : natural range 0 to BEATS - 1 := 0;
  signal room    : std_logic;
  signal step    : std_logic;
  signal earlier : std_logic_vector(BEAT - 1 downto 0);
  signal z_beat  : std_logic_vector(BEAT - 1 downto 0);
begin

  x_ready <= room;
  step    <= room and x_valid;
  z_beat  <= INITIAL_BEAT when index < DELAYED else earlier;

  position : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        index <= 0;
      elsif step = '1' then
        if index = BEATS - 1 then
          index <= 0;
        else
          index <= index + 1;
        end if;
      end if;
    end if;
  end process;

  few : if DELAYED <= REGISTERS generate
    type places_t is array (0 to DELAYED - 1) of std_logic_vector(BEAT - 1 downto 0);
    signal places : places_t := (others => (others => '0'));
  begin

    earlier <= places(0);

    store : process (clk)
    begin
      if rising_edge(clk) then
        if step = '1' then
          for i in 0 to DELAYED - 2 loop
            places(i) <= places(i + 1);
          end loop;
          places(DELAYED - 1) <= x_payload;
        end if;
      end if;
    end process;

  end generate;

  many : if DELAYED > REGISTERS generate
    type memory_t is array (0 to memory_depth(DELAYED) - 1) of std_logic_vector(BEAT - 1 downto 0);
    signal memory    : memory_t := (others => (others => '0'));
    signal word      : std_logic_vector(BEAT - 1 downto 0) := (others => '0');
    signal place     : natural range 0 to DELAYED - 1 := 0;
    signal following : natural range 0 to DELAYED - 1;
  begin

    following <= 0 when place = DELAYED - 1 else place + 1;
    earlier   <= word;

    storage : process (clk)
    begin
      if rising_edge(clk) then
        if step = '1' then
          word          <= memory(following);
          memory(place) <= x_payload;
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

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => BEAT, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
