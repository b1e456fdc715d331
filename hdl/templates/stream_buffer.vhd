-- stream_buffer: the output side of every component, a first-in first-out store of CAPACITY beats.
--
-- Generics: WIDTH     bits of a payload
--           CAPACITY  beats that are reserved, stored, or being offered
-- Ports:    reserve   takes a free slot; only while `room` is '1'
--           room      a slot is free; a function of registers
--           push      stores `payload` in a slot reserved in this cycle or earlier
--           z_...     the stream; a beat is offered from the cycle after its push on, in order
--
-- A slot is free again in the cycle after its beat left. Nothing here leads from z_ready to `room` combinationally.
-- Up to four beats are registers in a ring, with one multiplexer after them; more are a memory with a synchronous read,
-- which synthesis maps to block RAM.

library ieee;
use ieee.std_logic_1164.all;
use work.lanes.all;

entity stream_buffer is
  generic (
    WIDTH    : positive;
    CAPACITY : positive
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    reserve   : in  std_logic;
    room      : out std_logic;
    push      : in  std_logic;
    payload   : in  std_logic_vector(WIDTH - 1 downto 0);
    z_payload : out std_logic_vector(WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );

  function generics_are_legal return boolean is
  begin
    assert WIDTH > 0 and CAPACITY > 0 report "stream_buffer: WIDTH and CAPACITY must be positive" severity failure;
    return true;
  end function;

  constant LEGAL : boolean := generics_are_legal;  -- elaborated before the architecture
end entity;

architecture rtl of stream_buffer is
  constant REGISTERS : positive := 4;

  signal reserved : natural range 0 to CAPACITY := 0;
  signal stored   : natural range 0 to CAPACITY := 0;
  signal offered  : std_logic;
  signal leaves   : std_logic;
begin

  room    <= '1' when reserved /= CAPACITY else '0';
  offered <= '1' when stored /= 0 else '0';
  leaves  <= offered and z_ready;
  z_valid <= offered;

  count : process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        reserved <= 0;
        stored   <= 0;
      else
        if reserve = '1' and leaves = '0' then
          reserved <= reserved + 1;
        elsif reserve = '0' and leaves = '1' then
          reserved <= reserved - 1;
        end if;
        if push = '1' and leaves = '0' then
          stored <= stored + 1;
        elsif push = '0' and leaves = '1' then
          stored <= stored - 1;
        end if;
      end if;
    end if;
  end process;

  small : if CAPACITY <= REGISTERS generate
    type slots_t is array (0 to CAPACITY - 1) of std_logic_vector(WIDTH - 1 downto 0);
    signal slots       : slots_t := (others => (others => '0'));
    signal write_index : natural range 0 to CAPACITY - 1 := 0;
    signal read_index  : natural range 0 to CAPACITY - 1 := 0;
  begin

    z_payload <= slots(read_index);

    store : process (clk)
    begin
      if rising_edge(clk) then
        for i in slots'range loop
          if push = '1' and write_index = i then
            slots(i) <= payload;
          end if;
        end loop;
        if rst = '1' then
          write_index <= 0;
          read_index  <= 0;
        else
          if push = '1' then
            if write_index = CAPACITY - 1 then
              write_index <= 0;
            else
              write_index <= write_index + 1;
            end if;
          end if;
          if leaves = '1' then
            if read_index = CAPACITY - 1 then
              read_index <= 0;
            else
              read_index <= read_index + 1;
            end if;
          end if;
        end if;
      end if;
    end process;

  end generate;

  large : if CAPACITY > REGISTERS generate
    type memory_t is array (0 to memory_depth(CAPACITY) - 1) of std_logic_vector(WIDTH - 1 downto 0);
    signal memory      : memory_t := (others => (others => '0'));
    signal write_index : natural range 0 to CAPACITY - 1 := 0;
    signal read_index  : natural range 0 to CAPACITY - 1 := 0;
    signal following   : natural range 0 to CAPACITY - 1;
    signal read_word   : std_logic_vector(WIDTH - 1 downto 0) := (others => '0');
    signal last_word   : std_logic_vector(WIDTH - 1 downto 0) := (others => '0');
    signal bypassed    : std_logic := '0';
  begin

    -- The memory reads ahead: its output register always holds the beat that is offered next. A beat that is written
    -- while its own slot is being read goes past the memory.
    following <= read_index when leaves = '0' else 0 when read_index = CAPACITY - 1 else read_index + 1;
    z_payload <= last_word when bypassed = '1' else read_word;

    storage : process (clk)
    begin
      if rising_edge(clk) then
        read_word <= memory(following);
        if push = '1' then
          memory(write_index) <= payload;
          last_word <= payload;
        end if;
      end if;
    end process;

    address : process (clk)
    begin
      if rising_edge(clk) then
        if rst = '1' then
          read_index  <= 0;
          write_index <= 0;
          bypassed    <= '0';
        else
          read_index <= following;
          bypassed   <= '0';
          if push = '1' then
            if write_index = following then
              bypassed <= '1';
            end if;
            if write_index = CAPACITY - 1 then
              write_index <= 0;
            else
              write_index <= write_index + 1;
            end if;
          end if;
        end if;
      end if;
    end process;

  end generate;

end architecture;
