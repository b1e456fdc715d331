-- lanes: how numbers travel in a payload.
--
-- A payload holds lane 0 in its lowest bits. A lane is a two's complement or an unsigned number of WIDTH bits.
-- Up to 31 bits a lane reads as an integer, which simulates fast; a lane of any width reads as a `signed` with one bit
-- more than the lane, so that signed and unsigned lanes compute alike.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

package lanes is

  -- '1' if the condition holds.
  function to_std_logic(condition : boolean) return std_logic;

  -- Bits of all numbers below a bound; levels of a tree of pairs with so many leaves.
  function bits_below(bound : positive) return natural;

  -- The least power of two that is not below a number: the depth of a memory that holds so many words.
  function memory_depth(words : positive) return positive;

  -- Least and greatest integer of `width` bits; width is at most 31.
  function least(width : positive; is_signed : boolean) return integer;
  function greatest(width : positive; is_signed : boolean) return integer;

  -- Lane `index` of a payload, as a signed of width + 1 bits.
  function lane(payload : std_logic_vector; index : natural; width : positive; is_signed : boolean) return signed;

  -- Lane `index` of a payload, as an integer; width is at most 31.
  function number(payload : std_logic_vector; index : natural; width : positive; is_signed : boolean) return integer;

  -- The lowest `width` bits of a number.
  function low_bits(value : signed; width : positive) return std_logic_vector;
  function low_bits(value : integer; width : positive) return std_logic_vector;

  -- upper * 2**24 + lower: constants that exceed an integer.
  function long(upper, lower : integer; width : positive) return signed;

  -- value / 2**places, rounded half to even; negative `places` shift left.
  -- The result is as wide as the value, which must hold it: at least two bits more than either needs.
  function rounded(value : signed; places : integer) return signed;

  -- The value, or the bound that it exceeds.
  function saturated(value, low, high : signed) return signed;

end package;

package body lanes is

  function to_std_logic(condition : boolean) return std_logic is
  begin
    if condition then
      return '1';
    end if;
    return '0';
  end function;

  function bits_below(bound : positive) return natural is
    variable result : natural;
  begin
    result := 0;
    for i in 0 to 30 loop
      if 2 ** i < bound then
        result := i + 1;
      end if;
    end loop;
    return result;
  end function;

  function memory_depth(words : positive) return positive is
  begin
    return 2 ** bits_below(words);
  end function;

  function least(width : positive; is_signed : boolean) return integer is
  begin
    if is_signed then
      -- Not -(2 ** (width - 1)): GHDL 2.0 loses that sign.
      return -1 - (2 ** (width - 1) - 1);
    end if;
    return 0;
  end function;

  function greatest(width : positive; is_signed : boolean) return integer is
  begin
    if is_signed then
      return 2 ** (width - 1) - 1;
    end if;
    return (2 ** (width - 1) - 1) + 2 ** (width - 1);
  end function;

  function lane(payload : std_logic_vector; index : natural; width : positive; is_signed : boolean) return signed is
    variable result : signed(width downto 0);
  begin
    result(width - 1 downto 0) := signed(payload((index + 1) * width - 1 downto index * width));
    if is_signed then
      result(width) := result(width - 1);
    else
      result(width) := '0';
    end if;
    return result;
  end function;

  function number(payload : std_logic_vector; index : natural; width : positive; is_signed : boolean) return integer is
  begin
    if is_signed then
      return to_integer(signed(payload((index + 1) * width - 1 downto index * width)));
    end if;
    return to_integer(unsigned(payload((index + 1) * width - 1 downto index * width)));
  end function;

  function low_bits(value : signed; width : positive) return std_logic_vector is
    variable wide : signed(value'length - 1 downto 0);
  begin
    wide := value;
    return std_logic_vector(wide(width - 1 downto 0));
  end function;

  function low_bits(value : integer; width : positive) return std_logic_vector is
  begin
    return low_bits(to_signed(value, width + 1), width);
  end function;

  function long(upper, lower : integer; width : positive) return signed is
    variable wide : signed(55 downto 0);
  begin
    wide := (others => '0');
    wide(55 downto 24) := to_signed(upper, 32);
    wide := wide + to_signed(lower, 32);
    if width > 56 then
      return resize(wide, width);
    end if;
    return wide(width - 1 downto 0);
  end function;

  function rounded(value : signed; places : integer) return signed is
    constant WIDTH : positive := value'length;
    variable wide : signed(WIDTH - 1 downto 0);
    variable half : signed(WIDTH - 1 downto 0);
    variable odd : signed(WIDTH - 1 downto 0);
    variable result : signed(WIDTH - 1 downto 0);
  begin
    wide := value;
    result := wide;
    if places > 0 then
      -- Just below one half; an odd quotient lifts it to one half, so that ties go to the even neighbour.
      half := (others => '0');
      for i in 0 to WIDTH - 1 loop
        if i < places - 1 then
          half(i) := '1';
        end if;
      end loop;
      odd := (0 => wide(places), others => '0');
      wide := wide + half + odd;
      result := resize(wide(WIDTH - 1 downto places), WIDTH);
    elsif places < 0 then
      result := (others => '0');
      result(WIDTH - 1 downto -places) := wide(WIDTH - 1 + places downto 0);
    end if;
    return result;
  end function;

  function saturated(value, low, high : signed) return signed is
  begin
    if value < low then
      return low;
    elsif value > high then
      return high;
    end if;
    return value;
  end function;

end package body;
