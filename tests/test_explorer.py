"""The explorer's page: what it embeds is what the layouts say, and it is one valid file that loads nothing."""

import base64
import hashlib
import html.parser
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mfma.cli import main
from mfma.integrations.explorer import page
from mfma.integrations.explorer.document import SCRIPTS
from mfma.isa.catalogue import find
from mfma.isa.cdna3 import DENSE
from mfma.isa.modifiers import legal_modifiers
from mfma.isa.spec import WAVE
from mfma.layout import layout
from mfma.layout.picture import formulas, lane_group
from mfma.render.svg import ACCENT, FILLS, INK, PAPER, SHADES

ROOT = Path(__file__).parents[1]
DOCUMENT = page()
VOID = {"meta", "link", "input", "br"}


class Reader(html.parser.HTMLParser):
    """The elements with their attributes, and the text of style and scripts; refuses tags that do not match."""

    def __init__(self, document):
        super().__init__()
        self.open, self.elements, self.texts = [], [], {}
        self.feed(document)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        assert len(dict(attributes)) == len(attributes), f"{tag} has an attribute twice"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        raise AssertionError(f"<{tag}/> is no HTML")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            key = self.elements[-1][1].get("type", "style")
            self.texts[key] = self.texts.get(key, "") + data


READ = Reader(DOCUMENT)
DATA = json.loads(READ.texts["application/json"])
OPS = {op["name"]: op for op in DATA["ops"]}


def placed(op, matrix, cbsz=0, abid=0, blgp=0):
    """What the page makes of its tables: lane and number of the element of every element, and the layout's table."""
    table = DATA["layouts"][op["layouts"][matrix]]
    key = {"A": f"{cbsz},{abid}", "B": f"{blgp}"}.get(matrix)
    source = op["sources"].get(matrix, {}).get(key)
    lanes = table["lane"] if source is None else [DATA["sources"][source][lane] for lane in table["lane"]]
    return table, lanes, table["element"]


def every_layout():
    """Each distinct layout once, with the modifiers that first give it."""
    found = {}
    for op in DENSE:
        for modifiers in legal_modifiers(op):
            for matrix in "ABCD":
                found.setdefault(layout(op, matrix, *modifiers), modifiers)
    return found


def test_the_page_has_the_32_instructions_in_order():
    assert list(OPS) == [op.name for op in DENSE]
    assert all(find(name).name == op["name"] for op in DATA["ops"] for name in op["names"])


def test_every_element_of_every_operand_with_every_modifier_is_where_the_layout_says():
    every = every_layout()
    assert len(every) > 32 * 4
    for lay, modifiers in every.items():
        table, lanes, elements = placed(OPS[lay.op.name], lay.matrix, *modifiers)
        starts = np.array(table["starts"])[elements]
        slots = lay.slots()
        assert tuple(table["shape"]) == lay.shape
        assert tuple(table["axes"]) == lay.pattern.coordinates
        assert table["bits"] == lay.bits
        assert np.array_equal(np.reshape(lanes, lay.shape), slots.lane)
        assert np.array_equal(np.reshape(starts[:, 0], lay.shape), slots.vgpr)
        assert np.array_equal(np.reshape(starts[:, 1], lay.shape), slots.low_bit)


def test_every_slot_is_spelt_as_the_layout_spells_it():
    for lay, modifiers in every_layout().items():
        op = OPS[lay.op.name]
        negated = modifiers[2] in op["negated"].get(lay.matrix, [])
        assert negated == lay.negated
        table, lanes, elements = placed(op, lay.matrix, *modifiers)
        texts = [
            f"{'-' * negated}{table['register'][element]}{{{lane}}}{table['part'][element]}"
            for lane, element in zip(lanes, elements, strict=True)
        ]
        _, row, column = lay.pattern.coordinates
        corners = [(0, 0, 0), tuple(n - 1 for n in lay.shape), tuple(n // 2 for n in lay.shape)]
        for b, r, c in corners if any(modifiers) else np.ndindex(*lay.shape):
            slot = lay.locate(**{row: int(r), column: int(c), "block": int(b)})
            assert texts[np.ravel_multi_index((b, r, c), lay.shape)] == str(slot)


def test_all_legal_modifiers_are_offered_and_no_others():
    for op in DENSE:
        offered = OPS[op.name]["modifiers"]
        combinations = [
            (cbsz, abid, blgp)
            for cbsz, choice in enumerate(offered["cbsz"])
            for abid in range(len(choice["abid"]))
            for blgp in range(len(offered["blgp"]))
        ]
        assert combinations == list(legal_modifiers(op))
        labels = [*(choice["label"] for choice in offered["cbsz"]), *offered["blgp"]]
        assert all(int(label.split(" ")[0]) < 8 for label in labels)
        assert set(OPS[op.name]["reasons"]) == {"cbsz", "abid", "blgp"}


@pytest.mark.parametrize(
    ("name", "field", "label"),
    [
        ("f32_32x32x1f32", "blgp", "1 · lanes 0..31 ×2"),
        ("f32_32x32x1f32", "blgp", "3 · lanes 16..63, 0..15"),
        ("f32_4x4x4f16", "blgp", "6 · lanes 32..47 ×4"),
        ("f64_16x16x4f64", "blgp", "5 · −A −C"),
    ],
)
def test_labels_say_what_a_modifier_does(name, field, label):
    assert label in OPS[name]["modifiers"][field]


def test_formulas_are_those_of_the_layout_and_give_its_numbers():
    for op in DENSE:
        for matrix in "ABD":
            lay = layout(op, matrix)
            table, lanes, elements = placed(OPS[op.name], matrix)
            assert tuple(table["formulas"]) == formulas(lay)
            lane_rule, element_rule, register_rule = table["formulas"]
            rules = [lane_rule, element_rule, *re.split(r", (?=\w+ = )", register_rule)]
            names = [rule.split(" = ")[0] for rule in rules]
            assert names == ["lane", "element", "vgpr", "low_bit"][: len(rules)]
            codes = [compile(rule.split(" = ")[1].split(", ")[0], rule, "eval") for rule in rules]
            for place, lane, element in zip(np.ndindex(*lay.shape), lanes, elements, strict=True):
                known = dict(zip(lay.pattern.coordinates, place, strict=True), element=element)
                expected = [lane, element, *table["starts"][element]][: len(codes)]
                assert [eval(code, known) for code in codes] == expected


def test_colours_are_those_of_the_pictures():
    for op in DENSE:
        for matrix in "ABCD":
            table, _, _ = placed(OPS[op.name], matrix)
            assert DATA["colours"][table["colours"]] == [lane_group(layout(op, matrix), lane) for lane in range(WAVE)]
    style = READ.texts["style"]
    for group, (light, dark) in enumerate(zip(*FILLS, strict=True)):
        assert f".g{group}{{--fill:light-dark({light},{dark})}}" in style
        for shade, opacity in enumerate(SHADES):
            alpha = int(
                re.search(rf"\.g{group}\.s{shade}{{--fill:light-dark\({light}(..),{dark}(..)\)}}", style)[1], 16
            )
            assert alpha / 255 == pytest.approx(opacity, abs=1 / 255)


@pytest.mark.parametrize("theme", [0, 1])
def test_the_chosen_cell_is_readable(theme):
    def luminance(colour):
        linear = [((x / 255 + 0.055) / 1.055) ** 2.4 if x > 10 else x / 255 / 12.92 for x in bytes.fromhex(colour[1:])]
        return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for one, other in ((ACCENT, PAPER), (INK, PAPER)):
        dark, light = sorted([luminance(one[theme]), luminance(other[theme])])
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_facts_are_the_records():
    op = find("f32_32x32x8f16")
    facts = dict(OPS[op.name]["facts"])
    assert facts["C"].startswith(f"v16float {op.builtin}(v4half a, v4half b, v16float c, ")
    assert facts["assembler"] == op.mnemonic
    assert facts["registers a lane"] == "A 2, B 2, C and D 16 each"
    assert facts["cycles"] == "32 (8 passes), 28 of them free for the VALU"
    assert facts["operations"] == "16384; 2048 a cycle on each CU"
    assert facts["peak, TFLOPS"] == "MI300X 1307.4, MI300A 980.6, MI325X 1307.4"
    assert facts["layout"].startswith("documented: AMD's matrix instruction calculator")
    assert "peak, TOPS" in dict(OPS["i32_32x32x16_i8"]["facts"])


def test_the_page_is_below_a_megabyte():
    assert len(DOCUMENT.encode()) < 1_000_000


def test_the_page_refers_to_nothing_outside():
    assert "://" not in DOCUMENT
    for tag, attributes in READ.elements:
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes), "handlers are added by the script"
        assert attributes.get("href", "data:,") == "data:,", tag
    assert "url(" not in READ.texts["style"]
    assert "@import" not in READ.texts["style"]
    for call in ("fetch(", "XMLHttpRequest", "WebSocket", "import(", "eval(", "localStorage"):
        assert call not in READ.texts["module"]


def test_the_policy_allows_only_this_style_and_this_script():
    policy = next(a["content"] for _, a in READ.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    for kind, text in (("style-src", READ.texts["style"]), ("script-src", READ.texts["module"])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_page_is_valid():
    assert DOCUMENT.startswith("<!doctype html>")
    ids = [attributes["id"] for _, attributes in READ.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in READ.elements:
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert set(attributes.get(name, "").split()) <= set(ids)
    assert set(re.findall(r'\$\("([\w-]+)"\)', READ.texts["module"])) <= set(ids)
    assert not re.search(r"@\w+@", DOCUMENT), "a place of the template is left open"
    assert [tag for tag, _ in READ.elements].count("h1") == 1
    assert ("html", {"lang": "en"}) in READ.elements


def test_the_page_is_the_same_each_time():
    assert page() == DOCUMENT


def test_command_writes_the_page(tmp_path):
    output = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["explore", "-o", str(output)])
    assert (result.exit_code, result.output) == (0, f"{output}\n")
    assert output.read_text(encoding="utf-8") == DOCUMENT


def test_command_refuses_a_place_that_cannot_be_written(tmp_path):
    missing = tmp_path / "none" / "page.html"
    result = CliRunner().invoke(main, ["explore", "-o", str(missing)])
    assert result.exit_code == 2
    assert result.output == f"mfma: cannot write {missing}: No such file or directory.\n"


@pytest.mark.long
def test_wheel_contains_the_parts_of_the_page(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert {f"mfma/integrations/explorer/{name}" for name in ("page.html", "page.css", *SCRIPTS)} <= set(names)
