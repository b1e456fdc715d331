"""The instructions of a rule's function, in which is looked up what it says and what it names."""

import dis
from functools import lru_cache
from types import CodeType

__all__ = ["steps_of"]


@lru_cache(maxsize=32)
def steps_of(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of a function, which several questions about a rule look through one after the other.

    Parameters
    ----------
    code : code
        ``function.__code__``.

    Returns
    -------
    tuple of Instruction

    Examples
    --------
    >>> [step.opname for step in steps_of((lambda x: x).__code__)][-1]
    'RETURN_VALUE'
    """
    return tuple(dis.get_instructions(code))
