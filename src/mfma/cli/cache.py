"""``cache``: compiled code that is kept on disk."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from mfma.cli.options import as_json
from mfma.cli.shell import Command, Refusal
from mfma.render import Table, fields, json, text

__all__ = ["cache"]

KERNELS, FORMS, EMULATED, LEFT = "native kernels", "emulated instructions", "emulated kernels", "left behind"
PROGRAMS, RUNTIME = "HIP programs", "HIP runtime"
KINDS = {
    KERNELS: re.compile(r"\w+-[0-9a-f]{32}\.o"),  # see `mfma.native.jit.library`
    FORMS: re.compile(r"forms-[0-9a-f]{32}/(index|[0-9a-f]{24}\.o)"),  # see `mfma.emulator.translator.store`
    EMULATED: re.compile(r"forms-[0-9a-f]{32}/[0-9a-f]{24}\.kernel"),  # likewise
    PROGRAMS: re.compile(r"program-[0-9a-f]{32}"),  # see `mfma.integrations.hip.compiler`
    RUNTIME: re.compile(r"hip-[0-9a-f]{32}/lib(amdhip64|hiprtc)\.so(\.\d+)?"),  # see `mfma.integrations.hip.library`
    LEFT: re.compile(r"(forms-[0-9a-f]{32}/)?tmp[0-9a-z_]{8}"),  # see `mfma.native.jit.write_object`
}
"""What an entry is -> its path in the folder. Nothing else in there is looked at."""
INDEX = "index"
FOLDER = re.compile(r"(forms|hip)-[0-9a-f]{32}")
LINKS = re.compile(r"rocm-[0-9a-f]{32}(\.[0-9a-f]{8})?")
"""Folders of nothing but links, which are deleted too; see `mfma.integrations.hip.compiler`."""
STALE = 3600
"""Seconds after which a file that some process began to write is left behind."""


@dataclass(frozen=True)
class Entry:
    """A file of the cache."""

    kind: str
    path: Path
    size: int


@click.command(cls=Command, examples=("mfma cache", "mfma cache --json"))
@click.option("--clear", is_flag=True, help="Delete it; other files in the folder stay.")
@as_json
def cache(clear: bool, as_json: bool) -> None:
    """Show or clear the compiled code that is kept on disk.

    It makes later starts fast and is made anew where it is missing, so it may be deleted at any time, also while other
    processes use it; only a HIP program that is just being built or started may fail. It is for one CPU and one state
    of this package: what others have left is not used again.

    MFMA_CACHE_DIR chooses the folder; without it, it is $XDG_CACHE_HOME/mfma or ~/.cache/mfma.
    """
    from mfma.native.jit import cache_dir

    folder = cache_dir()
    if folder is None:
        raise Refusal("there is no cache, because the user has no home; set MFMA_CACHE_DIR to a folder for one.")
    entries = list(_entries(folder))
    if clear:
        _clear(folder, entries)
    counts = {kind: [entry.size for entry in entries if entry.kind == kind] for kind in KINDS}
    if as_json:
        sizes = {kind: {"entries": len(sizes), "bytes": sum(sizes)} for kind, sizes in counts.items()}
        click.echo(json({"folder": str(folder), "cleared": clear, "entries": len(entries),
                         "bytes": sum(entry.size for entry in entries), "kinds": sizes}))  # fmt: skip
        return
    rows = [(kind, len(sizes), sum(sizes)) for kind, sizes in counts.items() if sizes]
    rows.append(("deleted" if clear else "together", len(entries), sum(entry.size for entry in entries)))
    click.echo(f"{fields([('folder', str(folder))])}\n\n{text(Table(('what', 'files', 'bytes'), tuple(rows)))}")


def _entries(folder: Path) -> Iterator[Entry]:
    """Yield the cache's files, an index before what it lists; links are not followed."""
    now = time.time()
    for item in _listed(folder):
        is_folder = FOLDER.fullmatch(item.name) and item.is_dir(follow_symlinks=False)
        for one in _listed(Path(item.path)) if is_folder else [item]:
            name = os.path.relpath(one.path, folder)
            kind = next((kind for kind, pattern in KINDS.items() if pattern.fullmatch(name)), None)
            if kind is None or not one.is_file(follow_symlinks=False):
                continue
            with suppress(FileNotFoundError):  # another process has deleted it
                status = one.stat(follow_symlinks=False)
                if kind != LEFT or now - status.st_mtime > STALE:
                    yield Entry(kind, Path(one.path), status.st_size)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, the index first; nothing if there is no such folder."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda item: (item.name != INDEX, item.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Refusal(f"cannot read the cache {folder}: {error.strerror or error}.") from None


def _clear(folder: Path, entries: list[Entry]) -> None:
    """Delete files, and folders that are empty then.

    Processes that use them have read them, or find them missing and compile anew.
    """
    for entry in entries:
        try:
            entry.path.unlink(missing_ok=True)
        except OSError as error:
            raise Refusal(f"cannot delete {entry.path}: {error.strerror or error}.") from None
    for path in {entry.path.parent for entry in entries} - {folder}:
        with suppress(OSError):  # a process is writing there; what it writes is complete in itself
            path.rmdir()
    for path in folder.glob("rocm-*"):
        if LINKS.fullmatch(path.name) and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
