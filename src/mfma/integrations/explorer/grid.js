// The grid: a matrix by its elements, or the registers by their lanes.

const FONTS = [12, 11.5, 11, 10.5, 10, 9.5];
const SCROLLED = { font: 11, padding: 6 }; // of cells that do not fit
const LABEL = 34; // width of the labels of the rows
const LINE = 15; // height of a line of text
const [LEAST, ROOM] = [3, 12]; // what the longest text leaves of a cell, at least and where there is room
const GAP = 22; // between tables
const PHONE = 560; // below this width columns are scrolled, not cut

/** What stands in the grid: panels (blocks, or groups of lanes) of rows, and for every cell text, label, colour. */
function arrangement(p) {
  return state.view === "elements" ? byElements(p) : byRegisters(p);
}

function byElements(p) {
  return {
    panels: range(p.blocks).map((b) => ({ title: p.blocks > 1 ? `block ${b}` : "", first: b * p.rows })),
    rows: p.rows,
    row: (r) => r % p.rows,
    columns: range(p.columns).map((c) => [`${c}`]),
    corner: `${p.axes[1]}\\${p.axes[2]}`,
    pieces: (n) => p.slotPieces(p.slotOf(n)),
    label: (n) => `${p.elementText(n)}: ${p.slotText(p.slotOf(n))}, ${p.where(p.slotOf(n))}`,
    colour: (n) => p.colourOf(p.lane[n]),
  };
}

function byRegisters(p) {
  const step = Math.max(p.lanesAlike, 16);
  const sign = p.negated ? "-" : "";
  return {
    panels: range(64 / step, 0, step).map((lane) => ({ title: `lanes ${lane}..${lane + step - 1}`, first: lane })),
    rows: step,
    row: (lane) => lane,
    columns: range(p.perLane).map((e) => [p.register[e], p.part[e]].filter(Boolean)),
    corner: "lane",
    pieces: (slot) => {
      const [first, ...more] = p.heldPieces(slot);
      return first ? [sign + first[0], first[1] + (more.length ? ` +${more.length}` : "")] : ["–"];
    },
    label: (slot) => `${p.slotText(slot)}: ${p.heldText(slot) || "unused"}`,
    colour: (slot) => (p.held[slot].length ? p.colourOf(p.laneOf(slot)) : "unused"),
  };
}

/** Pieces joined to a number of lines at most. */
function lines(pieces, count) {
  const first = Math.max(pieces.length - count, 0) + 1;
  return [pieces.slice(0, first).join(""), ...pieces.slice(first)];
}

/** Size of the cells: with the fewest cuts, then the lowest, then the largest text that fits; else to be scrolled. */
function fit(a, cells, width) {
  const fitting = [];
  const scrolled = [];
  const total = a.columns.length;
  for (const count of range(Math.max(...cells.map((pieces) => pieces.length)), 1)) {
    const texts = [...a.columns, ...cells.map((pieces) => lines(pieces, count))].flat();
    const longest = Math.max(...texts.map((text) => text.length)) * advance;
    const cell = longest * SCROLLED.font + SCROLLED.padding;
    scrolled.push({ count, cuts: 1, font: SCROLLED.font, cell, wide: true, cost: [cell, count] });
    for (const cuts of width > PHONE ? [1, 2, 4].filter((n) => total % n === 0 && (n === 1 || total / n >= 8)) : [1]) {
      const columns = total / cuts;
      for (const font of FONTS) {
        const cell = Math.floor(Math.min(longest * font + ROOM, (width - LABEL) / columns - 1));
        const across = Math.max(1, Math.floor((width + GAP) / (LABEL + columns * (cell + 1) + GAP)));
        const height = Math.ceil((a.panels.length * cuts) / across) * (a.rows * (count * LINE + 9) + 50);
        if (cell >= longest * font + LEAST) fitting.push({ count, cuts, font, cell, cost: [cuts, height, -font] });
      }
    }
  }
  return (fitting.length ? fitting : scrolled).reduce((best, x) => (isLess(x.cost, best.cost) ? x : best));
}

function isLess(a, b) {
  const n = a.findIndex((value, at) => value !== b[at]);
  return n >= 0 && a[n] < b[n];
}

let advance; // width of a character over its size
let cells = []; // the elements of the page, by number
let drawn = null; // what the grid shows

function drawGrid() {
  advance ??= measure();
  const p = placement(state.matrix);
  const a = arrangement(p);
  const width = $("grids").clientWidth - 6;
  const total = a.columns.length;
  const pieces = range(a.panels.length * a.rows * total).map(a.pieces);
  const size = fit(a, pieces, width);
  const share = total / size.cuts;
  const cell = (id) =>
    `<td tabindex="-1" data-id="${id}" class="${a.colour(id)}" aria-label="${escape(a.label(id))}">` +
    `${escape(lines(pieces[id], size.count).join("\n"))}</td>`;
  const table = ({ title, first }, from) => {
    const cut = size.cuts > 1 ? `columns ${from}..${from + share - 1}` : "";
    const named = [title, cut].filter(Boolean).join(", ");
    const label = [`${state.matrix} of ${state.op.name} by ${state.view}`, title, cut].filter(Boolean).join(", ");
    const heads = [[a.corner], ...a.columns.slice(from, from + share)];
    const head = heads.map((x) => `<th scope="col">${escape(x.join("\n"))}</th>`).join("");
    const body = range(a.rows, first).map(
      (r) =>
        `<tr><th scope="row">${a.row(r)}</th>${range(share, r * total + from)
          .map(cell)
          .join("")}</tr>`,
    );
    return (
      `<table role="grid" aria-label="${label}">${named && `<caption>${named}</caption>`}` +
      `<thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`
    );
  };
  const grids = $("grids");
  grids.className = size.wide ? "wide" : "";
  grids.style.setProperty("--font", `${size.font}px`);
  grids.style.setProperty("--width", `${size.cell}px`);
  grids.style.setProperty("--height", `${size.count * LINE + 9}px`);
  grids.innerHTML = a.panels.flatMap((panel) => range(size.cuts, 0, share).map((from) => table(panel, from))).join("");
  cells = new Array(pieces.length);
  for (const td of grids.querySelectorAll("td")) cells[td.dataset.id] = td;
  drawn = { p, columns: total, rows: a.rows, panels: a.panels.length, width };
  choosable(current(), true);
}

function measure() {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `100px ${getComputedStyle($("heading")).fontFamily}`;
  return context.measureText("0").width / 100;
}

/** The number of the cell that is chosen in the present arrangement. */
function current() {
  return state.view === "elements" ? chosen(placement(state.matrix)) : state.slot;
}

/** Make a cell the one that Tab leads to, or no longer. */
function choosable(id, yes) {
  cells[id].tabIndex = yes ? 0 : -1;
  cells[id].ariaSelected = yes ? "true" : null;
}

/** Mark a cell, and outline the others of its lane. */
function mark(id) {
  const { p } = drawn;
  for (const td of $("grids").querySelectorAll(".shown, .same")) td.classList.remove("shown", "same");
  const slots = p.slotsOf(p.laneOf(state.view === "elements" ? p.slotOf(id) : id));
  const same = state.view === "elements" ? slots.flatMap((slot) => p.held[slot]) : slots;
  for (const other of same) cells[other].classList.add(other === id ? "shown" : "same");
}
