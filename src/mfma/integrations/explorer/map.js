// The product as a map of the lanes: A on the left, B above, D at the corner, a square for every element.

const MAP = { width: 326, unit: 14, gap: 16 };

let map = {};

function drawMap(block) {
  const key = [state.op.name, block, ...MODIFIERS.map((name) => state[name])].join();
  if (map.key === key) return;
  const { m, n, k } = state.op;
  const unit = Math.min(MAP.unit, Math.floor((MAP.width - MAP.gap) / (k + n)));
  const corner = k * unit + MAP.gap;
  const origin = { A: [0, corner], B: [corner, 0], D: [corner, corner] };
  const [width, height] = [corner + n * unit, corner + m * unit];
  const areas = Object.entries(origin).map(([matrix, [left, top]]) => {
    const p = placement(matrix);
    const line = (r) => coloured(range(p.columns, p.index(block, r, 0)).map((at) => p.colourOf(p.lane[at])));
    return range(p.rows)
      .map((r) =>
        each(line(r), ({ colour, first, count }) => {
          const [x, y] = [left + first * unit, top + r * unit];
          return `<rect class="${colour}" x="${x}" y="${y}" width="${count * unit}" height="${unit}"/>`;
        }),
      )
      .join("");
  });
  const labels = { A: [0, corner - 5], B: [corner - 12, 9], D: [corner - 12, corner - 5] };
  const texts = each(Object.entries(labels), ([name, [x, y]]) => `<text x="${x}" y="${y}">${name}</text>`);
  const marks = each(Object.keys(origin), (name) => `<rect class="mark" data-matrix="${name}" rx="2"/>`);
  $("map").setAttribute("viewBox", `-2 -2 ${width + 4} ${height + 4}`);
  $("map").setAttribute("width", width + 4);
  $("map").innerHTML = areas.join("") + texts + marks;
  map = { key, block, unit, origin };
}

/** Colours of neighbours as runs. */
function coloured(colours) {
  const runs = [];
  colours.forEach((colour, at) => {
    if (runs.at(-1)?.colour === colour) runs.at(-1).count += 1;
    else runs.push({ colour, first: at, count: 1 });
  });
  return runs;
}

/** Outline an area of each matrix: first row and column, and how many. */
function markMap(areas) {
  for (const rect of $("map").querySelectorAll(".mark")) {
    const [left, top] = map.origin[rect.dataset.matrix];
    const [row, column, height, width] = areas[rect.dataset.matrix].map((number) => number * map.unit);
    const box = { x: left + column, y: top + row, width, height };
    for (const side in box) rect.setAttribute(side, box[side]);
  }
}

/** The element under a point of the page: its matrix and number, or nothing. */
function onMap(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform($("map").getScreenCTM().inverse());
  for (const [matrix, [left, top]] of Object.entries(map.origin)) {
    const p = placement(matrix);
    const row = Math.floor((point.y - top) / map.unit);
    const column = Math.floor((point.x - left) / map.unit);
    if (row === clamp(row, p.rows) && column === clamp(column, p.columns)) {
      return { matrix, n: p.index(map.block, row, column) };
    }
  }
  return null;
}
