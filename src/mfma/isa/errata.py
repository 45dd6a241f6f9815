"""Where the ROCm page and the vendor's tools are wrong or disagree, what is right, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass

from mfma.errors import UnknownNameError, near

__all__ = ["Erratum", "errata", "erratum"]


@dataclass(frozen=True)
class Erratum:
    """One wrong or contradictory statement: ``id`` never changes, ``where`` and ``says`` quote it in short."""

    id: str
    where: str
    says: str
    truth: str
    how_known: str


PAGE = "ROCm page, CDNA3 dense MFMA builtins"
EXAMPLE = "ROCm example, matrix_multiply_cdna3_mfma.hip"
CALCULATOR = "AMD matrix instruction calculator 1.3.2"
CLANG = "clang 19.1.7 and 22.1.8"
LLVM_MC = "llvm-mc 19.1.7 and 22.1.8"

ERRATA = (
    Erratum(
        "page-blocks-packed",
        f"{PAGE}, Accumulator layout",
        "packed inputs: blocks = 64 / M regardless of K",
        "blocks = 64 * e / (M * K) with e elements of A per lane: 1 for f32_32x32x8f16, where the page's formula "
        "gives 2. The scalar formula is the same with e = 1.",
        f"{CALCULATOR}; the accumulator types of the same page; all 32 rows",
    ),
    Erratum(
        "page-blocks-per-tile",
        f"{PAGE}, 32x32 and 16x16 layout",
        "the 32x32 tile uses two blocks, the 16x16 tile four",
        "only the multi-block forms do; most forms have one block and half or a quarter of the registers",
        f"{CALCULATOR}; the accumulator types of the same page",
    ),
    Erratum(
        "page-doubled-k-builtins",
        f"{PAGE}, introduction",
        "the K-doubled variants of BF16 and INT8 do not yet have HIP builtins",
        "they do, and the page lists them further down: the five _1k builtins of bf16, i32_32x32x16_i8 and "
        "i32_16x16x32_i8",
        f"{CLANG} select an instruction for each",
    ),
    Erratum(
        "page-f64-4x4-type",
        f"{PAGE}, FP64-accumulate builtins",
        "FP64 builtins accumulate into v4double registers",
        "f64_4x4x4f64 takes and returns a plain double; only f64_16x16x4f64 has v4double",
        f"{CLANG}: a vector argument is an error; the builtin's own reference page",
    ),
    Erratum(
        "page-peak-formula",
        f"{PAGE}, Instruction throughput",
        "peak = operations / cycles * clock",
        "that is one matrix core; times 4 per compute unit, times the compute units: 1307.4 TFLOPS for f16 on an "
        "MI300X, where the page's formula gives 1.075",
        "AMD's published peaks are met exactly by the full formula",
    ),
    Erratum(
        "page-fp8-encoding",
        f"{PAGE}, FP8 and BF8 matrix inputs",
        "FP8 is E4M3, BF8 is E5M2",
        "on CDNA3 they are the FNUZ encodings: biases 8 and 16, maxima 240 and 57344, 0x80 the only NaN, no infinity, "
        "no -0. The same bits are half the OCP number. CDNA4 uses OCP under the same builtin names.",
        "ROCm page on CDNA3 sparse builtins; MI300X outputs printed by MMA-Sim's probes",
    ),
    Erratum(
        "page-xf32-rounding",
        f"{PAGE}, XF32 matrix inputs, and AMD CDNA3 ISA manual",
        "xf32 rounds each mantissa to 10 bits",
        "the hardware cuts the low 13 bits of A and B, toward zero; a NaN with its payload in those bits becomes an "
        "infinity",
        "MI300X error statistics (jeffdaily/tf32_analysis) are reproduced to every digit by truncation only; MMA-Sim's "
        "random tests; ROCm/rocm-libraries pull 9176",
    ),
    Erratum(
        "page-modifiers-unenforced",
        f"{PAGE}, 1-block layouts",
        "one-block variants do not support cbsz and abid",
        "right, but nothing enforces it: compilers and assemblers encode them. blgp is legal on one-block f32, and "
        "must be 0 on all other one-block forms but f64",
        f"{CALCULATOR}; {CLANG}",
    ),
    Erratum(
        "page-alias-clang-19",
        f"{PAGE}, Register types",
        "using v4float = float [[clang::ext_vector_type(4)]];",
        "clang 19 ignores the attribute there, so that v4float is a float; "
        "typedef float v4float __attribute__((ext_vector_type(4))); works in every version",
        f"{CLANG}",
    ),
    Erratum(
        "reference-blgp-one-block",
        "ROCm reference pages of the one-block f16 and bf16 builtins (shared by all generations)",
        "blgp selects a lane pattern of B",
        "AMD's calculator says that CDNA3 does not support it on these forms (CDNA1 and CDNA2 do). Nobody has "
        "published a measurement; the builtins here refuse it.",
        f"{CALCULATOR} against the pages",
    ),
    Erratum(
        "reference-abid-range",
        "ROCm reference pages, abid",
        "abid is 0 to blocks - 1",
        "abid is 0 to 2**cbsz - 1, so it must be 0 where cbsz is 0",
        f"{CALCULATOR}",
    ),
    Erratum(
        "reference-smfmac-modifiers",
        "ROCm pages on sparse builtins and on common parameters",
        "cbsz and abid are unused on SMFMAC (sparse page); they act as on dense instructions (common page)",
        "the calculator says that they choose the field of the index register: abid if cbsz is 0, else field 0. Three "
        "vendor texts, three answers, no measurement",
        f"{CALCULATOR} against the pages",
    ),
    Erratum(
        "reference-smfmac-index",
        "ROCm page on common parameters",
        "SMFMAC index bits are counted along K",
        "each lane has its own: 4 bits for every group of four k that the lane holds",
        f"{CALCULATOR}: all 14 forms, 36,864 entries",
    ),
    Erratum(
        "reference-smfmac-cdna2",
        "ROCm pages on CDNA1 and CDNA2 sparse builtins",
        "SMFMAC f16, bf16 and i8 exist on gfx908 and gfx90a",
        "they are CDNA3 instructions: neither GPU has any sparse instruction",
        f"{CLANG}: Cannot select, for all six builtins on both targets",
    ),
    Erratum(
        "calculator-opcode-wide-i8",
        CALCULATOR,
        "v_mfma_i32_32x32x16_i8 and v_mfma_i32_16x16x32_i8 both have opcode 0x54",
        "0x56 and 0x57",
        LLVM_MC,
    ),
    Erratum(
        "calculator-f64-inverse",
        f"{CALCULATOR}, formula of the f64 16x16 result",
        "i = 4 * (register pair)",
        "i = 4 * (register pair) + lane // 16; the calculator's own tables say so",
        f"tables of {CALCULATOR}; the page",
    ),
    Erratum(
        "calculator-f64-neg",
        f"{CALCULATOR}, --neg on CDNA3",
        "f64 instructions support BLGP, and --neg is refused",
        "on f64 the three bits of blgp negate A, B and C; the assembler writes neg:[a,b,c] and refuses blgp",
        f"{LLVM_MC}: blgp 3 of the builtin is neg:[1,1,0]; ROCm page",
    ),
    Erratum(
        "calculator-xf32-blgp",
        "AMD matrix instruction calculator before commit 08e35ee (2025-03-11)",
        "v_mfma_f32_32x32x4_xf32 supports BLGP",
        "xf32 supports no modifier",
        f"the fix itself; {CALCULATOR}",
    ),
    Erratum(
        "clang-modifiers-truncated",
        CLANG,
        "cbsz 9, abid 20, blgp 8 are accepted on any builtin",
        "the three are cut to their fields (1, 4, 0) without a word; only a value that is no constant is an error",
        f"{CLANG}",
    ),
    Erratum(
        "clang-dropped-builtins",
        f"{CLANG}, __has_builtin and the front end",
        "the seven bf16 and i8 builtins that gfx942 has dropped are accepted for gfx942, "
        "and xf32 for gfx90a and gfx950",
        "clang checks a feature that all of them share; the back end then fails with Cannot select",
        f"{CLANG}",
    ),
    Erratum(
        "assembler-bf16-spelling",
        f"{LLVM_MC}, gfx942",
        "v_mfma_f32_32x32x4bf16 is accepted, as on gfx90a",
        "it is another instruction: two blocks with four bf16 per lane (v_mfma_f32_32x32x4_2b_bf16), where gfx90a has "
        "one block with two",
        LLVM_MC,
    ),
    Erratum(
        "example-fragment-size",
        f"{EXAMPLE}, commit 1db53c0",
        "the kernel declares fragments of thread_tile_m = 16 elements",
        "load_a and mma take arrays of 2: the example does not compile for gfx942. Later versions have frag_size_m "
        "and frag_size_n",
        "clang 19.1.7 on the same declarations",
    ),
    Erratum(
        "example-host-guard",
        f"{EXAMPLE}, commit 1db53c0, and the page's note on __gfx942__",
        "#if defined(__gfx942__) selects the policy and the number of threads",
        "the macro is not defined when the host code is compiled: the host launches 64 threads of the scalar kernel, "
        "which the device code does not contain. Choose on the host by props.gcnArchName",
        f"{CLANG}: macros of both passes",
    ),
    Erratum(
        "example-scalar-fallback",
        f"{EXAMPLE}, both published versions",
        "ScalarFMAPolicy<8, 8, 8> with 64 threads computes a 32x32 tile",
        "it covers 64x64: 3,072 of 4,096 cells lie outside, past the tiles in LDS and over the neighbours' results. "
        "<4, 4, 8> with 64 threads or <8, 8, 4> with 16 is right",
        "counting the cells that thread_tile_offset reaches",
    ),
    Erratum(
        "example-identity-check",
        f"{EXAMPLE}, verification",
        "C must equal A for an identity matrix B",
        "that cannot see wrong accumulation, or wrong orders of k that cancel, and main returns success after FAILED; "
        "use a random B as well",
        "by construction: every sum has one term",
    ),
    Erratum(
        "blog-f64-cycles",
        "AMD blog on matrix core programming, table of cycles",
        "f64_16x16x4f64 takes 64 cycles on CDNA3 and CDNA4",
        "64 is CDNA4's; CDNA3 takes 32",
        "32 gives AMD's own 163.4 TFLOPS for the MI300X; ROCm page; LLVM",
    ),
)


def errata() -> tuple[Erratum, ...]:
    """Return every known erratum: the page's first, then the vendor's tools, the published example and the blog.

    >>> errata()[0].id
    'page-blocks-packed'
    """
    return ERRATA


def erratum(id: str) -> Erratum:
    """Return one erratum by its id. Raise `UnknownNameError` with near matches if there is none."""
    by_id = {item.id: item for item in ERRATA}
    if id not in by_id:
        raise UnknownNameError(f"no erratum has the id {id!r}.{near(str(id), list(by_id))}")
    return by_id[id]
