"""The 32 builtins under their C names: placement and arithmetic meet here, and only here.

>>> from mfma.builtins import __builtin_amdgcn_mfma_f32_32x32x8f16 as mfma_f16
>>> mfma_f16.mnemonic
'v_mfma_f32_32x32x8_f16'

Every builtin exists as ``__builtin_amdgcn_mfma_...`` and as ``amdgcn_mfma_...``, because Python mangles names with two
leading underscores inside classes. They take (a, b, c, cbsz, abid, blgp) by position, as in HIP; see `Op`.
"""

from __future__ import annotations

from mfma.builtins.entry import NativeEntry, native_entry
from mfma.builtins.op import Op, op, ops

__all__ = ["NativeEntry", "Op", "native_entry", "op", "ops"]

_BUILTINS = {name: face for face in ops() for name in (face.builtin, face.builtin.removeprefix("__builtin_"))}
globals().update(_BUILTINS)
__all__ += sorted(_BUILTINS)  # noqa: PLE0605


def __getattr__(name: str) -> Op:
    """Refuse a name with the catalogue's reason; the names that exist are plain attributes."""
    if "mfma" in name:
        try:
            return op(name)
        except LookupError as error:
            raise AttributeError(str(error)) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
