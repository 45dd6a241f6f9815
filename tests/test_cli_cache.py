"""``mfma cache``: what it finds is what compiling leaves, and it deletes that and nothing else."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from corpus.case import OBJECTS
from mfma.cli import main

ADD = f"run {OBJECTS / 'hip_vector.co'} --kernel add_f32 --block 64 --args zeros:f32:64 zeros:f32:64 zeros:f32:64 64"


def run(line, code=0):
    result = CliRunner().invoke(main, line.split(), prog_name="mfma")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def data(line):
    return json.loads(run(f"{line} --json").stdout)


def compile_some(**environment):
    """Run a kernel in a new process, which compiles what it misses."""
    done = subprocess.run(
        [sys.executable, "-m", "mfma", *ADD.split()],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip
    assert done.stderr == ""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Chosen as the folder of the cache; it does not exist yet."""
    chosen = tmp_path / "chosen"
    monkeypatch.setenv("MFMA_CACHE_DIR", str(chosen))
    return chosen


KEY, BATCH = "0123456789abcdef" * 2, "0123456789abcdef01234567"
FILES = {
    f"product-{KEY}.o": "native kernels",
    f"v_mfma_f32_32x32x8_f16-{KEY}.o": "native kernels",
    f"forms-{KEY}/index": "emulated instructions",
    f"forms-{KEY}/{BATCH}.o": "emulated instructions",
    f"forms-{KEY[::-1]}/{BATCH}.o": "emulated instructions",
    f"forms-{KEY}/{BATCH}.kernel": "emulated kernels",
    f"program-{KEY}": "HIP programs",
    f"hip-{KEY}/libamdhip64.so": "HIP runtime",
    f"hip-{KEY}/libamdhip64.so.7": "HIP runtime",
    f"hip-{KEY}/libhiprtc.so.7": "HIP runtime",
}
KINDS = sorted(set(FILES.values()))
FOREIGN = (
    "notes.txt", "thing.o", f"product-{KEY}.o.bak", f"product-{KEY[1:]}.o", f"forms-{KEY}/notes", f"other-{KEY}/index",
    f"forms-{KEY}/{BATCH}.so", f"{BATCH}.kernel", "deep/index", "tmpfolder1/index", "tmp_new0",
)  # fmt: skip


def fill(folder):
    for n, name in enumerate((*FILES, *FOREIGN), 1):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(n))


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


def test_it_finds_all_that_compiling_leaves(folder):
    compile_some()
    found = files(folder)
    seen = data("cache")
    assert seen["folder"] == str(folder)
    assert seen["entries"] == len(found) > 2
    assert seen["bytes"] == sum((folder / name).stat().st_size for name in found)
    assert all(seen["kinds"][kind]["entries"] for kind in KINDS if "HIP" not in kind)  # a kernel needs no host code
    run("cache --clear")
    assert list(folder.iterdir()) == []
    compile_some()
    assert files(folder) == found


def test_it_counts_and_deletes_what_is_its_own(folder):
    fill(folder)
    seen = data("cache")
    assert seen["entries"] == len(FILES)
    for kind in (*KINDS, "left behind"):
        sizes = [n for n, name in enumerate(FILES, 1) if FILES[name] == kind]
        assert seen["kinds"][kind] == {"entries": len(sizes), "bytes": sum(sizes)}
    assert files(folder) == {*FILES, *FOREIGN}
    shown = run("cache --clear").stdout
    assert shown.splitlines()[-1].split() == ["deleted", str(len(FILES)), str(sum(range(1, len(FILES) + 1)))]
    assert files(folder) == set(FOREIGN)
    assert not (folder / f"forms-{KEY[::-1]}").exists()
    assert data("cache")["entries"] == 0
    assert data("cache --clear") == {**data("cache"), "cleared": True}


def test_what_a_process_is_writing_stays_and_what_it_left_goes(folder):
    fill(folder)
    for name in ("tmpabcd_123", f"forms-{KEY}/tmp12345678"):
        (folder / name).write_bytes(b"half")
    assert data("cache")["kinds"]["left behind"] == {"entries": 0, "bytes": 0}
    day = time.time() - 86_400
    for name in ("tmpabcd_123", f"forms-{KEY}/tmp12345678"):
        os.utime(folder / name, (day, day))
    assert data("cache")["kinds"]["left behind"] == {"entries": 2, "bytes": 8}
    run("cache --clear")
    assert files(folder) == set(FOREIGN)


def test_a_folder_of_links_goes_and_what_it_links_to_stays(folder, tmp_path):
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "hip.h").touch()
    names = (f"rocm-{KEY}", f"rocm-{KEY}.0123abcd", "rocm-mine")
    for name in names:
        (folder / name / "include").mkdir(parents=True)
        (folder / name / "include" / "hip").symlink_to(tmp_path / "headers")
    (folder / f"rocm-{KEY[::-1]}").symlink_to(tmp_path / "headers")
    run("cache --clear")
    assert {path.name for path in folder.iterdir()} == {"rocm-mine", f"rocm-{KEY[::-1]}"}
    assert (tmp_path / "headers" / "hip.h").exists()


def test_links_are_not_followed(folder, tmp_path):
    target = tmp_path / "elsewhere"
    fill(target)
    folder.mkdir()
    (folder / f"forms-{KEY}").symlink_to(target / f"forms-{KEY}")
    (folder / f"product-{KEY}.o").symlink_to(target / f"product-{KEY}.o")
    assert data("cache --clear")["entries"] == 0
    assert files(target) == {*FILES, *FOREIGN}
    assert files(folder) == {f"forms-{KEY}", f"product-{KEY}.o"}


def test_a_process_that_uses_it_goes_on(folder):
    """Between two launches of one process everything is deleted."""
    code = (
        "import numpy as np, mfma\n"
        "from click.testing import CliRunner\n"
        "from mfma.cli import main\n"
        f"module = mfma.load({str(OBJECTS / 'hip_vector.co')!r})\n"
        "x = np.ones(64, np.float32)\n"
        "for name in ('add_f32', 'axpy_f32'):\n"
        "    out = np.zeros_like(x)\n"
        "    arguments = [x, x, out, 64] if name == 'add_f32' else [np.float32(1), x, out, 64]\n"
        "    module[name].launch(1, 64, arguments)\n"
        "    assert (out == (2 if name == 'add_f32' else 1)).all(), out\n"
        "    assert CliRunner().invoke(main, ['cache', '--clear']).exit_code == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    compile_some()
    assert data("cache")["entries"]


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("MFMA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data("cache")["folder"] == str(tmp_path / "mfma")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = run("cache").stdout
    assert shown.splitlines()[0] == f"folder  {tmp_path / '.cache' / 'mfma'}"
    assert shown.splitlines()[-1].split() == ["together", "0", "0"]


def refused(line):
    result = run(line, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("mfma: ")
    assert result.stderr.count("\n") == 1
    return result.stderr[len("mfma: ") : -1]


def test_without_a_home(monkeypatch):
    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MFMA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", none)
    said = "there is no cache, because the user has no home; set MFMA_CACHE_DIR to a folder for one."
    assert refused("cache") == refused("cache --clear") == said


def test_a_folder_that_is_none(folder):
    folder.write_text("no folder")
    assert refused("cache") == f"cannot read the cache {folder}: Not a directory."


def test_what_cannot_be_deleted(folder, monkeypatch):
    fill(folder)

    def denied(self, missing_ok=False):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", denied)
    said = refused("cache --clear")
    assert said.startswith(f"cannot delete {folder}/")
    assert said.endswith(": Permission denied.")


def test_a_folder_inside_that_cannot_be_read(folder, monkeypatch):
    fill(folder)
    scan = os.scandir

    def denied(path):
        if "forms-" in os.fspath(path):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", denied)
    assert refused("cache") == f"cannot read the cache {folder}/forms-{KEY}: Permission denied."


def test_what_another_process_deletes_meanwhile_is_not_missed(folder, monkeypatch):
    """Neither as an error, nor do the files after it go uncounted."""
    fill(folder)
    gone = folder / f"forms-{KEY}" / "index"
    scan = os.scandir

    def deleting(path):
        if Path(path) != gone.parent:
            return scan(path)
        entries = list(scan(path))
        gone.unlink()
        return contextlib.nullcontext(entries)

    monkeypatch.setattr(os, "scandir", deleting)
    assert data("cache")["entries"] == len(FILES) - 1
