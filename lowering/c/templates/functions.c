/* Functions of the C of a network: it holds those that it calls, each from its comment to the brace that ends it. */

/* The nearest of two limits, or the number between them; the upper one where both leave nothing. */
static int64_t limited(int64_t x, int64_t low, int64_t high)
{
    const int64_t above = x < low ? low : x;
    return above > high ? high : above;
}

/* The nearest whole number, half to even, within limits; 0 for a NaN. */
static int64_t nearest(double x, double low, double high)
{
    const double whole = rint(x);
    if (whole != whole)
        return 0;
    return (int64_t)(whole < low ? low : whole > high ? high : whole);
}

/* x / 2**shift, rounded half to even; 0 <= shift <= 63. */
static int64_t shifted_half_even(int64_t x, int32_t shift)
{
    const int64_t whole = x >> shift;
    const int64_t half = shift > 0 ? INT64_C(1) << (shift - 1) : 0;
    const int64_t rest = (int64_t)((uint64_t)x - ((uint64_t)whole << shift));
    return whole + (shift > 0 && rest > half - (whole & 1));
}

/* x / 2**shift, rounded half up. */
static int64_t shifted_half_up(int64_t x, int32_t shift)
{
    const int64_t whole = x >> shift;
    const int64_t half = shift > 0 ? INT64_C(1) << (shift - 1) : 0;
    return whole + (shift > 0 && (int64_t)((uint64_t)x - ((uint64_t)whole << shift)) >= half);
}

/* x / 2**shift, rounded towards zero. */
static int64_t shifted_to_zero(int64_t x, int32_t shift)
{
    const int64_t whole = x >> shift;
    return whole + (x < 0 && (uint64_t)x != (uint64_t)whole << shift);
}

/* x / 2**shift, rounded half to even, and then limited; a negative shift multiplies. */
static int64_t narrowed(int64_t x, int32_t shift, int64_t low, int64_t high)
{
    if (shift > 63)
        return limited(0, low, high);
    if (shift >= 0)
        return limited(shifted_half_even(x, shift), low, high);
    const int32_t up = shift < -62 ? 62 : -shift;
    if (x > high >> up)
        return high;
    if (x <= (low - 1) >> up)
        return limited(low, low, high);
    return limited((int64_t)((uint64_t)x << up), low, high);
}

/* The lowest bits of a number, as a number of that width. */
static int64_t wrapped(int64_t x, int32_t width, int32_t is_signed)
{
    const uint64_t bits = (uint64_t)x & ((UINT64_C(1) << width) - 1);
    const uint64_t sign = (uint64_t)is_signed << (width - 1);
    return (int64_t)((bits ^ sign) - sign);
}

/* base to the power of a whole number, which wraps around; rounded towards zero where the power is negative. */
static uint64_t integer_power(uint64_t base, uint64_t power, int32_t is_negative, int32_t is_signed)
{
    uint64_t result = 1;
    if (is_negative) {
        if (base != 1 && !(is_signed && base == UINT64_MAX))
            return 0;
        power &= 1;
    }
    for (uint64_t left = power; left > 0; left >>= 1) {
        if (left & 1)
            result *= base;
        base *= base;
    }
    return result;
}

/* The remainder of a division that rounds down. */
static double floored_mod(double x, double y)
{
    const double rest = fmod(x, y);
    if (rest != 0)
        return (y < 0) != (rest < 0) ? rest + y : rest;
    return copysign(0.0, y);
}
{% for name, low, high, first, last in conversions %}

/* A real number as {{ name }}: rounded towards zero, the nearest limit beyond them, and 0 for a NaN. */
static {{ name }}_t {{ name }}_of(double x)
{
    if (x != x)
        return 0;
    if (x <= {{ low }})
        return {{ first }};
    return x >= {{ high }} ? {{ last }} : ({{ name }}_t)x;
}
{% endfor %}
