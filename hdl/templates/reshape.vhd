-- reshape: the same numbers, in row-major order of a tensor whose first axis is the channels, under another shape.
--
-- Generics: X_LANES, X_FOLDS, X_POSITIONS   lanes of a beat of x, beats of a position, positions of a frame
--           Z_LANES, Z_FOLDS, Z_POSITIONS   of z; as many numbers
--           IN_ORDER                        the beats of x are those of z
--           ELEMENT_WIDTH                   bits of a lane
--           CAPACITY                        beats in the output buffer
-- Schedule: in order one step a beat, which takes it and gives it. Else, with as many beats in a frame of x and of z as
--           FOLDS * POSITIONS, one step fewer than both: the first steps take a beat each, the last give one each, so
--           that the step that takes the last beat gives the first.
--
-- Lane l of beat b holds number (b mod FOLDS * LANES + l) * POSITIONS + b / FOLDS of a frame.

library ieee;
use ieee.std_logic_1164.all;

entity reshape is
  generic (
    X_LANES       : positive;
    X_FOLDS       : positive := 1;
    X_POSITIONS   : positive;
    Z_LANES       : positive;
    Z_FOLDS       : positive := 1;
    Z_POSITIONS   : positive;
    IN_ORDER      : boolean := false;
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
    assert X_LANES * X_FOLDS * X_POSITIONS = Z_LANES * Z_FOLDS * Z_POSITIONS
      report "reshape: a frame of z must have as many numbers as one of x" severity failure;
    assert X_LANES = Z_LANES or not IN_ORDER
      report "reshape: X_LANES and Z_LANES must be equal where beats keep their order" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of reshape is
  signal room   : std_logic;
  signal push   : std_logic;
  signal z_beat : std_logic_vector(Z_LANES * ELEMENT_WIDTH - 1 downto 0);
begin

  passed : if IN_ORDER generate
    x_ready <= room;
    push    <= room and x_valid;
    z_beat  <= x_payload;
  end generate;

  transposed : if not IN_ORDER generate
    constant X_BEATS : positive := X_FOLDS * X_POSITIONS;
    constant Z_BEATS : positive := Z_FOLDS * Z_POSITIONS;
    constant STEPS   : positive := X_BEATS + Z_BEATS - 1;
    constant FRAME   : positive := X_LANES * X_BEATS * ELEMENT_WIDTH;

    function place(lane, beat, lanes, folds, positions : natural) return natural is
    begin
      return ((beat mod folds) * lanes + lane) * positions + beat / folds;
    end function;

    signal index   : natural range 0 to STEPS - 1 := 0;
    signal taking  : std_logic;
    signal giving  : std_logic;
    signal free    : std_logic;
    signal step    : std_logic;
    signal stored  : std_logic_vector(FRAME - 1 downto 0) := (others => '0');
  begin

    taking  <= '1' when index <= X_BEATS - 1 else '0';
    giving  <= '1' when index >= X_BEATS - 1 else '0';
    free    <= room or not giving;
    x_ready <= taking and free;
    step    <= free and (x_valid or not taking);
    push    <= step and giving;

    position : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          index <= 0;
        elsif step = '1' then
          if index = STEPS - 1 then
            index <= 0;
          else
            index <= index + 1;
          end if;
        end if;
      end if;
    end process;

    -- Each number stands at its index in the frame.
    store : process (clk)
      variable at : natural;
    begin
      if rising_edge(clk) then
        if step = '1' then
          for b in 0 to X_BEATS - 1 loop
            if index = b and (b < X_BEATS - 1 or Z_BEATS > 1) then
              for l in 0 to X_LANES - 1 loop
                at := place(l, b, X_LANES, X_FOLDS, X_POSITIONS) * ELEMENT_WIDTH;
                stored(at + ELEMENT_WIDTH - 1 downto at)
                  <= x_payload((l + 1) * ELEMENT_WIDTH - 1 downto l * ELEMENT_WIDTH);
              end loop;
            end if;
          end loop;
        end if;
      end if;
    end process;

    -- The first beat of z may hold numbers of the last one of x, which comes in the same step.
    choose : process (stored, x_payload, index)
      variable number : natural;
      variable from   : natural;
    begin
      z_beat <= (others => '0');
      for b in 0 to Z_BEATS - 1 loop
        if index = X_BEATS - 1 + b then
          for l in 0 to Z_LANES - 1 loop
            number := place(l, b, Z_LANES, Z_FOLDS, Z_POSITIONS);
            from   := (number / X_POSITIONS) mod X_LANES;
            if b = 0 and number = place(from, X_BEATS - 1, X_LANES, X_FOLDS, X_POSITIONS) then
              z_beat((l + 1) * ELEMENT_WIDTH - 1 downto l * ELEMENT_WIDTH)
                <= x_payload((from + 1) * ELEMENT_WIDTH - 1 downto from * ELEMENT_WIDTH);
            else
              z_beat((l + 1) * ELEMENT_WIDTH - 1 downto l * ELEMENT_WIDTH)
                <= stored((number + 1) * ELEMENT_WIDTH - 1 downto number * ELEMENT_WIDTH);
            end if;
          end loop;
        end if;
      end loop;
    end process;

  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => Z_LANES * ELEMENT_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => push, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
