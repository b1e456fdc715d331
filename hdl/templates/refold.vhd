-- refold: the same numbers in narrower or wider beats.
--
-- Generics: X_LANES, Z_LANES   of a beat; one divides the other
--           ELEMENT_WIDTH      bits of a lane
--           CAPACITY           beats in the output buffer
-- Schedule: narrower: X_LANES / Z_LANES steps a beat of x, the first of which takes it; each gives a part of it, lowest
--           lanes first, visible two cycles later. Wider: one step a beat of x; the last of Z_LANES / X_LANES gives.

library ieee;
use ieee.std_logic_1164.all;

entity refold is
  generic (
    X_LANES       : positive;
    Z_LANES       : positive;
    ELEMENT_WIDTH : positive;
    CAPACITY      : positive := 2
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    x_payload : in  std_logic_vector(X_LANES * ELEMENT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(Z_LANES * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert X_LANES mod Z_LANES = 0 or Z_LANES mod X_LANES = 0
      report "refold: one of X_LANES and Z_LANES must divide the other" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of refold is
  constant X_BITS : positive := X_LANES * ELEMENT_WIDTH;
  constant Z_BITS : positive := Z_LANES * ELEMENT_WIDTH;

  signal room    : std_logic;
  signal reserve : std_logic;
  signal push    : std_logic;
  signal z_beat  : std_logic_vector(Z_BITS - 1 downto 0);
begin

  equal : if X_LANES = Z_LANES generate
    x_ready <= room;
    reserve <= room and x_valid;
    push    <= reserve;
    z_beat  <= x_payload;
  end generate;

  narrower : if X_LANES > Z_LANES generate
    constant PARTS : positive := X_LANES / Z_LANES;
    type parts_t is array (0 to PARTS - 1) of std_logic_vector(Z_BITS - 1 downto 0);
    signal held  : parts_t := (others => (others => '0'));
    signal part  : natural range 0 to PARTS - 1 := 0;     -- of this step
    signal given : natural range 0 to PARTS - 1 := 0;     -- of the step before, which goes out now
    signal first : std_logic;
    signal late  : std_logic := '0';
  begin
    first   <= '1' when part = 0 else '0';
    x_ready <= first and room;
    reserve <= room and (x_valid or not first);
    push    <= late;
    z_beat  <= held(given);

    count : process (clk)
    begin
      if rising_edge(clk) then
        given <= part;
        if rst = '1' then
          part <= 0;
          late <= '0';
        else
          late <= reserve;
          if reserve = '1' then
            if part = PARTS - 1 then
              part <= 0;
            else
              part <= part + 1;
            end if;
          end if;
        end if;
        if reserve = '1' and first = '1' then
          for i in 0 to PARTS - 1 loop
            held(i) <= x_payload((i + 1) * Z_BITS - 1 downto i * Z_BITS);
          end loop;
        end if;
      end if;
    end process;
  end generate;

  wider : if X_LANES < Z_LANES generate
    constant PARTS : positive := Z_LANES / X_LANES;
    signal held : std_logic_vector(Z_BITS - X_BITS - 1 downto 0) := (others => '0');
    signal part : natural range 0 to PARTS - 1 := 0;
    signal last : std_logic;
    signal step : std_logic;
  begin
    last    <= '1' when part = PARTS - 1 else '0';
    x_ready <= room or not last;
    step    <= x_valid and (room or not last);
    reserve <= step and last;
    push    <= reserve;
    z_beat  <= x_payload & held;

    collect : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          part <= 0;
        elsif step = '1' then
          if last = '1' then
            part <= 0;
          else
            part <= part + 1;
          end if;
        end if;
        for i in 0 to PARTS - 2 loop
          if step = '1' and part = i then
            held((i + 1) * X_BITS - 1 downto i * X_BITS) <= x_payload;
          end if;
        end loop;
      end if;
    end process;
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_BITS, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => reserve, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
