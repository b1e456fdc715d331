-- multiply: the exact product of two streams, z = x * y lane by lane.
--
-- Generics: LANES               lanes of x, y and z
--           X_WIDTH, X_SIGNED   format of a lane of x
--           Y_WIDTH, Y_SIGNED   format of a lane of y
--           Z_WIDTH             bits of a lane of z; every product fits
--           STAGES              pipeline stages: 2 splits after products, 3 also before them
--           CAPACITY            beats in the output buffer
-- Schedule: one step a pair of beats, which takes both and gives the product, visible STAGES cycles later.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.lanes.all;

entity multiply is
  generic (
    LANES    : positive;
    X_WIDTH  : positive;
    X_SIGNED : boolean;
    Y_WIDTH  : positive;
    Y_SIGNED : boolean;
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
    y_payload : in  std_logic_vector(LANES * Y_WIDTH - 1 downto 0);
    y_valid   : in  std_logic;
    y_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert STAGES <= 3 report "multiply: STAGES must be at most 3" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of multiply is
  constant PRODUCT : positive := X_WIDTH + Y_WIDTH + 2;

  type products_t is array (0 to LANES - 1) of signed(PRODUCT - 1 downto 0);

  signal x_operands : std_logic_vector(LANES * X_WIDTH - 1 downto 0);
  signal y_operands : std_logic_vector(LANES * Y_WIDTH - 1 downto 0);
  signal products   : products_t;
  signal results    : products_t;
  signal under_way  : std_logic_vector(0 to STAGES - 1);
  signal room       : std_logic;
  signal step       : std_logic;
  signal push       : std_logic;
  signal z_beat     : std_logic_vector(LANES * Z_WIDTH - 1 downto 0);
begin

  x_ready <= room and y_valid;
  y_ready <= room and x_valid;
  step    <= room and x_valid and y_valid;

  under_way(0) <= step;
  push         <= under_way(STAGES - 1);

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

  stage_before_products : if STAGES > 2 generate
    x_operands <= x_payload when rising_edge(clk);
    y_operands <= y_payload when rising_edge(clk);
  end generate;
  no_stage_before_products : if STAGES <= 2 generate
    x_operands <= x_payload;
    y_operands <= y_payload;
  end generate;

  products_of_lanes : for c in 0 to LANES - 1 generate
    products(c) <= lane(x_operands, c, X_WIDTH, X_SIGNED) * lane(y_operands, c, Y_WIDTH, Y_SIGNED);
  end generate;

  stage_after_products : if STAGES > 1 generate
    results <= products when rising_edge(clk);
  end generate;
  no_stage_after_products : if STAGES <= 1 generate
    results <= products;
  end generate;

  payload : for c in 0 to LANES - 1 generate
    z_beat((c + 1) * Z_WIDTH - 1 downto c * Z_WIDTH) <= low_bits(resize(results(c), PRODUCT + Z_WIDTH), Z_WIDTH);
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * Z_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => push, payload => z_beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
