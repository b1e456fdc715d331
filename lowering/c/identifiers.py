"""Legal, unique C identifiers from names that nobody vouches for, and comments that stay comments."""

from __future__ import annotations

import re

from graphrewrite.hdl.emission import names
from graphrewrite.hdl.emission.names import NameTable

__all__ = ["c_comment", "name_table"]

_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    asm typeof bool true false and or xor not near far main linux unix i386
    c i k arena best chosen depth entry found folded greatest is_left last node reached share sum tree
""".split()  # noqa: SIM905 - a list of words reads better as text
"""Keywords, words that many compilers reserve, and the variables of the loops written here."""

_COUNTED = [f"{stem}{number}" for stem in "ikpv" for number in range(32)]

_LIBRARY = """
    abort abs acos acosh asin asinh atan atan2 atanh atof atoi calloc cbrt ceil clock copysign cos cosh div double_t
    erf erfc errno exit exp exp2 expm1 fabs fdim fgetc file float_t floor fma fmax fmin fmod fopen fprintf fputc fread
    free frexp fwrite getc gamma hypot ilogb index isalpha isdigit isfinite isinf isnan isnormal isspace j0 j1 jn
    labs ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround malloc math_errhandling memcmp memcpy
    memmove memset modf nan nearbyint nextafter nexttoward pow printf putc puts qsort rand random read realloc
    remainder remquo remove rename rint round scalbln scalbn scanf signbit signgam sin sinh size_t sqrt srand stderr
    stdin stdout strcat strchr strcmp strcpy strlen strncmp strtod system tan tanh tgamma time tolower toupper trunc
    write y0 y1 yn ptrdiff_t wchar_t exp10 pow10 drem finite
""".split()  # noqa: SIM905
"""Names of the standard library and of its neighbours."""

_OWN = """
    bfloat_of floored_mod half_of half_value in_half integer_power limited limited_f narrowed nearest
    shifted_half_even shifted_half_up shifted_to_zero single_of wrapped
""".split()  # noqa: SIM905
"""Functions that a program may hold."""


def name_table() -> NameTable:
    """Return what gives names that neither C nor its library has.

    Examples
    --------
    >>> table = name_table()
    >>> [table.give(name) for name in ("conv1/Conv", "int", "exp", "expf", "x*/;", "x", "i0")]
    ['conv1_conv', 'int_2', 'exp_2', 'expf_2', 'x', 'x_2', 'i0_2']
    """
    single = [f"{word}f" for word in _LIBRARY]
    widths = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    types = [f"{width}_{end}" for width in widths for end in ("t", "of")]
    return NameTable([*_WORDS, *_COUNTED, *_LIBRARY, *single, *_OWN, *types])


def c_comment(text: str) -> str:
    r"""Return text that is safe in a C comment: printable ASCII on one line, which neither ends it nor begins one.

    Examples
    --------
    >>> c_comment("a*/ int b; /* é\n"), c_comment("what??/")
    ('a* / int b; / * \\xe9\\n', 'what? ?/')
    """
    return re.sub(r"\?(?=\?)", "? ", names.comment(text).replace("*/", "* /").replace("/*", "/ *"))
