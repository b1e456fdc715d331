-- constant_source: one frame, again and again.
--
-- Generics: LANES                   lanes of a beat
--           BEATS                   beats of a frame
--           VALUES, VALUES_UPPER    lane by lane, beat by beat: VALUES_UPPER * 2**24 + VALUES
--           ELEMENT_WIDTH           bits of a lane
--           CAPACITY                beats in the output buffer
-- Schedule: one step a beat, which gives it; it takes nothing.
--
-- The beats lie in a memory, read one step ahead, which synthesis maps to block RAM; a single one is a constant.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity constant_source is
  generic (
    LANES         : positive;
    BEATS         : positive;
    VALUES        : integer_vector;
    VALUES_UPPER  : integer_vector := (0 => 0);
    ELEMENT_WIDTH : positive;
    CAPACITY      : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    z_payload : out std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert VALUES'length = LANES * BEATS
      report "constant_source: VALUES must have LANES * BEATS numbers" severity failure;
    assert ELEMENT_WIDTH <= 31 or VALUES_UPPER'length = VALUES'length
      report "constant_source: VALUES_UPPER must have as many numbers as VALUES" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of constant_source is
  constant BEAT : positive := LANES * ELEMENT_WIDTH;

  type beats_t is array (0 to BEATS - 1) of std_logic_vector(BEAT - 1 downto 0);

  function upper(index : natural) return integer is
  begin
    if ELEMENT_WIDTH > 31 then
      return VALUES_UPPER(VALUES_UPPER'low + index);
    end if;
    return 0;
  end function;

  function beats_of_values return beats_t is
    variable result : beats_t;
    variable index  : natural;
  begin
    for b in 0 to BEATS - 1 loop
      for l in 0 to LANES - 1 loop
        index := b * LANES + l;
        result(b)((l + 1) * ELEMENT_WIDTH - 1 downto l * ELEMENT_WIDTH)
          := low_bits(long(upper(index), VALUES(VALUES'low + index), ELEMENT_WIDTH + 1), ELEMENT_WIDTH);
      end loop;
    end loop;
    return result;
  end function;

  constant FRAME : beats_t := beats_of_values;

  signal step   : std_logic;
  signal z_beat : std_logic_vector(BEAT - 1 downto 0);
begin

  single : if BEATS = 1 generate
    z_beat <= FRAME(0);
  end generate;

  several : if BEATS > 1 generate
    signal index     : natural range 0 to BEATS - 1 := 0;
    signal following : natural range 0 to BEATS - 1;
    signal word      : std_logic_vector(BEAT - 1 downto 0) := (others => '0');
  begin

    z_beat    <= word;
    following <= 0 when rst = '1' or index = BEATS - 1 else index + 1;

    memory : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' or step = '1' then
          word <= FRAME(following);
        end if;
      end if;
    end process;

    position : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          index <= 0;
        elsif step = '1' then
          index <= following;
        end if;
      end if;
    end process;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => BEAT, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => step, push => step, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
