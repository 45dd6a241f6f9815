"""Names of kernels in C++, against LLVM's demangler; and kernels found by them."""

import re
import subprocess

import pytest

import mfma
from corpus.case import OBJECTS
from hip_tools import tool
from mfma.cli import main
from mfma.codeobject import demangle, load_object
from mfma.codeobject.demangle import demangled, meant

GEMM = OBJECTS / "hip_gemm_f32_32x32x8f16.co"
PADDED = "matrix_multiply_generic<DoubleBufferTilePolicy<64, 64, 16, 1>, MfmaCdna3F16Policy>"
NAMES = {
    "_Z4axpyfPKfPf": ("axpy(float, float const*, float*)", ["axpy"]),
    "_ZN12_GLOBAL__N_11kEi": ("(anonymous namespace)::k(int)", ["(anonymous namespace)::k"]),
    "_ZN2ns1kILi3EEEvPNS_1TIiEE": ("void ns::k<3>(ns::T<int>*)", ["ns::k<3>", "ns::k"]),
    "_Z1kIPFviEEvT_": ("void k<void (*)(int)>(void (*)(int))", ["k<void (*)(int)>", "k"]),
    "_Z3mulPKDF16_PDF16_S0_DF16b": ("mul(_Float16 const*, _Float16*, _Float16 const*, std::bfloat16_t)", ["mul"]),
    "_Z3twoI1AIS0_IiEEEvT_": ("void two<A<A<int>>>(A<A<int>>)", ["two<A<A<int> > >", "two"]),
    "kernel": ("kernel", []),
    "_Zero": ("_Zero", []),
    "_Z": ("_Z", []),
    "_Zé": ("_Zé", []),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_spellings(name):
    whole, shorter = NAMES[name]
    assert demangled(name) == whole
    for spelling in (whole, *shorter):
        assert meant(spelling, NAMES) == [name]


@pytest.mark.long
def test_llvm_spells_them_alike():
    names = [name for name in NAMES if name.isascii()]
    for path in OBJECTS.glob("*.co"):
        names += load_object(path).kernels
    done = subprocess.run([tool("llvm-cxxfilt-22")], input="\n".join(names), capture_output=True, text=True, check=True)
    assert list(map(demangled, names)) == done.stdout.splitlines()


def test_without_a_library_names_stay(monkeypatch):
    monkeypatch.setattr(demangle, "LIBRARIES", ("libnothing.so.0",))
    demangle._demangler.cache_clear()
    try:
        assert demangled.__wrapped__("_Z4axpyfPKfPf") == "_Z4axpyfPKfPf"
    finally:
        monkeypatch.undo()
        demangle._demangler.cache_clear()


def test_a_kernel_is_found_by_its_name_in_the_source():
    module = mfma.load(GEMM)
    names = {str(module[name].kernel): name for name in module}
    (name,) = (symbol for text, symbol in names.items() if PADDED in text)
    assert module[PADDED].kernel.name == name
    with pytest.raises(mfma.UnknownNameError) as caught:
        module["matrix_multiply_generic"]
    assert (
        str(caught.value)
        == f"'matrix_multiply_generic' may be {' or '.join(names)}; give its template arguments or parameters as well."
    )
    with pytest.raises(mfma.UnknownNameError, match=r"^No kernel 'multiply'; there are void matrix_multiply_generic<"):
        module["multiply"]


def test_on_the_command_line(capsys):
    assert main(["disasm", str(GEMM), "--kernel", PADDED], standalone_mode=False) in (None, 0)
    assert re.match(r"\n?[0-9a-f]{16} <_Z23matrix_multiply_genericI22Double", capsys.readouterr().out)


def test_the_name_of_a_symbol_stands_for_no_other():
    assert meant("fill", ["_Z4filli", "fill"]) == ["fill"]
    assert meant("fill(int)", ["_Z4filli", "fill"]) == ["_Z4filli"]
