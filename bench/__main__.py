"""Measure everything, print the table."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import os
import platform
from pathlib import Path

import click
import numpy as np

from bench.emulator import emulator
from bench.measure import COLUMNS, Row, measure
from bench.triton import triton
from bench.works import measurements
from mfma.render import Table, text


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Also write the rows to FILE.")
@click.option("--only", default="", metavar="TEXT", help="Measure only works with TEXT in their name.")
@click.option("--seconds", default=2.0, show_default=True, help="Time to spend on a measurement.")
def main(file: Path | None, only: str, seconds: float) -> None:
    """Time mfma and its peers in turns and print the best of each."""
    rows: list[Row] = []
    for measurement in itertools.chain(measurements(), emulator(), triton()):
        if only in measurement.work.name:
            click.echo(f"{measurement.work.name} ...", err=True)
            rows += measure(measurement, seconds)
    where = environment()
    click.echo(", ".join(f"{name} {value}" for name, value in where.items()))
    click.echo(text(Table(COLUMNS, tuple(row.cells() for row in rows)), 140))
    if file:
        result = {"environment": where, "rows": [row.record() for row in rows]}
        file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


def environment() -> dict[str, str]:
    """What the figures depend on."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "CPU": cpu(),
        "processors": str(len(os.sched_getaffinity(0))),
        "Python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("mfma", "llvmlite", "numpy")},
        blas["name"]: blas["version"],
    }


def cpu() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
