"""The one family of errors: each says what was given, what is allowed and what to do instead.

Every class is also the built-in error a Python reader expects, so ``except ValueError`` keeps working.
"""

__all__ = [
    "CodeObjectError",
    "DecodeError",
    "EncodingError",
    "EvidenceError",
    "KernelError",
    "LaunchError",
    "MemoryFault",
    "MfmaError",
    "MissingToolError",
    "ModifierError",
    "OperandShapeError",
    "OperandTypeError",
    "OptionError",
    "UnknownNameError",
    "WatchdogError",
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


class CodeObjectError(MfmaError, ValueError):
    """A file is no code object, is damaged, or is for another GPU."""


class EncodingError(MfmaError, ValueError):
    """An instruction word or an assembly operand cannot be encoded or decoded."""


class DecodeError(EncodingError):
    """Bytes are no instruction of gfx942."""


class EvidenceError(MfmaError, ValueError):
    """A launch used an instruction whose bits are less well established than was asked for."""


class LaunchError(MfmaError, ValueError):
    """A launch cannot begin: its arguments, geometry or code do not fit. Nothing has run."""


class KernelError(MfmaError, RuntimeError):
    """A running kernel did something that ends the launch."""


class WatchdogError(KernelError, TimeoutError):
    """A launch ran longer than it was allowed to."""


class MemoryFault(MfmaError, RuntimeError):  # noqa: N818, the GPU's own word for it
    """A kernel accessed memory that it must not; nothing of the access was carried out.

    ``lane`` is the first lane that did (None for the wave's own accesses), ``address`` its device address or, in LDS
    and scratch, its offset; ``bytes_`` the size of the access, ``reason`` what is wrong with it and ``nearest`` the
    buffer nearest to it, if there is one.
    """

    def __init__(
        self, message: str, *, lane: int | None, address: int, bytes_: int, reason: str, nearest: object = None
    ) -> None:
        super().__init__(message)
        self.lane = lane
        self.address = address
        self.bytes_ = bytes_
        self.reason = reason
        self.nearest = nearest


class MissingToolError(MfmaError, LookupError):
    """A compiler or library that a feature needs is not installed; the message has the command that installs it."""


def near(given: str, known: list[str]) -> str:
    """Word the near matches of a misspelt name: `` Did you mean a, b or c?``, or nothing."""
    import difflib

    hits = difflib.get_close_matches(given.lower(), known, n=3, cutoff=0.6)
    if not hits:
        return ""
    return f" Did you mean {' or '.join([', '.join(hits[:-1]), hits[-1]] if hits[1:] else hits)}?"
