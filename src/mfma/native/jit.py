"""Machine code from LLVM IR, kept on disk so that every later start is instant.

A kernel is cached under a digest of everything that decides its machine code: the source text of the modules
that write it, its parameters, the CPU and the versions of llvmlite and LLVM. ``MFMA_CPU`` (or, for people who
know it from numba, ``NUMBA_CPU_NAME``) chooses another target than the host, ``generic`` for instance;
``MFMA_CACHE_DIR`` another folder than ``$XDG_CACHE_HOME/mfma``.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

__all__ = [
    "cache_dir", "cache_key", "compile_object", "converts_half", "define_symbol", "function_address", "host",
    "library", "load_object", "read_object", "vector_bits", "write_object",
]  # fmt: skip

_LOCK = threading.RLock()
_ENGINES: list[llvm.ExecutionEngine] = []
DIGEST_BYTES = 32


@functools.cache
def host() -> tuple[str, str]:
    """CPU name and feature string that code is compiled for."""
    name = os.environ.get("MFMA_CPU") or os.environ.get("NUMBA_CPU_NAME")
    if name and name != "host":
        return name, ""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.cache
def vector_bits() -> int:
    """Width of the target's vector registers: kernels choose their register tiles by it, never their results."""
    # A CPU that is given by name alone has no feature list, so LLVM tells by the registers it adds in.
    module = ir.Module("add")
    module.triple = _target_machine().triple
    wide = ir.VectorType(ir.FloatType(), 16)
    function = ir.Function(module, ir.FunctionType(wide, [wide, wide]), "add")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.fadd(*function.args))
    assembly = _target_machine().emit_assembly(llvm.parse_assembly(str(module)))
    return 512 if "zmm" in assembly else 256 if "ymm" in assembly else 128


@functools.cache
def converts_half() -> bool:
    """Whether the target converts between float16 and float32 by itself, and not by calling a library."""
    text = "define <8 x half> @f(<8 x float> %x) {\n %y = fptrunc <8 x float> %x to <8 x half>\n ret <8 x half> %y\n}"
    return "__truncsfhf2" not in _target_machine().emit_assembly(llvm.parse_assembly(text))


def cache_dir() -> Path | None:
    """Folder of the compiled kernels, which may not exist yet; None if none is chosen and the user has no home."""
    chosen = os.environ.get("MFMA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    with contextlib.suppress(RuntimeError):  # containers run as users that nobody has entered
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mfma"
    return None


@functools.cache
def _target_machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = host()
    return llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features, opt=3, jit=True)


@functools.cache
def _source_digest(module: str) -> bytes:
    path = importlib.import_module(module).__file__
    return hashlib.sha256(Path(str(path)).read_bytes()).digest()


def compile_object(module: str, level: int = 3, loops: bool = True) -> bytes:
    """Machine code of a module given as LLVM's text; at ``level`` 0 of optimisation only the code generator's.

    Without ``loops`` none is vectorised or unrolled: that takes long and gains nothing where they are short.
    """
    with _LOCK:
        machine = _target_machine()
        parsed = llvm.parse_assembly(module)
        parsed.triple, parsed.data_layout = machine.triple, str(machine.target_data)
        parsed.verify()
        if level:
            options = llvm.create_pipeline_tuning_options(speed_level=level)
            options.loop_vectorization = options.loop_unrolling = loops
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(parsed, builder)
        return bytes(machine.emit_object(parsed))


def read_object(path: Path) -> bytes | None:
    """Give the object code of an intact cache file; a damaged or foreign one counts as missing."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    code = content[DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == content[:DIGEST_BYTES] else None


def write_object(path: Path, code: bytes) -> None:
    """Store atomically, so that processes that compile the same kernel at once do not see half a file."""
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, nothing else
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def function_address(
    name: str, parameters: Sequence[object], write: Callable[[ir.Module], object], sources: Sequence[str]
) -> int:
    """Address of the native function ``name``.

    ``write`` adds the function to an empty module; it runs only when no machine code is cached for the
    ``parameters`` and the source text of the modules ``sources`` (plus this package's own).
    """
    return library(name, parameters, write, sources)(name)


def library(
    name: str,
    parameters: Sequence[object],
    write: Callable[[ir.Module], object],
    sources: Sequence[str],
    loops: bool = True,
) -> Callable[[str], int]:
    """Addresses by name of all functions that ``write`` adds to a module; see `function_address`."""
    folder = cache_dir()
    path = folder / f"{name}-{cache_key((name, loops, *parameters), sources)}.o" if folder else None
    with _LOCK:
        code = read_object(path) if path else None
        if code is None:
            module = ir.Module(name)
            module.triple = _target_machine().triple
            module.data_layout = str(_target_machine().target_data)
            write(module)
            code = compile_object(str(module), loops=loops)
            if path:
                write_object(path, code)
        return load_object(code)


def cache_key(parameters: Sequence[object], sources: Sequence[str]) -> str:
    """Digest of all that decides machine code: parameters, the text of the modules ``sources``, CPU and LLVM."""
    key = hashlib.sha256(b"".join(map(_source_digest, (__name__, "mfma.native.simd", *sources))))
    key.update(repr((tuple(parameters), host(), llvmlite.__version__, llvm.llvm_version_info)).encode())
    return key.hexdigest()[:32]


def load_object(*codes: bytes) -> Callable[[str], int]:
    """Load machine code for as long as the process runs; returns addresses by name."""
    with _LOCK:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        for code in codes:
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _ENGINES.append(engine)  # the code lives as long as its engine
    return lambda name: int(engine.get_function_address(name))


def define_symbol(name: str, address: int) -> None:
    """Let machine code that is loaded from now on call an address by name."""
    llvm.add_symbol(name, address)
