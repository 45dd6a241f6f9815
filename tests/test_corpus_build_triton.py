"""The Triton half of the corpus: objects, launches and sources belong together."""

import io
import re

import msgpack
import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from corpus.build_triton import BUILDS, OBJECTS
from corpus.cases_triton import CASES
from corpus.cases_triton_common import launch_facts
from corpus.cases_triton_dot import GEMMS
from hip_tools import missing

VERSION = "3.9.0"
each_build = pytest.mark.parametrize("name", BUILDS)


def sections(code: bytes) -> dict[str, bytes]:
    """What a device loads: machine code and the kernel descriptor."""
    elf = ELFFile(io.BytesIO(code))
    return {name: elf.get_section_by_name(name).data() for name in (".text", ".rodata")}


def kernel_of(code: bytes) -> dict:
    """The only kernel's metadata."""
    (note,) = ELFFile(io.BytesIO(code)).get_section_by_name(".note").iter_notes()
    (kernel,) = msgpack.unpackb(note["n_descdata"])["amdhsa.kernels"]
    return kernel


def committed(name: str) -> bytes:
    return (OBJECTS / f"triton_{name}.hsaco").read_bytes()


def test_objects_launches_and_sources_have_the_same_names():
    files = {path.name for path in OBJECTS.glob("triton_*.hsaco")}
    assert files == {f"triton_{name}.hsaco" for name in BUILDS} == {case.object for case in CASES}
    assert list(launch_facts()) == sorted(BUILDS)
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_objects_stay_small():
    assert sum(path.stat().st_size for path in OBJECTS.glob("triton_*.hsaco")) < 1_500_000
    with_lines = {
        name for name in BUILDS if ELFFile(io.BytesIO(committed(name))).get_section_by_name(".debug_line") is not None
    }
    assert with_lines == {name for name, build in BUILDS.items() if build.line_info}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_gives_what_the_kernel_asks_for(case):
    kernel = kernel_of(case.path.read_bytes())
    given = case.arguments()
    assert kernel[".name"] == case.kernel
    assert kernel[".max_flat_workgroup_size"] == case.block[0]
    assert kernel[".group_segment_fixed_size"] == 0
    assert given[-2:] == [None, None]
    visible = [asked for asked in kernel[".args"] if not asked[".value_kind"].startswith("hidden_")]
    for asked, argument in zip(visible, given, strict=True):
        assert (asked[".value_kind"] == "global_buffer") == (argument is None or isinstance(argument, np.ndarray))
        assert asked[".size"] == (argument.itemsize if isinstance(argument, np.generic) else 8)


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=lambda case: case.name)
def test_a_launch_that_does_nothing_fails(case):
    with pytest.raises(AssertionError):
        case.check(case.arguments())


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    try:
        import triton
    except ImportError:
        missing(f"triton {VERSION}")
    if triton.__version__ != VERSION:
        missing(f"triton {VERSION} (there is {triton.__version__})")
    from corpus.build_triton import compiled

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    return compiled


@pytest.mark.long
@each_build
def test_a_rebuild_gives_the_same_code(compiled, name):
    kernel = compiled(BUILDS[name])
    assert sections(kernel.asm["hsaco"]) == sections(committed(name))
    assert kernel_of(kernel.asm["hsaco"]) == kernel_of(committed(name))
    facts = {"kernel": kernel.metadata.name, "warps": kernel.metadata.num_warps, "lds": kernel.metadata.shared}
    assert facts == launch_facts()[name]
    # Null is right for both scratch pointers only because no kernel asks for such memory.
    assert (kernel.metadata.global_scratch_size, kernel.metadata.profile_scratch_size) == (0, 0)


@pytest.mark.long
@pytest.mark.parametrize("row", GEMMS, ids=lambda row: row[0])
def test_the_order_of_k_is_that_of_the_layout(compiled, row):
    import mfma

    name, op, kwidth = row[0], row[4], row[5]
    kernel = compiled(BUILDS[f"gemm_{name}"])
    assert set(re.findall(r"kWidth = (\d+)", kernel.asm["ttgir"])) == {str(kwidth)}
    assert set(re.findall(r"isTransposed = (\w+)", kernel.asm["ttgir"])) == {"true"}
    record = mfma.op(op).record
    # Transposed: the instruction takes B first.
    (wanted,) = (
        other
        for other in mfma.ops()
        if (other.record.a, other.record.b, other.record.out) == (record.b, record.a, record.out)
        and (other.record.m, other.record.n, other.record.k) == (record.m, record.n, record.k)
    )
    used = {text.removeprefix("v_mfma_") for text in re.findall(r"v_mfma\w+", kernel.asm["amdgcn"])}
    assert used == {wanted.mnemonic.removeprefix("v_mfma_")}
