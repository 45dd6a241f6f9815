"""The renderers: what is written reads back, stays within its width, and loses no cell."""

import csv as reader
import io
import json as parser
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.render import WIDTH, WRITERS, Table, asciidoc, csv, fields, json, markdown, panels, paragraph, text

WORDS = st.text('abcdefghij0123456789_|,"{}[]:.', min_size=1, max_size=12)
CELLS = WORDS | st.integers(-999, 99999)


@st.composite
def tables(draw, cells=CELLS, max_columns=30):
    columns = draw(st.integers(2, max_columns))
    header = tuple(draw(st.lists(WORDS, min_size=columns, max_size=columns)))
    row = st.lists(cells, min_size=columns, max_size=columns).map(tuple)
    return Table(header, tuple(draw(st.lists(row, max_size=5))), labels=draw(st.integers(1, min(2, columns - 1))))


lenient = settings(deadline=None, max_examples=60)


def as_text(table):
    return [list(table.header), *([str(cell) for cell in row] for row in table.rows)]


@lenient
@given(tables())
def test_csv_reads_back(table):
    assert list(reader.reader(io.StringIO(csv(table)))) == as_text(table)


@lenient
@given(tables())
def test_markdown_reads_back(table):
    lines = markdown(table).split("\n")
    assert len({len(line) for line in lines}) == 1
    del lines[1]
    bare = [line.removeprefix("| ").removesuffix(" |").replace(r"\|", "\0").split(" | ") for line in lines]
    assert [[cell.strip().replace("\0", "|") for cell in row] for row in bare] == as_text(table)


def test_markdown_aligns_numbers_to_the_right():
    rule = markdown(Table(("a", "b"), (("x", 1), ("y", 22)))).split("\n")[1]
    assert rule == "| --- | --: |"


@lenient
@given(tables())
def test_asciidoc_reads_back(table):
    first, opening, *rows, closing = asciidoc(table).split("\n")
    assert first.startswith("[%header,cols=")
    assert first.count("<") + first.count(">") == len(table.header)
    assert opening == closing == "|==="
    bare = [row.removeprefix("|").replace(r"\|", "\0").split(" |") for row in rows]
    assert [[cell.replace("\0", "|").replace(r"\{", "{") for cell in row] for row in bare] == as_text(table)


def test_asciidoc_escapes_only_what_would_be_an_attribute():
    assert r"|v0\{5} |{} |a\|b" in asciidoc(Table(("x", "y", "z"), (("v0{5}", "{}", "a|b"),)))


@lenient
@given(tables(), st.integers(40, 120))
def test_panels_stay_within_the_width_and_keep_every_cell(table, width):
    blocks = panels(table, width).split("\n\n")
    assert all(len(line) <= width for block in blocks for line in block.split("\n"))
    for n in range(len(table.rows) + 1):
        lines = [block.split("\n")[n].split() for block in blocks]
        assert all(line[: table.labels] == as_text(table)[n][: table.labels] for line in lines)
        assert [cell for line in lines for cell in line[table.labels :]] == as_text(table)[n][table.labels :]


def test_a_table_that_fits_is_one_panel():
    table = Table(("i", "j=0"), ((0, "v0{0}"),))
    assert panels(table) == text(table)


def test_text_aligns_numbers_right_and_words_left():
    assert text(Table(("op", "n"), (("a", 5), ("bcd", 123)))) == "op     n\na      5\nbcd  123"


def test_an_empty_cell_is_blank():
    assert text(Table(("a", "b", "c"), (("x", None, "z"),))) == "a  b  c\nx     z"


def test_a_table_without_rows_is_its_header():
    empty = Table(("a", "b"), ())
    assert text(empty) == "a  b"
    assert csv(empty) == "a,b"
    assert markdown(empty) == "| a   | b   |\n| --- | --- |"
    assert asciidoc(empty).split("\n")[2] == "|a |b"


@lenient
@given(st.lists(st.sampled_from(["a", "of", "the", "rounded", "registers"]), min_size=1, max_size=60))
def test_prose_in_the_last_column_is_wrapped(words):
    lines = text(Table(("level", "source"), (("tested", " ".join(words)),)), 50, indent="  ").split("\n")
    assert all(len(line) <= 50 for line in lines)
    assert " ".join(lines[1:]).split() == ["tested", *words]
    assert all(line.startswith(" " * 10) for line in lines[2:])


@lenient
@given(st.lists(st.sampled_from(["a", "of", "the", "rounded", "registers"]), min_size=1, max_size=60))
def test_paragraphs_and_fields_are_wrapped(words):
    prose = " ".join(words)
    for written, names in ((paragraph(prose, 40, "  "), []), (fields([("name", prose)], 40, "  "), ["name"])):
        lines = written.split("\n")
        assert all(len(line) <= 40 and line.startswith("  ") for line in lines)
        assert " ".join(lines).split() == names + words


def test_fields_keep_line_breaks_and_align_their_values():
    assert fields([("a", "x\ny"), ("long", "z"), ("no", "")]) == "a     x\n      y\nlong  z\nno"


def test_words_longer_than_the_width_are_not_broken():
    assert paragraph("x" * 150) == "x" * 150
    assert WIDTH == 100


@lenient
@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_json_reads_back_and_is_ascii(data):
    assert parser.loads(json(data)) == data
    assert json(data).isascii()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_json_has_no_infinity_and_no_nan(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        json({"bias": number})


def test_every_writer_takes_a_table():
    for write in WRITERS.values():
        assert "v0{0}" in write(Table(("i", "j=0"), ((0, "v0{0}"),))).replace("\\", "")


def test_renderers_import_nothing_of_the_package_but_themselves():
    code = (
        "import sys, mfma; before = set(sys.modules); import mfma.render; "
        "new = {m for m in set(sys.modules) - before if m.split('.')[0] in ('mfma', 'numpy')}; "
        "assert all(m.startswith('mfma.render') for m in new), new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
