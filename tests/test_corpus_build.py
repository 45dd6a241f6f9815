"""The committed HIP objects come from the sources beside them."""

import pytest
from elftools.elf.elffile import ELFFile

from corpus.build_hip import COMPILER, VERSION, build, built, objects
from corpus.case import OBJECTS
from hip_tools import missing, tool

pytestmark = pytest.mark.long


def code(path):
    """The instructions of an object, and the data that they use."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        return {name: s.data() for name in (".text", ".rodata", ".data") if (s := elf.get_section_by_name(name))}


@pytest.mark.parametrize("name", objects())
def test_objects_come_from_their_sources(tmp_path, name):
    tool(COMPILER)
    made = code(build(name, tmp_path))
    assert made[".text"]
    if built() != VERSION:
        missing(f"{COMPILER} of version {VERSION}")
    assert made == code(OBJECTS / name)


def test_nothing_else_is_committed():
    assert {path.name for path in OBJECTS.glob("hip_*")} == set(objects())
