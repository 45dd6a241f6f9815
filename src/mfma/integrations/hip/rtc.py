"""hipRTC: what a program compiles while it runs, by the clang that compiles whole programs.

The source never appears as a file of the program's. The compiler is given a copy in a folder that goes away again,
whose first line says what the program calls its source, so that errors say it too.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path

from mfma.codeobject import load_object
from mfma.codeobject.elf import SymbolKind
from mfma.errors import CodeObjectError, MfmaError
from mfma.integrations.hip.interface import leave

__all__ = ["Program", "RtcError", "RtcStatus", "plain"]


class RtcStatus(IntEnum):
    """``hiprtcResult`` of ``hip/hiprtc.h``, without ``HIPRTC_`` and, but for success, ``ERROR_``."""

    SUCCESS = 0
    OUT_OF_MEMORY = 1
    PROGRAM_CREATION_FAILURE = 2
    INVALID_INPUT = 3
    INVALID_PROGRAM = 4
    INVALID_OPTION = 5
    COMPILATION = 6
    BUILTIN_OPERATION_FAILURE = 7
    NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8
    NO_LOWERED_NAMES_BEFORE_COMPILATION = 9
    NAME_EXPRESSION_NOT_VALID = 10
    INTERNAL_ERROR = 11
    LINKING = 100

    @property
    def hip_name(self) -> str:
        """HIP's name of it."""
        return f"HIPRTC_{'' if self is RtcStatus.SUCCESS else 'ERROR_'}{self.name}"


class RtcError(Exception):
    """A function of hipRTC fails with a status, as AMD's would."""

    def __init__(self, status: RtcStatus) -> None:
        super().__init__(status.name)
        self.status = status


UNNAMED = "CompileSource"
"""What errors call a source without a name."""
USUAL = ("-O3", "-std=c++14", "-D__HIPCC_RTC__")
"""What AMD's hipRTC compiles with, unless the program's options say something else."""
DEVICE = ("--offload-device-only", "--no-gpu-bundle-output")
ARCHITECTURE, NVIDIAS_ARCHITECTURE = "--offload-arch=", "--gpu-architecture="
WITHOUT_EFFECT = ("", "-hip-pch")
RELOCATABLE = "-fgpu-rdc"

DETAIL = "amd_detail/"
BUILT_INS: tuple[tuple[int, str], ...] = (
    (0, "hip_version.h"),
    (0, "hip_runtime.h"),
    (7, DETAIL + "device_library_decls.h"),
    (7, DETAIL + "hip_assert.h"),
    (7, "library_types.h"),
    (7, "driver_types.h"),
    (7, "surface_types.h"),
    (7, DETAIL + "amd_channel_descriptor.h"),
    (7, "texture_types.h"),
    (7, DETAIL + "ockl_image.h"),
    (7, DETAIL + "texture_fetch_functions.h"),
    (7, DETAIL + "texture_indirect_functions.h"),
    (7, DETAIL + "amd_surface_functions.h"),
    (7, DETAIL + "math_fwd.h"),
    (0, DETAIL + "amd_warp_functions.h"),
    (7, DETAIL + "amd_device_functions.h"),
    (6, DETAIL + "amd_warp_sync_functions.h"),
    (6, DETAIL + "hip_cooperative_groups_helper.h"),
    (6, DETAIL + "amd_hip_cooperative_groups.h"),
    (6, DETAIL + "amd_hip_unsafe_atomics.h"),
    (7, DETAIL + "amd_hip_atomic.h"),
    (7, DETAIL + "amd_math_functions.h"),
    (0, "hip_fp16.h"),
    (6, "hip_bfloat16.h"),
)
"""HIP's headers of what every source has without an ``#include``, in an order in which they compile, and from which
version of HIP on they are to be named: in older ones ``hip_runtime.h`` includes them, or they do not compile without
the headers of C++."""
LIMITS = ("CHAR_BIT", "__CHAR_BIT__"), ("INT_MAX", "__INT_MAX__")
"""Macros of C's headers that those use."""
VARIABLE = "__mfma_name_"
"""Begins the names of variables that are initialised with name expressions."""
VARIABLES_START = '#line 1 "name expressions"'
"""What errors call the place of those, line by line."""
NO_WARNINGS = '#pragma clang diagnostic ignored "-Weverything"'


class Program:
    """A source, and what became of it.

    Attributes:
        name: what errors call the source.
        code: the code object; empty before compilation and after one that failed.
        log: what the compiler said.
    """

    def __init__(self, source: bytes, name: str = "", headers: Mapping[str, bytes] | None = None) -> None:
        self.name = name or UNNAMED
        self.code = self.log = b""
        self._source = source
        self._headers = headers or {}
        self._expressions: list[str] = []
        self._lowered: dict[str, ctypes.Array[ctypes.c_char]] = {}

    def add(self, expression: str) -> None:
        """Add an expression of C++ that names a kernel or a variable; templates are instantiated for it."""
        self._expressions.append(expression)

    def lowered(self, expression: str) -> ctypes.Array[ctypes.c_char]:
        """Return the name in the code object of what an expression names, a string of C that stays where it is.

        Raises:
            RtcError: it was not added, names nothing in the code object, or nothing has been compiled.
        """
        found = self._lowered.get(plain(expression))
        if found is None:
            raise RtcError(RtcStatus.NAME_EXPRESSION_NOT_VALID)
        return found

    def compile(self, options: Sequence[str]) -> None:
        """Compile the source with options of clang; ``log`` and, if there is no error, ``code`` are what it gives.

        Raises:
            RtcError: the compiler fails.
        """
        if RELOCATABLE in options:
            leave(
                f"hiprtcCompileProgram with {RELOCATABLE} makes bitcode, which is not implemented by this HIP runtime; "
                "compile the whole source at once."
            )
        self.code, self._lowered = b"", {}
        compiler = _compiler()
        try:
            with tempfile.TemporaryDirectory(prefix="mfma-hiprtc-") as folder:
                self.code, self.log = self._compiled(compiler, _translated(options), Path(folder))
        except OSError as error:
            self.log = os.fsencode(f"mfma: the files of {self.name} cannot be written: {error}\n")
        if self.code:
            self._lower()
        if not self.code:
            raise RtcError(RtcStatus.COMPILATION)

    def _compiled(self, compiler: Sequence[str], options: Sequence[str], folder: Path) -> tuple[bytes, bytes]:
        """Return the code object, nothing after an error, and what the compiler said."""
        source, headers, built_ins, output = (folder / name for name in ("source", "headers", "hiprtc.h", "code"))
        source.write_bytes(self._text())
        built_ins.write_text(_built_ins())
        headers.mkdir()
        for name, content in self._headers.items():
            path = Path(os.path.normpath(headers / name))
            if not path.is_relative_to(headers):
                sentence = f"mfma: the header {name} is outside the folder of the source; give it a name inside.\n"
                return b"", os.fsencode(sentence)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        before = *USUAL, *DEVICE, "-I", str(headers), "-include", str(built_ins)
        command = [*compiler, *before, *options, "-x", "hip", str(source), "-o", str(output)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        # a program that ignores SIGCHLD takes the exit code away; then there is no output after an error
        is_made = done.returncode == 0 and output.exists()
        return output.read_bytes() if is_made else b"", done.stdout + done.stderr

    def _text(self) -> bytes:
        """The source under its name, and a variable for each name expression."""
        quoted = self.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        variables = "".join(
            f'extern "C" __attribute__((device, used)) const auto {VARIABLE}{number} = {expression};\n'
            for number, expression in enumerate(self._expressions)
        )
        after = f"\n{NO_WARNINGS}\n{VARIABLES_START}\n{variables}" if variables else ""
        return os.fsencode(f'#line 1 "{quoted}"\n') + self._source + os.fsencode(after)

    def _lower(self) -> None:
        """Find what the variables of the name expressions point to; keep no code that nothing here could run."""
        try:
            code = load_object(self.code)
            image = code.relocated(0)
        except CodeObjectError as error:
            self.code = b""
            self.log += f"mfma: {error}\n".encode()
            return
        kinds = SymbolKind.OBJECT, SymbolKind.FUNC  # where both have an address, the name is that of the function
        placed = [symbol for symbol in code.symbols if symbol.defined and VARIABLE not in symbol.name]
        names = {symbol.address: symbol.name for kind in kinds for symbol in placed if symbol.kind is kind}
        for number, expression in enumerate(self._expressions):
            variable = code.objects.get(f"{VARIABLE}{number}")
            if variable is not None and variable.size == 8:
                target = int.from_bytes(image[variable.address : variable.address + 8], "little")
                if target in names:
                    self._lowered[plain(expression)] = ctypes.create_string_buffer(os.fsencode(names[target]))


def plain(expression: str) -> str:
    """Return a name expression without what does not distinguish it from others: white space, and a ``&`` before it.

    >>> plain("& scale<unsigned int, 3>")
    'scale<unsignedint,3>'
    """
    return "".join(expression.split()).removeprefix("&")


def _compiler() -> list[str]:
    from mfma.integrations.hip.compiler import command  # most programs never compile

    try:
        return command()
    except MfmaError as error:
        leave(f"hipRTC cannot compile: {error}")


def _translated(options: Sequence[str]) -> list[str]:
    """Options as clang takes them, with an architecture."""
    words = [word for word in options if word not in WITHOUT_EFFECT]
    words = [
        ARCHITECTURE + word.removeprefix(NVIDIAS_ARCHITECTURE) if word.startswith(NVIDIAS_ARCHITECTURE) else word
        for word in words
    ]
    is_named = any(word.startswith(ARCHITECTURE) for word in words)
    return words if is_named else [*words, f"{ARCHITECTURE}gfx942"]


def _built_ins() -> str:
    """Text of a header that includes `BUILT_INS`."""
    includes = (
        f"#if __has_include(<hip/{name}>){f' && HIP_VERSION_MAJOR >= {since}' if since else ''}\n"
        f"#include <hip/{name}>\n#endif\n"
        for since, name in BUILT_INS
    )
    before = (f'#pragma push_macro("{name}")\n#undef {name}\n#define {name} {value}\n' for name, value in LIMITS)
    after = (f'#pragma pop_macro("{name}")\n' for name, _ in LIMITS)
    return "".join((*before, *includes, *after))
