"""Pictures of layouts: what a reader sees in the document is the layout, and everybody can read it."""

import re
from itertools import combinations, pairwise, product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import mfma
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.modifiers import legal_modifiers
from mfma.isa.spec import WAVE
from mfma.layout import Element, layout
from mfma.layout.figures import figures, main
from mfma.layout.inputs import inputs, inputs_picture
from mfma.layout.picture import picture
from mfma.render.svg import ADVANCE, FILLS, INK, PAPER, SHADES, fill

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
SVG = "{http://www.w3.org/2000/svg}"
BY_NAME = {op.name: op for op in DENSE}

PLAIN = [layout(op, matrix) for op in DENSE for matrix in "ABCD"]
SPARSE_ONES = [layout(op, matrix) for op in (SPARSE[0], SPARSE[1], SPARSE[-1]) for matrix in "ABDK"]
EVERY_MODIFIER = sorted(
    {
        layout(BY_NAME[name], matrix, *modifiers)
        for name in ("f32_32x32x1f32", "f32_16x16x4f16", "f32_4x4x4f16", "f64_16x16x4f64", "f64_4x4x4f64")
        for modifiers in legal_modifiers(BY_NAME[name])
        for matrix in "ABC"
        if sum(map(bool, modifiers)) == 1 or modifiers[0] == modifiers[1].bit_length() + 1
    }
    - set(PLAIN),
    key=repr,
)


def absolute(element, x=0.0, y=0.0):
    """Every element in document order, with the sum of the translations around it."""
    moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", "translate(0 0)"))
    x, y = x + float(moved[1]), y + float(moved[2])
    yield element, x, y
    for child in element:
        yield from absolute(child, x, y)


class Seen:
    """What a reader sees: cells under their labels, and the backgrounds."""

    def __init__(self, document):
        self.root = ElementTree.fromstring(document)
        self.cells, self.fills, self.marks, self.widths, self.texts, self.bold = {}, [], [], set(), [], set()
        block, row, columns, font = 0, None, {}, None
        for element, left, top in absolute(self.root):
            kind, classes = element.tag.removeprefix(SVG), element.get("class", "")
            content = "".join(element.itertext())
            if kind == "rect" and re.match(r"g\d|k", classes):
                box = [float(element.get(side)) for side in ("x", "y", "width", "height")]
                where = (box[0] + left, box[1] + top, *box[2:])
                (self.marks if classes == "k" else self.fills).append((where, classes))
            elif kind == "g" and element.get("font-size"):
                font = float(element.get("font-size"))
            elif kind == "text" and element.get("font-size"):
                self.texts.append(content)
                if match := re.match(r"block (\d+)", content):
                    block = int(match[1])
                elif classes == "e d" and not content.isdigit():
                    columns = {}
                elif classes == "e d":
                    row = int(content)
                elif classes == "d":
                    columns[element.get("x")] = content
            elif kind == "text":
                x = element.get("x")
                lines = [element.text, *(span.text for span in element)]
                assert all(span.get("x") == x for span in element)
                assert all(len(line) * ADVANCE * font < self.width(columns, x) for line in lines)
                place = (block, row, columns[x])
                assert place not in self.cells
                self.cells[place] = (content, self.fill_at(left + float(x), top))
                if classes == "m":
                    self.bold.add(place)

    def width(self, columns, x):
        """Distance to the next column, or the width of the only one."""
        distances = [abs(float(other) - float(x)) for other in columns if other != x]
        return min(distances) if distances else self.fills[-1][0][2]

    def fill_at(self, x, y):
        """Classes of the background, drawn last, behind a point."""
        return next(c for (left, top, w, h), c in reversed(self.fills) if left < x < left + w and top < y < top + h)


def expected(lay):
    _, row, column = lay.pattern.coordinates
    blocks, rows, columns = map(range, lay.shape)
    return {(b, r, str(c)): lay.locate(**{row: r, column: c, "block": b}) for b, r, c in product(blocks, rows, columns)}


@pytest.mark.parametrize("lay", [*PLAIN, *SPARSE_ONES, *EVERY_MODIFIER], ids=str)
def test_every_cell_names_its_slot_in_the_colour_of_its_lane_group(lay):
    document = picture(lay)
    seen = Seen(document)
    slots = expected(lay)
    assert {place: content for place, (content, _) in seen.cells.items()} == {p: str(s) for p, s in slots.items()}

    size = lay.op.m if lay.matrix in "AK" else lay.op.n
    colours = {slots[place].lane // size: colour for place, (_, colour) in seen.cells.items()}
    assert all(colour == colours[slots[place].lane // size] for place, (_, colour) in seen.cells.items())
    assert len(set(colours.values())) == len(colours)
    # The legend has these groups and no others.
    assert [text for text in seen.texts if re.fullmatch(r"\d+\.\.\d+", text)] == [
        f"{group * size}..{group * size + size - 1}" for group in sorted(colours)
    ]
    equations = [equation.replace("lane =", "lane position =") for equation in lay.pattern.equations]
    assert set(equations if lay.lane_sources else lay.pattern.equations) <= set(seen.texts)
    assert seen.root.find(f"{SVG}title").text == str(lay) == seen.texts[0]
    assert not seen.marks


@pytest.mark.parametrize("lay", [*PLAIN, *EVERY_MODIFIER], ids=str)
def test_documents_fit_a_page_and_stand_alone(lay):
    document = picture(lay)
    width, height = re.search(r'viewBox="0 0 (\d+) (\d+)"', document).groups()
    assert 600 <= int(width) <= 900
    assert f'width="{width}" height="{height}"' in document
    assert len(document) < 170_000
    for outside in ("href", "url(", "@import", "<script", "<image", "<!"):
        assert outside not in document
    assert re.findall(r"https?://[^\"]*", document) == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize("name", ["f32_32x32x8f16", "f32_32x32x16_fp8_fp8", "i32_32x32x16_i8"])
def test_a_32x32_figure_is_small(name):
    assert len(picture(layout(BY_NAME[name], "D"))) < 85_000


def test_nothing_of_a_figure_sticks_out_of_it():
    for name, document in figures().items():
        root = ElementTree.fromstring(document)
        width, height = float(root.get("width")), float(root.get("height"))
        for element, left, top in absolute(root):
            if element.tag == f"{SVG}rect" and element.get("class") != "p":
                x, y, w, h = (float(element.get(side)) for side in ("x", "y", "width", "height"))
                assert 0 <= x + left <= x + left + w <= width + 0.01, name
                assert 0 <= y + top <= y + top + h <= height, name
            if element.tag == f"{SVG}text" and element.get("class", "").split()[:1] == ["s"]:
                length = len(element.text) * float(element.get("font-size")) * 0.62
                assert float(element.get("x")) + left + length * ("t" not in element.get("class")) <= width, name
                assert 0 < float(element.get("y")) + top < height - 4, name


def test_the_caption_says_what_the_modifiers_do():
    def caption(name, matrix, *modifiers):
        return " ".join(Seen(picture(layout(BY_NAME[name], matrix, *modifiers))).texts)

    assert "lanes 4..7 feed positions 0..15; lanes 20..23 feed positions 16..31;" in caption("f32_4x4x4f16", "A", 2, 1)
    rotated = "lanes 16..63 feed positions 0..47; lanes 0..15 feed positions 48..63."
    assert rotated in caption("f32_32x32x1f32", "B", 0, 0, 3)
    assert "lanes 0..15 feed positions 0..63." in caption("f32_4x4x1f32", "B", 0, 0, 4)
    assert "blgp=2 negates B" in caption("f64_4x4x4f64", "B", 0, 0, 7)
    assert "feed" not in caption("f64_4x4x4f64", "B", 0, 0, 7)


def test_marks_outline_their_cells_and_make_them_bold():
    lay = layout(BY_NAME["f32_32x32x8f16"], "B")  # cut into two panels of 16 columns
    seen = Seen(picture(lay, [Element(k=3, j=2), Element(k=6, j=20)]))
    assert seen.bold == {(0, 3, "2"), (0, 6, "20")}
    assert [seen.fill_at(x + w / 2, y + h / 2) for (x, y, w, h), _ in seen.marks] == ["g0", "g1"]
    with pytest.raises(mfma.OptionError, match=r"k=8 is not one of them"):
        picture(lay, [Element(k=8, j=2)])


def test_a_note_ends_the_caption_and_is_text():
    seen = Seen(picture(layout(DENSE[8], "D"), note="<&> stays text"))
    assert seen.texts[-1] == "<&> stays text"


def test_notebooks_draw_a_layout():
    assert mfma.op("f64_4x4x4f64").layout("D")._repr_svg_() == picture(layout(BY_NAME["f64_4x4x4f64"], "D"))


INPUT_CASES = [
    ("f32_32x32x8f16", {"i": 5, "j": 7}),
    ("f32_16x16x32_fp8_bf8", {"i": 9, "j": 12}),
    ("f32_32x32x1f32", {"i": 31, "j": 30, "block": 1, "cbsz": 1, "blgp": 3}),
    ("f32_4x4x4f16", {"i": 2, "j": 1, "block": 5, "cbsz": 2, "abid": 1}),
    ("i32_16x16x4i8", {"i": 15, "j": 0, "block": 2, "blgp": 6}),
    ("f64_16x16x4f64", {"i": 11, "j": 8, "blgp": 3}),
]


@pytest.mark.parametrize(("name", "case"), INPUT_CASES)
def test_the_inputs_alone_make_the_output(name, case):
    """Ones in the named slots of A and B, zeros elsewhere: the instruction finds all k of them."""
    op = mfma.op(name)
    found = inputs(op.record, **case)
    modifiers = {key: case.get(key, 0) for key in ("cbsz", "abid", "blgp")}

    def ones(slots, operand):
        registers = np.zeros((WAVE, operand.elements), operand.format.dtype)
        for slot in slots:
            registers[slot.lane, (32 * slot.vgpr + slot.low_bit) // operand.format.bits] = 1
        return registers if operand.elements > 1 else registers[:, 0]

    c = ones([found.c], op.registers.cd)
    d = op(ones(found.a, op.registers.a), ones(found.b, op.registers.b), c, **modifiers)
    assert d[found.d.lane, (32 * found.d.vgpr) // op.cd.bits] == op.k + 1
    assert np.sum(np.asarray(d, np.float64) == op.k + 1) == 1


@pytest.mark.parametrize(("name", "case"), INPUT_CASES)
def test_the_picture_of_inputs_shows_them(name, case):
    op = BY_NAME[name]
    found = inputs(op, **case)
    document = inputs_picture(op, **case)
    seen_texts = ["".join(text.itertext()) for text in ElementTree.fromstring(document).iter(f"{SVG}text")]
    cells = [text for text in seen_texts if re.fullmatch(r"-?v(\d+|\[\d+:\d+\])\{\d+\}(\.\[\d+:\d+\])?", text)]
    pairs = [slot for pair in zip(found.a, found.b, strict=True) for slot in pair]
    assert cells == list(map(str, (found.d, found.c, *pairs)))

    (a, _), (b, _), (d, _) = sorted(Marks(document).boxes)
    assert a[1] == d[1]  # the row of A is level with the cell of D
    assert b[0] == d[0]  # the column of B stands above it
    assert b[1] < d[1]
    assert len(document) < 40_000
    assert int(re.search(r'viewBox="0 0 (\d+)', document)[1]) <= 900


class Marks:
    """The outlines of a document, from left to right and from above."""

    def __init__(self, document):
        self.boxes = []
        for element, left, top in absolute(ElementTree.fromstring(document)):
            if element.get("class") == "k":
                x, y, w, h = (float(element.get(side)) for side in ("x", "y", "width", "height"))
                self.boxes.append(((round(x + left, 1), round(y + top, 1)), (w, h)))


def test_sparse_instructions_have_no_picture_of_inputs():
    with pytest.raises(mfma.OptionError, match=r"is sparse: which elements of B meet A is in the index at run time"):
        inputs(SPARSE[0], i=0, j=0)
    with pytest.raises(mfma.OptionError, match=r"j=32 is not one of them"):
        inputs_picture(BY_NAME["f32_32x32x8f16"], i=0, j=32)


def test_committed_figures_are_those_generated_now(tmp_path):
    main([str(tmp_path)])
    assert sorted(p.name for p in FIGURES.iterdir()) == sorted(p.name for p in tmp_path.iterdir())
    for path in tmp_path.iterdir():
        same = (FIGURES / path.name).read_bytes() == path.read_bytes()
        assert same, f"docs/figures/{path.name} is old: run python -m mfma.layout.figures docs/figures"


def test_every_placement_of_an_accumulator_has_a_figure():
    names = {(op.m, op.blocks, op.out.bits) for op in DENSE}
    assert len([name for name in figures() if name.startswith("accumulator")]) == len(names) == 7


# Colours. Machado, Oliveira and Fernandes (2009) give, for full dichromacy, these matrices on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def rgb(colour):
    return np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)]) / 255


def linear(colour):
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def lab(colour, vision):
    seen = np.clip(VISION[vision] @ linear(colour), 0, 1)
    x, y, z = (v if v > 0 else 0 for v in TO_XYZ @ seen / [0.9505, 1, 1.089])
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, vision):
    return np.linalg.norm(lab(one, vision) - lab(other, vision))


def contrast(one, other):
    """Contrast ratio of WCAG 2."""
    dark, light = sorted(float(np.dot(TO_XYZ[1], linear(colour))) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def backgrounds(theme):
    """The fills of 16 groups, as they appear on the paper."""
    return [s * rgb(colour) + (1 - s) * rgb(PAPER[theme]) for colour in FILLS[theme] for s in SHADES]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_groups_differ_for_every_kind_of_colour_vision(theme, vision):
    for one, other in combinations(map(rgb, FILLS[theme]), 2):
        assert distance(one, other, vision) > 14
    for one, other in pairwise(backgrounds(theme)):
        assert distance(one, other, vision) > 4.5  # about twice what is just noticeable


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_every_background(theme):
    assert min(contrast(rgb(INK[theme]), colour) for colour in [*backgrounds(theme), rgb(PAPER[theme])]) > 4.5


def test_both_themes_set_the_same_colours_within_the_figure_only():
    style = ElementTree.fromstring(picture(layout(DENSE[7], "D"))).find(f"{SVG}style").text
    light, dark = style.split("@media (prefers-color-scheme:dark)")
    coloured = [set(re.findall(r"([^{}\n]+)\{(?:fill|stroke):#", theme)) for theme in (light, dark)]
    assert coloured[0] == coloured[1] >= {".mf .p", ".mf text", *(f".mf .g{n}" for n in range(4))}
    selectors = [part for rule in re.findall(r"([^{}\n]+)\{", light + dark[1:]) for part in rule.split(",")]
    assert all(selector.startswith(".mf ") for selector in selectors)
    used = {name for group in range(16) for name in fill(group, 16).split()}
    assert all(f".mf .{name}{{" in light for name in used)
