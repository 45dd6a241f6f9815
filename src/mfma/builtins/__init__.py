"""The 32 builtins under their C names: placement and arithmetic meet here, and only here.

>>> from mfma.builtins import __builtin_amdgcn_mfma_f32_32x32x8f16 as mfma_f16
>>> mfma_f16.mnemonic
'v_mfma_f32_32x32x8_f16'

Every builtin exists as ``__builtin_amdgcn_mfma_...`` and as ``amdgcn_mfma_...``, because Python mangles names with two
leading underscores inside classes. They take (a, b, c, cbsz, abid, blgp) by position, as in HIP; see `Op`.
"""

from __future__ import annotations

import sys

from mfma.builtins.entry import NativeEntry, native_entry
from mfma.builtins.op import Op, op, ops

__all__ = ["NativeEntry", "Op", "native_entry", "op", "ops"]

_BUILTINS = {name: face for face in ops() for name in (face.builtin, face.builtin.removeprefix("__builtin_"))}
globals().update(_BUILTINS)
__all__ += sorted(_BUILTINS)  # noqa: PLE0605


def __getattr__(name: str) -> Op:
    """Resolve other spellings and refuse with the catalogue's reason; the C names are plain attributes."""
    if "mfma" not in name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    scope, builtin, rest = name.partition("__builtin_")
    mangled = scope.startswith("_")  # inside class Kernel, Python asks for _Kernel__builtin_...
    try:
        return op(builtin + rest if mangled else name)
    except LookupError as error:
        reason = str(error)
    # `from mfma.builtins import ...` would put an error of its own, without the reason, in an AttributeError's place.
    if sys._getframe(1).f_code.co_name == "_handle_fromlist":
        raise ImportError(reason, name=__name__, path=__file__)
    raise AttributeError(reason)
