"""``mfma disasm``: every instruction of a file, where it belongs, in text and as JSON."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from hip_tools import tool
from mfma.cli import main
from mfma.codeobject import load_object
from mfma.emulator.decode import Instruction, decode_all

OBJECTS = Path(__file__).parent / "corpus" / "objects"
FLOW, DEBUG = OBJECTS / "hip_flow.co", OBJECTS / "hip_vector_debug.co"
LINE = re.compile(r"^ *([0-9a-f]+):  ((?:[0-9a-f]{8} ?)+) +(\S.*?)(?: +// ([0-9a-f]+) <(\S+)\+0x([0-9a-f]+)>)?$")


def run(*arguments):
    result = CliRunner().invoke(main, ["disasm", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def lines(text):
    return [match.groups() for match in map(LINE.fullmatch, text.splitlines()) if match]


def test_every_instruction_stands_once_with_its_bytes():
    item = load_object(FLOW)
    expected = {}
    for address, code in item.text:
        for entry in decode_all(code, address):
            if isinstance(entry, Instruction) and item.function_at(entry.address):
                expected[entry.address] = entry
    printed = lines(run(FLOW))
    addresses = [int(address, 16) for address, *_ in printed]
    assert addresses == sorted(set(addresses))
    found = {int(address, 16): (dwords.split(), text) for address, dwords, text, *_ in printed}
    assert len(expected) > 1000
    assert found.keys() >= expected.keys()
    for address, entry in expected.items():
        dwords, text = found[address]
        assert text == entry.text
        assert b"".join(bytes.fromhex(dword)[::-1] for dword in dwords) == entry.word.to_bytes(entry.size, "little")


def test_branches_say_where_they_go():
    item = load_object(FLOW)
    targets = [line for line in lines(run(FLOW)) if line[3]]
    assert len(targets) > 50
    symbols = {symbol.name: symbol.address for symbol in item.symbols}
    for _, _, text, target, name, offset in targets:
        assert text.startswith(("s_branch", "s_cbranch"))
        assert symbols[name] + int(offset, 16) == int(target, 16)


def test_one_kernel():
    name = next(iter(load_object(FLOW).kernels))
    text = run(FLOW, "--kernel", name)
    assert re.findall(r"^[0-9a-f]{16} <(.*)>:$", text, re.MULTILINE) == [name]
    assert text in run(FLOW)


def test_a_name_that_is_not_there():
    result = CliRunner().invoke(main, ["disasm", str(FLOW), "--kernel", "collats"])
    assert result.exit_code == 2
    assert result.stderr.startswith("mfma: No function 'collats'; there are ")
    assert "Did you mean collatz" in result.stderr


def test_lines_of_the_source():
    item = load_object(DEBUG)
    shown, where = 0, None
    for line in run(DEBUG, "--source").splitlines():
        match = LINE.fullmatch(line)
        if line.startswith("; "):
            where = line[2:]
        elif not match:
            where = None
        elif item.source_line(int(match[1], 16)):
            file, number = item.source_line(int(match[1], 16))
            assert where == f"{file}:{number}"
            shown += 1
    assert shown > 100
    assert "; " not in run(DEBUG)


def test_json_says_the_same():
    parts = json.loads(run(DEBUG, "--json"))
    entries = [entry for part in parts for entry in part["instructions"]]
    printed = lines(run(DEBUG))
    assert [(f"{entry['address']:x}", entry["dwords"], entry["text"]) for entry in entries] == [
        (address, dwords.split(), text) for address, dwords, text, *_ in printed
    ]
    item = load_object(DEBUG)
    assert [item.function_at(part["address"]).name for part in parts if part["function"]] == [
        part["function"] for part in parts if part["function"]
    ]
    for entry in entries:
        line = item.source_line(entry["address"])
        assert entry["source"] == (line and {"file": line[0], "line": line[1]})
        assert entry["mnemonic"] == entry["text"].split()[0]


def test_dwords_that_are_no_instruction(tmp_path):
    data, item = bytearray(FLOW.read_bytes()), load_object(FLOW)
    name, kernel = next(iter(item.kernels.items()))
    segment = item.segment_at(kernel.entry)
    at = segment.offset + kernel.entry - segment.address
    data[at : at + 4] = b"\xff" * 4
    broken = tmp_path / "broken.co"
    broken.write_bytes(data)
    first, *others = lines(run(broken, "--kernel", name))
    assert first == (f"{kernel.entry:x}", "ffffffff ", ".long 0xffffffff", None, None, None)
    assert lines(run(FLOW, "--kernel", name))[-len(others) + 2 :] == others[2:]
    entry = json.loads(run(broken, "--kernel", name, "--json"))[0]["instructions"][0]
    assert (entry["mnemonic"], entry["text"]) == (None, ".long 0xffffffff")


@pytest.mark.long
@pytest.mark.parametrize("file", sorted(OBJECTS.glob("*.co")), ids=lambda file: file.stem)
def test_text_is_that_of_objdump(file):
    command = [tool("llvm-objdump-22"), "--disassemble-zeroes", "-d", file]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pattern = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): [0-9A-F]{8}", re.MULTILINE)
    theirs = {int(address, 16): " ".join(text.split()) for text, address in pattern.findall(listing)}
    ours = {int(address, 16): text for address, _, text, *_ in lines(run(file))}
    assert ours.items() <= theirs.items()
    assert len(ours) > 100
