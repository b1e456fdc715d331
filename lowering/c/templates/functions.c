/* Functions of the C of a network: it holds those that it calls, each from its comment to the brace that ends it. */

/* A half float of 16 bits. */
static float half_value(uint16_t bits)
{
    const uint32_t exponent = (uint32_t)(bits >> 10) & 31u, fraction = bits & 1023u;
    union {
        uint32_t bits;
        float real;
    } number;
    if (exponent == 0)
        return (float)fraction * ((bits & 0x8000u) ? -0x1p-24f : 0x1p-24f);
    number.bits = (uint32_t)(bits & 0x8000u) << 16 | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13;
    return number.real;
}

/* The nearest half float, half to even. */
static uint16_t half_of(float x)
{
    union {
        float real;
        uint32_t bits;
    } number;
    number.real = x;
    const uint32_t sign = number.bits >> 16 & 0x8000u, size = number.bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (size >> 13 & 1023u));
    if (size >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);
    if (size < 0x38800000u)
        return (uint16_t)(sign | (uint32_t)rintf(fabsf(x) * 0x1p24f));
    return (uint16_t)(sign | (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
}

/* The nearest half float, in single precision. */
static float in_half(float x)
{
    return half_value(half_of(x));
}

/* A number between limits; a NaN stays one. */
static float limited_f(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/* The nearest bfloat16, half to even. */
static float bfloat_of(float x)
{
    union {
        float real;
        uint32_t bits;
    } number;
    if (x != x)
        return x;
    number.real = x;
    number.bits = (number.bits + 0x7fffu + (number.bits >> 16 & 1u)) & 0xffff0000u;
    return number.real;
}

/* A double in single precision, rounded to odd: what it is rounded to next is as if it had been rounded once. */
static float single_of(double x)
{
    union {
        float real;
        uint32_t bits;
    } number;
    number.real = (float)x;
    if (x == x && (double)number.real != x && !isinf(number.real)) {
        if (fabs((double)number.real) > fabs(x))
            number.bits -= 1;
        number.bits |= 1u;
    }
    return number.real;
}

/* The nearest of two limits, or the number between them; the upper one where both leave nothing. */
static int64_t limited(int64_t x, int64_t low, int64_t high)
{
    const int64_t above = x < low ? low : x;
    return above > high ? high : above;
}

/* The nearest whole number, half to even, within limits as above; 0 for a NaN. */
static int64_t nearest(double x, double low, double high)
{
    const double whole = rint(x);
    if (whole != whole)
        return 0;
    const double above = whole < low ? low : whole;
    return (int64_t)(above > high ? high : above);
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
