"""The command line: it parses arguments, calls the library and prints with a renderer.

Every command starts from the same few rules. Bad input ends with exit code 2 and one line on standard error; Ctrl-C
ends quietly with 130. Modules are imported when a command needs them, so that look-ups start fast.
"""

from __future__ import annotations

import click

from mfma import __version__
from mfma.cli.shell import Commands

__all__ = ["main"]

SECTIONS = {
    "Instructions": {
        "list": "mfma.cli.lookup:list_",
        "show": "mfma.cli.lookup:show",
        "choose": "mfma.cli.selection:choose",
        "targets": "mfma.cli.selection:targets",
        "errata": "mfma.cli.lookup:errata",
    },
    "Placement in registers": {
        "layout": "mfma.cli.placement:layout",
        "locate": "mfma.cli.placement:locate",
        "element": "mfma.cli.placement:element",
        "inputs": "mfma.cli.placement:inputs",
        "where": "mfma.cli.questions:where",
        "chain": "mfma.cli.questions:chain",
        "explore": "mfma.cli.explore:explore",
    },
    "Speed": {
        "peak": "mfma.cli.lookup:peak",
        "roofline": "mfma.cli.timing:roofline",
        "timeline": "mfma.cli.timing:timeline",
    },
    "Assembly": {
        "hazards": "mfma.cli.lint:hazards",
        "lint": "mfma.cli.lint:lint",
    },
    "Kernels": {
        "gemm": "mfma.cli.gemm:gemm",
        "tune": "mfma.cli.gemm:tune",
        "hip": "mfma.cli.hip:hip",
        "objects": "mfma.cli.objects:objects",
        "disasm": "mfma.cli.disasm:disasm",
        "run": "mfma.cli.run:run",
        "trace": "mfma.cli.run:trace",
        "profile": "mfma.cli.profile:profile",
        "cache": "mfma.cli.cache:cache",
        "doctor": "mfma.cli.doctor:doctor",
    },
    "Arithmetic": {
        "matmul": "mfma.cli.matmul:matmul",
        "explain": "mfma.cli.explain:explain",
    },
}
"""Section of the help -> command -> where its function is."""

main = Commands(
    "mfma",
    sections=SECTIONS,
    help="AMD matrix cores, bit for bit, without the GPU.\n\n"
    "OP is an instruction, by any of its names: f32_32x32x8f16, v_mfma_f32_32x32x8_f16, the compiler builtin, LLVM's "
    "or MLIR's intrinsic. `mfma COMMAND --help` ends with examples.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="mfma", message="%(prog)s %(version)s")(main)
