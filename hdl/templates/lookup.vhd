-- lookup: any function of one number, by a table.
--
-- Generics: CHANNELS             of a position
--           LANES                lanes of x and z; a position is CHANNELS / LANES beats
--           TABLES               1: one table for all; CHANNELS: one a channel
--           X_WIDTH              bits of a lane of x
--           Z_WIDTH              bits of a lane of z
--           WORDS, WORDS_UPPER   the tables, 2**X_WIDTH words each, in the order of the bits of x as an unsigned
--                                number: WORDS_UPPER * 2**24 + WORDS
--           CAPACITY             beats in the output buffer
-- Schedule: one step a beat, which takes it and gives the result, visible two cycles later.
--
-- Each lane has a memory of its own, with a synchronous read, which synthesis maps to block RAM or to LUTs.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity lookup is
  generic (
    CHANNELS    : positive;
    LANES       : positive;
    TABLES      : positive := 1;
    X_WIDTH     : positive;
    Z_WIDTH     : positive;
    WORDS       : integer_vector;
    WORDS_UPPER : integer_vector := (0 => 0);
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
    assert CHANNELS mod LANES = 0 report "lookup: LANES must divide CHANNELS" severity failure;
    assert TABLES = 1 or TABLES = CHANNELS report "lookup: TABLES must be 1 or CHANNELS" severity failure;
    assert WORDS'length = TABLES * 2 ** X_WIDTH
      report "lookup: WORDS must have TABLES * 2 ** X_WIDTH numbers" severity failure;
    assert WORDS_UPPER'length = 1 or WORDS_UPPER'length = WORDS'length
      report "lookup: WORDS_UPPER must have one number or as many as WORDS" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of lookup is
  function groups return positive is
  begin
    if TABLES = 1 then
      return 1;
    end if;
    return CHANNELS / LANES;
  end function;

  constant FOLDS  : positive := groups;            -- tables of a lane
  constant LENGTH : positive := 2 ** X_WIDTH;      -- words of a table
  constant DEPTH  : positive := memory_depth(FOLDS) * LENGTH;

  -- GHDL 2.0 synthesises a longer constant as zeros if only its first 32 bits hold ones: each word has a mark then.
  function marks return natural is
    variable is_kept : boolean;
  begin
    for c in 0 to LANES - 1 loop
      is_kept := DEPTH * Z_WIDTH <= 32;
      for f in 0 to FOLDS - 1 loop
        for i in 0 to LENGTH - 1 loop
          if (f * LENGTH + i) * Z_WIDTH >= 32 then
            is_kept := is_kept or WORDS(WORDS'low + ((f * LANES + c) * LENGTH + i) mod WORDS'length) /= 0;
          end if;
        end loop;
      end loop;
      if not is_kept then
        return 1;
      end if;
    end loop;
    return 0;
  end function;

  constant WIDTH : positive := Z_WIDTH + marks;

  type memory_t is array (0 to DEPTH - 1) of std_logic_vector(WIDTH - 1 downto 0);

  function memory_of(first : natural) return memory_t is
    variable at     : natural;
    variable upper  : integer;
    variable result : memory_t;
  begin
    for f in 0 to memory_depth(FOLDS) - 1 loop
      for i in 0 to LENGTH - 1 loop
        result(f * LENGTH + i) := (others => '0');
        if f < FOLDS then
          at := first + f * LANES * LENGTH + i;
          upper := 0;
          if WORDS_UPPER'length = WORDS'length then
            upper := WORDS_UPPER(WORDS_UPPER'low + at);
          end if;
          result(f * LENGTH + i)(Z_WIDTH - 1 downto 0) := std_logic_vector(long(upper, WORDS(WORDS'low + at), Z_WIDTH));
        end if;
        if WIDTH > Z_WIDTH then
          result(f * LENGTH + i)(WIDTH - 1) := '1';
        end if;
      end loop;
    end loop;
    return result;
  end function;

  signal fold   : natural range 0 to FOLDS - 1 := 0;
  signal room   : std_logic;
  signal step   : std_logic;
  signal push   : std_logic := '0';
  signal z_beat : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);      -- without an initial value, for block RAM
begin

  x_ready <= room;
  step    <= room and x_valid;

  control : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        push <= '0';
        fold <= 0;
      else
        push <= step;
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

  tables_of_lanes : for c in 0 to LANES - 1 generate
    function first return natural is
    begin
      if TABLES = 1 then
        return 0;
      end if;
      return c * LENGTH;
    end function;

    constant MEMORY  : memory_t := memory_of(first);
    signal   address : natural range 0 to DEPTH - 1;
  begin

    one_table : if FOLDS = 1 generate
      address <= to_integer(unsigned(x_payload((c + 1) * X_WIDTH - 1 downto c * X_WIDTH)));
    end generate;
    several_tables : if FOLDS > 1 generate
      address <= to_integer(to_unsigned(fold, 16) & unsigned(x_payload((c + 1) * X_WIDTH - 1 downto c * X_WIDTH)));
    end generate;

    read : process (clk)
    begin
      if rising_edge(clk) then
        z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= MEMORY(address)(Z_WIDTH - 1 downto 0);
      end if;
    end process;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
