"""The one family of errors: each says what was given, what is allowed and what to do instead.

Every class is also the built-in error a Python reader expects, so ``except ValueError`` keeps working.
"""

__all__ = [
    "EncodingError",
    "MfmaError",
    "ModifierError",
    "OperandShapeError",
    "OperandTypeError",
    "OptionError",
    "UnknownNameError",
    "near",
]


class MfmaError(Exception):
    """Base class of every error that this package raises on purpose."""


class UnknownNameError(MfmaError, LookupError):
    """No instruction, device, target or format has this name here."""


class ModifierError(MfmaError, ValueError):
    """``cbsz``, ``abid`` or ``blgp`` is not legal for this instruction."""


class OperandShapeError(MfmaError, ValueError):
    """An array has the wrong shape for its operand."""


class OperandTypeError(MfmaError, TypeError):
    """An array has the wrong element type for its operand."""


class OptionError(MfmaError, ValueError):
    """An option has a value outside its range."""


class EncodingError(MfmaError, ValueError):
    """An instruction word or an assembly operand cannot be encoded or decoded."""


def near(given: str, known: list[str]) -> str:
    """Word the near matches of a misspelt name: `` Did you mean a, b or c?``, or nothing."""
    import difflib

    hits = difflib.get_close_matches(given.lower(), known, n=3, cutoff=0.6)
    if not hits:
        return ""
    return f" Did you mean {' or '.join([', '.join(hits[:-1]), hits[-1]] if hits[1:] else hits)}?"
