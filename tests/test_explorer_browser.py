"""The explorer in real headless Chromium: pointer, touch, keyboard, addresses, themes; nothing on the console."""

import base64
import importlib
import os
import shutil
import struct
from itertools import product

import pytest

import mfma
from mfma.cli.grids import name as spelt
from mfma.cli.grids import registers_table
from mfma.integrations.explorer import page
from mfma.isa.cdna3 import DENSE
from mfma.layout import layout
from mfma.render.svg import FILLS, PAPER

pytestmark = pytest.mark.long

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-ipc-flooding-protection",  # tests change the address faster than a hand can
    "--hide-scrollbars",
)
DESKTOP = {"width": 1440, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}


def needed(found, what):
    """Without a browser the tests fail in CI, and are skipped elsewhere."""
    if found is None:
        reason = f"{what} is missing: apt-get install chromium chromium-driver; pip install selenium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def optional(module):
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


class Explorer:
    """The page in a browser."""

    def __init__(self, driver, url):
        self.driver, self.url = driver, url
        self.keys = importlib.import_module("selenium.webdriver.common.keys").Keys
        self.chains = importlib.import_module("selenium.webdriver.common.action_chains").ActionChains

    def open(self, fragment="", device=DESKTOP, theme="light"):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": device["mobile"]})
        self.emulate(theme)
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}#{fragment}" if fragment else self.url)
        return self

    def emulate(self, theme):
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.find(selector).text

    def cell(self, text):
        """The cell of the grid whose label starts so."""
        return self.find(f"#grids td[aria-label^='{text}']")

    def heading(self):
        return " ".join(self.text("#heading").split())

    def chosen(self):
        return self.run("return document.querySelector('td[aria-selected=true]').ariaLabel").split(":")[0]

    def focused(self):
        return self.run("return document.activeElement.ariaLabel ?? document.activeElement.id").split(":")[0]

    def press(self, *keys):
        self.chains(self.driver).send_keys(*keys).perform()

    def choose(self, control, value):
        script = "const [s, v] = arguments; s.value = v; s.dispatchEvent(new Event('change', {bubbles: true}));"
        self.run(script, self.find(control), value)

    def goto(self, fragment):
        """Follow an address in the open page."""
        script = "const done = arguments[1]; addEventListener('hashchange', () => done(), {once: true});"
        self.driver.execute_async_script(f"{script} location.hash = arguments[0];", fragment)

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = needed(optional("selenium.webdriver"), "selenium")
    browser = needed(shutil.which("chromium"), "chromium")
    service = needed(shutil.which("chromedriver"), "chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    started.set_script_timeout(300)  # a script may walk over every cell of an operand, on a busy machine
    yield started
    started.quit()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    path.write_text(page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def explorer(driver, url):
    """The explorer; in the end the console is empty and nothing has been loaded."""
    explorer = Explorer(driver, url)
    explorer.errors()
    yield explorer
    assert explorer.errors() == []
    loaded = explorer.run("return performance.getEntriesByType('resource').map((x) => x.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert explorer.run("return document.documentElement.scrollWidth - innerWidth") <= 0


def test_opens_ready_to_use(explorer):
    explorer.open()
    assert explorer.run("return performance.getEntriesByName('interactive').length") == 1
    assert explorer.heading() == "D[5][7] → v1{39}"
    assert explorer.text("#place") == "lane 39 · register 1 · bits 31:0"
    assert explorer.driver.title == "D[5][7] → v1{39} · f32_32x32x8f16"
    assert explorer.run("return document.compatMode") == "CSS1Compat"
    assert not explorer.find("#notice").is_displayed()


CELLS = """return [...document.querySelectorAll('#grids td')].map(
    (td) => [Number(td.dataset.id), td.textContent, td.ariaLabel])"""
MODIFIED = [
    ("f32_32x32x1f32", 1, 1, 4),
    ("f32_16x16x4f16", 2, 3, 3),
    ("f32_4x4x4f16", 2, 1, 1),
    ("i32_4x4x4i8", 4, 9, 6),
]
SHOWN = [
    *((op.name, matrix, 0, 0, 0) for op in DENSE for matrix in "ABD"),
    *((name, matrix, *modifiers) for name, *modifiers in MODIFIED for matrix in "AB"),
    *(("f64_4x4x4f64", matrix, 0, 0, 5) for matrix in "ABC"),
]


def by_id(cells):
    return {number: (text.replace("\n", ""), label) for number, text, label in cells}


def test_every_cell_shows_the_register_and_lane_of_the_layout(explorer):
    explorer.open()
    for name, matrix, cbsz, abid, blgp in SHOWN:
        explorer.goto(f"op={name}&matrix={matrix}&cell=0,0,0&cbsz={cbsz}&abid={abid}&blgp={blgp}")
        lay = layout(mfma.op(name).record, matrix, cbsz, abid, blgp)
        _, row, column = lay.pattern.coordinates
        places = list(product(*map(range, lay.shape)))
        slots = [str(lay.locate(**{row: r, column: c, "block": b})) for b, r, c in places]
        cells = by_id(explorer.run(CELLS))
        assert {number: text for number, (text, _) in cells.items()} == dict(enumerate(slots)), lay
        label = f"{matrix}[0][0]{'.0' * (lay.shape[0] > 1)}: {slots[0]}, lane "
        assert cells[0][1].startswith(label)


def test_every_register_shows_the_elements_of_the_layout(explorer):
    explorer.open()
    for name, matrix, cbsz, abid, blgp in SHOWN:
        explorer.goto(f"op={name}&matrix={matrix}&view=registers&cbsz={cbsz}&abid={abid}&blgp={blgp}")
        lay = layout(mfma.op(name).record, matrix, cbsz, abid, blgp)
        held = [cell for _, *cells in registers_table(lay).rows for cell in cells]
        cells = by_id(explorer.run(CELLS))
        assert {number: label.split(": ")[1] for number, (_, label) in cells.items()} == dict(enumerate(held)), lay
        for text, label in cells.values():
            first, *more = label.split(": ")[1].split(" ")
            shown = f"{'-' * lay.negated}{first}{f' +{len(more)}' * bool(more)}"
            assert text == ("–" if first == "unused" else shown)


def test_pointing_at_a_cell_shows_it_and_leaving_shows_the_chosen_one_again(explorer):
    explorer.open()
    explorer.chains(explorer.driver).move_to_element(explorer.cell("D[12][3]:")).perform()
    assert explorer.heading() == "D[12][3] → v4{35}"
    assert explorer.chosen() == "D[5][7]"
    explorer.chains(explorer.driver).move_to_element(explorer.find("#summary")).perform()
    assert explorer.heading() == "D[5][7] → v1{39}"


def test_a_click_chooses_a_cell_and_shows_what_feeds_it(explorer):
    explorer.open()
    explorer.cell("D[12][3]:").click()
    assert explorer.chosen() == "D[12][3]"
    assert explorer.text("#sum-title") == "Row 12 of A and column 3 of B feed it"
    assert explorer.text("#sum").startswith("D[12][3] = C[12][3] + Σ A[12][k]·B[k][3]")
    a, b = (layout(mfma.op("f32_32x32x8f16").record, matrix) for matrix in "AB")
    rows = [row.text.split() for row in explorer.driver.find_elements("css selector", "#factors tbody tr")]
    assert rows == [[str(k), str(a.locate(i=12, k=k)), str(b.locate(k=k, j=3))] for k in range(8)]
    lane = [entry.text for entry in explorer.driver.find_elements("css selector", "#lane li")]
    d = layout(mfma.op("f32_32x32x8f16").record, "D")
    assert lane == [f"v{n} {spelt(d, d.element(lane=35, vgpr=n))}" for n in range(16)]
    same = explorer.run("return [...document.querySelectorAll('td.same')].map((td) => td.ariaLabel.split(':')[0])")
    assert sorted(same) == sorted(spelt(d, d.element(lane=35, vgpr=n)) for n in range(16) if n != 4)


def test_formula_is_filled_in(explorer):
    explorer.open("op=f32_32x32x8f16&matrix=A&cell=5,6,0")
    lines = explorer.text("#formula").split("\n")
    assert lines == [
        "lane = 32*(k//4) + i",
        "= 32*(6//4) + 5 = 37",
        "element = k%4",
        "= 6%4 = 2",
        "vgpr = element//2",
        "= 2//2 = 1",
        "low_bit = 16*(element%2)",
        "= 16*(2%2) = 0",
    ]


@pytest.mark.parametrize(
    ("matrix", "title", "first"),
    [
        ("A", "It feeds row 2 of D", ["0", "v0{16}", "v2{0}"]),
        ("B", "It feeds column 1 of D", ["0", "v0{16}", "v0{1}"]),
        ("C", "It is the addend of D[2][1]", ["0", "v0{2}", "v0{1}"]),
    ],
)
def test_what_an_input_feeds(explorer, matrix, title, first):
    cell = {"A": "2,1,0", "B": "1,1,0", "C": "2,1,0"}[matrix]
    explorer.open(f"op=f32_16x16x4f32&matrix={matrix}&cell={cell}")
    assert explorer.text("#sum-title") == title
    assert explorer.text("#factors tbody tr").split() == first


def test_links_lead_to_the_inputs_and_back(explorer):
    explorer.open()
    explorer.find("#factors tbody tr:nth-child(7) a").click()
    assert explorer.heading() == "A[5][6] → v1{37}.[15:0]"
    assert explorer.find("#matrix input[value=A]").is_selected()
    explorer.driver.back()
    assert explorer.heading() == "D[5][7] → v1{39}"


def test_the_map_leads_to_a_cell(explorer):
    explorer.open()
    # The unit of the map is 7 pixels; its first column of A is at the left, below B.
    target = explorer.find("#map")
    width, height = target.size["width"], target.size["height"]
    x, y = 2 + 7 * 3.5 - width / 2, height / 2 - 2 - 7 * 0.5
    explorer.chains(explorer.driver).move_to_element_with_offset(target, round(x), round(y)).click().perform()
    assert explorer.heading() == "A[31][3] → v1{31}.[31:16]"


def test_keyboard_alone_is_enough(explorer):
    explorer.open("op=f32_16x16x4f16&matrix=D&cell=5,7,1")
    keys = explorer.keys
    visited = []
    active = "const x = document.activeElement; return x.id || x.name || x.tagName"
    for _ in range(12):
        explorer.press(keys.TAB)
        visited.append(explorer.run(active))
        if explorer.focused() == "D[5][7].1":
            break
    assert visited == ["op", "cbsz", "blgp", "theme", "SUMMARY", "matrix", "view", "TD"]
    assert explorer.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    steps = [
        (keys.ARROW_RIGHT, "D[5][8].1"),
        (keys.ARROW_DOWN, "D[6][8].1"),
        (keys.ARROW_LEFT, "D[6][7].1"),
        (keys.ARROW_UP, "D[5][7].1"),
        (keys.HOME, "D[5][0].1"),
        (keys.ARROW_LEFT, "D[5][0].1"),
        (keys.END, "D[5][15].1"),
        (keys.PAGE_DOWN, "D[5][15].2"),
        (keys.PAGE_UP, "D[5][15].1"),
    ]
    for key, expected in steps:
        explorer.press(key)
        assert explorer.focused() == explorer.chosen() == expected
    d = layout(mfma.op("f32_16x16x4f16").record, "D")
    explorer.press(keys.ENTER)
    assert explorer.focused() == str(d.locate(i=5, j=15, block=1))
    assert explorer.heading() == f"{d.locate(i=5, j=15, block=1)} ← D[5][15].1"
    explorer.press(keys.ARROW_DOWN)
    assert explorer.heading() == "v5{32} ← D[9][0].1"
    explorer.press(keys.ENTER)
    assert explorer.focused() == "D[9][0].1"
    explorer.chains(explorer.driver).key_down(keys.CONTROL).send_keys(keys.HOME).key_up(keys.CONTROL).perform()
    assert explorer.focused() == "D[0][0].1"


def test_matrix_and_arrangement_by_keyboard(explorer):
    explorer.open()
    explorer.run("arguments[0].focus()", explorer.find("#matrix input[value=D]"))
    explorer.press(explorer.keys.ARROW_LEFT)
    assert explorer.heading() == "C[5][7] → v1{39}"
    explorer.press(explorer.keys.ARROW_LEFT)
    assert explorer.heading() == "B[0][7] → v0{7}.[15:0]"
    shadow = "return getComputedStyle(document.activeElement.nextElementSibling).outlineStyle"
    assert explorer.run(shadow) == "solid"


def test_only_legal_modifiers_can_be_chosen(explorer):
    explorer.open("op=f32_32x32x8f16")
    disabled = "return [...document.querySelectorAll('select:disabled')].map((x) => [x.id, x.title])"
    assert [name for name, _ in explorer.run(disabled)] == ["cbsz", "abid", "blgp"]
    assert explorer.run(disabled)[0][1].startswith("0 only: it has one block")
    explorer.choose("#op", "f32_4x4x4f16")
    values = "return [...document.getElementById(arguments[0]).options].map((x) => Number(x.value))"
    assert explorer.run(values, "cbsz") == [0, 1, 2, 3, 4]
    assert explorer.run(values, "abid") == [0]
    explorer.choose("#cbsz", "3")
    assert explorer.run(values, "abid") == list(range(8))
    explorer.choose("#abid", "7")
    explorer.choose("#cbsz", "2")
    assert explorer.run("return document.getElementById('abid').value") == "0"
    assert explorer.run(values, "blgp") == list(range(8))


def test_a_modifier_moves_the_lanes(explorer):
    explorer.open("op=f32_4x4x4f16&matrix=A&cell=2,1,7")
    assert explorer.heading() == "A[2][1].7 → v0{30}.[31:16]"
    explorer.choose("#cbsz", "2")
    explorer.choose("#abid", "1")
    assert explorer.heading() == "A[2][1].7 → v0{22}.[31:16]"
    assert explorer.text("#moved") == "The modifiers read lane position 30 from lane 22."
    explorer.find("input[value=registers] + span").click()
    assert explorer.heading() == "v0{22}.[31:16] ← A[2][1].4..7"
    explorer.cell("v0{30}.[31:16]").click()
    assert explorer.heading() == "v0{30}.[31:16] ← nothing"
    assert not explorer.find("#product").is_displayed()


def test_negation_is_shown(explorer):
    explorer.open("op=f64_16x16x4f64&matrix=C&cell=9,3,0&blgp=4")
    assert explorer.heading() == "C[9][3] → -v[5:4]{19}"
    assert explorer.text("#place") == "lane 19 · registers 4 and 5 · bits 63:0, negated as it is read"
    assert explorer.text("#sum").startswith("D[9][3] = -C[9][3] + Σ A[9][k]·B[k][3]")
    assert explorer.text("#sum").endswith("D in v[5:4]{19}")


def address(explorer):
    """The address once it has settled."""
    return explorer.driver.execute_async_script("setTimeout(arguments[0], 250, null)") or explorer.run(
        "return location.hash"
    )


def test_the_address_follows_and_leads_back(explorer):
    explorer.open()
    explorer.choose("#op", "f32_16x16x4f16")
    explorer.choose("#blgp", "3")
    explorer.find("#matrix input[value=B] + span").click()
    explorer.cell("B[3][9].2:").click()
    link = address(explorer)
    assert link == "#op=f32_16x16x4f16&matrix=B&cell=3,9,2&blgp=3"
    heading = explorer.heading()
    b = layout(mfma.op("f32_16x16x4f16").record, "B", blgp=3)
    assert heading == f"B[3][9].2 → {b.locate(k=3, j=9, block=2)}"
    explorer.open(link[1:])
    assert explorer.heading() == heading
    explorer.find("input[value=registers] + span").click()
    slot = b.locate(k=3, j=9, block=2)
    place = f"view=registers&lane={slot.lane}&vgpr={slot.vgpr}&bit={slot.low_bit}"
    assert address(explorer) == f"#op=f32_16x16x4f16&matrix=B&{place}&blgp=3"
    explorer.open(address(explorer)[1:])
    assert explorer.heading().startswith(f"{slot} ← ")


def test_an_address_takes_any_name_of_an_instruction(explorer):
    explorer.open("op=V_MFMA_F32_16X16X4_4B_F16&matrix=d&cell=1,2,3&cbsz=&abid=&blgp=")
    assert explorer.run("return document.getElementById('op').value") == "f32_16x16x4f16"
    assert explorer.heading() == "D[1][2].3 → v13{2}"


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("op=f32_9x9", "gfx942 has no instruction f32_9x9; choose one of the list."),
        ("matrix=E", "There is no matrix E; there are A, B, C and D."),
        ("view=lanes", "There is no view lanes; there are elements and registers."),
        ("op=f32_32x32x1f32&cbsz=2", "f32_32x32x1f32 takes cbsz 0..1, not 2: it has 2 blocks."),
        ("op=f32_32x32x1f32&cbsz=1&abid=2", "f32_32x32x1f32 takes abid 0..1, not 2: abid is the block within"),
        ("op=f64_4x4x4f64&cbsz=1", "f64_4x4x4f64 takes cbsz 0 only, not 1: f64 instructions cannot broadcast A."),
        ("blgp=x", "f32_32x32x8f16 takes blgp 0 only, not x: two vendor texts disagree"),
        ("cell=32,0,0", "D of f32_32x32x8f16 has no cell 32,0,0; it has i 0..31, j 0..31, block 0..0."),
        ("cell=a", "D of f32_32x32x8f16 has no cell a; it has"),
        ("view=registers&lane=64", "D of f32_32x32x8f16 has no element at that lane and register; it has lanes 0..63"),
    ],
)
def test_a_wrong_address_is_refused_in_words(explorer, fragment, message):
    explorer.open(fragment)
    assert explorer.text("#notice").startswith(message)
    assert explorer.heading().startswith(("D[5][7]", "D[3][3]", "v1{39} ← "))
    explorer.find("#matrix input[value=A] + span").click()
    assert not explorer.find("#notice").is_displayed()


def test_an_address_cannot_bring_markup(explorer):
    explorer.open("op=%3Cimg%20src=x%20onerror=alert(1)%3E&matrix=%3Cb%3E&cell=%3Ci%3E")
    assert explorer.run("return document.querySelectorAll('img, #notice b, #notice i').length") == 0


def test_phone(explorer):
    explorer.open(device=PHONE)
    readout = explorer.find("#readout").rect
    assert readout["y"] + readout["height"] == pytest.approx(PHONE["height"], abs=1)
    cell = explorer.cell("D[6][9]:")
    assert cell.rect["width"] >= 24
    assert cell.rect["height"] >= 24
    box = explorer.run(
        "const r = arguments[0].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]", cell
    )
    touch = {"type": "touchStart", "touchPoints": [{"x": box[0], "y": box[1]}]}
    explorer.driver.execute_cdp_cmd("Input.dispatchTouchEvent", touch)
    explorer.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    explorer.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 100))")
    assert explorer.heading() == "D[6][9] → v2{41}"
    explorer.goto("op=i32_16x16x32_i8&matrix=B&view=registers&lane=40&vgpr=1&bit=8")
    visible = "const r = document.querySelector('td.shown').getBoundingClientRect(); return [r.top, r.bottom]"
    top, bottom = explorer.run(visible)
    assert top >= 0
    assert bottom <= explorer.run("return document.getElementById('readout').getBoundingClientRect().top")


def pixels(explorer, points):
    """Colours of a screenshot at points of the page."""
    shot = explorer.driver.get_screenshot_as_png()
    assert struct.unpack(">8sI4sII", shot[:24])[-2:] == (DESKTOP["width"], DESKTOP["height"])
    script = """
    const [data, points, done] = arguments, image = new Image();
    image.onload = () => {
      const canvas = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height});
      const context = canvas.getContext("2d", {willReadFrequently: true});
      context.drawImage(image, 0, 0);
      done(points.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3)));
    };
    image.src = "data:image/png;base64," + data;
    """
    found = explorer.driver.execute_async_script(script, base64.b64encode(shot).decode(), points)
    return ["#" + bytes(colour).hex() for colour in found]


CORNER = "const r = arguments[0].getBoundingClientRect(); return [Math.round(r.x) + 2, Math.round(r.y) + 2]"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_screenshot_has_the_colours_of_the_theme(explorer, theme):
    explorer.open(theme=theme)
    number = ["light", "dark"].index(theme)
    cells = [explorer.run(CORNER, explorer.cell(text)) for text in ("D[0][0]:", "D[4][0]:")]
    assert pixels(explorer, [*cells, [2, 2]]) == [FILLS[number][0], FILLS[number][1], PAPER[number]]
    other = ["dark", "light"][number]
    while explorer.text("#theme") != f"Theme: {other}":
        explorer.find("#theme").click()
    assert pixels(explorer, [*cells, [2, 2]]) == [FILLS[1 - number][0], FILLS[1 - number][1], PAPER[1 - number]]


CLIPPED = """return [...document.querySelectorAll('#grids td')].filter(
    (td) => td.scrollWidth > td.clientWidth).map((td) => td.ariaLabel)"""


def test_all_of_it_can_be_read_at_any_width(explorer):
    for width in (320, 600, 760, 901, 1100, 2560):
        for name, matrix in (("f32_32x32x1f32", "D"), ("f32_16x16x32_fp8_fp8", "A"), ("f32_4x4x4f16", "B")):
            explorer.open(f"op={name}&matrix={matrix}", device={**DESKTOP, "width": width})
            assert explorer.run(CLIPPED) == [], (width, name)
            assert explorer.run("return document.documentElement.scrollWidth - innerWidth") <= 0, (width, name)
