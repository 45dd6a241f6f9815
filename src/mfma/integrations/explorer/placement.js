// Where elements are. The tables come from the layout objects of mfma; they are looked up here, nothing is computed.
// All scripts of this folder are one module of the page, joined in the order of mfma.integrations.explorer.document.

const DATA = JSON.parse(document.getElementById("tables").textContent);
const OPS = new Map(DATA.ops.map((op) => [op.name, op]));
const NAMES = new Map(DATA.ops.flatMap((op) => op.names.map((name) => [name.toLowerCase(), op.name])));
const MATRICES = ["A", "B", "C", "D"];
const MODIFIERS = ["cbsz", "abid", "blgp"];

const $ = (id) => document.getElementById(id);
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const range = (count, first = 0, step = 1) => Array.from({ length: count }, (_, n) => first + n * step);
const each = (list, write) => list.map(write).join("");
const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);

/** Placement of one matrix under modifiers: every element's slot, and every slot's elements. */
class Placement {
  constructor(op, matrix, { cbsz, abid, blgp }) {
    Object.assign(this, DATA.layouts[op.layouts[matrix]], { op, matrix });
    [this.blocks, this.rows, this.columns] = this.shape;
    this.perLane = this.starts.length;
    this.lanesAlike = DATA.colours[this.colours].lastIndexOf(this.colourOf(0)) + 1;
    this.negated = (op.negated[matrix] ?? []).includes(blgp);
    const key = { A: `${cbsz},${abid}`, B: `${blgp}` }[matrix];
    const source = DATA.sources[op.sources[matrix]?.[key]];
    this.moved = source !== undefined;
    this.positions = this.lane; // what the formulas give
    if (this.moved) this.lane = this.positions.map((position) => source[position]);
    this.held = range(64 * this.perLane).map(() => []);
    this.lane.forEach((lane, n) => this.held[this.slotOf(n)].push(n));
  }
  index(block, row, column) {
    return (block * this.rows + row) * this.columns + column;
  }
  place(n) {
    const row = Math.floor(n / this.columns);
    return [Math.floor(row / this.rows), row % this.rows, n % this.columns];
  }
  slotOf(n) {
    return this.lane[n] * this.perLane + this.element[n];
  }
  laneOf(slot) {
    return Math.floor(slot / this.perLane);
  }
  slotsOf(lane) {
    return range(this.perLane, lane * this.perLane);
  }
  colourOf(lane) {
    return DATA.colours[this.colours][lane];
  }
  /** The text of a slot in pieces: register, lane, bits. */
  slotPieces(slot) {
    const element = slot % this.perLane;
    const register = `${this.negated ? "-" : ""}${this.register[element]}`;
    return [register, `{${this.laneOf(slot)}}`, this.part[element]].filter(Boolean);
  }
  slotText(slot) {
    return this.slotPieces(slot).join("");
  }
  /** The text of an element in pieces: row, column, block. */
  elementPieces(n, blocks) {
    const [block, row, column] = this.place(n);
    const suffix = this.blocks > 1 ? `.${blocks ?? block}` : "";
    return [`${this.matrix}[${row}]`, `[${column}]${suffix}`];
  }
  elementText(n) {
    return this.elementPieces(n).join("");
  }
  /** The elements of a slot, those that differ in their block only as one; each in pieces. */
  heldPieces(slot) {
    const alike = Map.groupBy(this.held[slot], (n) => n % (this.rows * this.columns));
    return [...alike.keys()]
      .sort((a, b) => a - b)
      .map((key) => {
        const all = alike.get(key);
        return this.elementPieces(all[0], spans(all.map((n) => this.place(n)[0])));
      });
  }
  heldText(slot) {
    return this.heldPieces(slot)
      .map((pieces) => pieces.join(""))
      .join(" ");
  }
  where(slot) {
    const [vgpr, low] = this.starts[slot % this.perLane];
    const registers = this.bits > 32 ? `registers ${vgpr} and ${vgpr + 1}` : `register ${vgpr}`;
    const sign = this.negated ? ", negated as it is read" : "";
    return `lane ${this.laneOf(slot)} · ${registers} · bits ${low + this.bits - 1}:${low}${sign}`;
  }
}

/** Ascending numbers as spans: 0..3,8. */
function spans(numbers) {
  const found = [];
  for (const n of numbers) {
    if (found.length && found.at(-1)[1] === n - 1) found.at(-1)[1] = n;
    else found.push([n, n]);
  }
  return found.map(([first, last]) => (last > first ? `${first}..${last}` : first)).join(",");
}

const placements = new Map();
function placement(matrix) {
  const key = [state.op.name, matrix, ...MODIFIERS.map((name) => state[name])].join();
  if (!placements.has(key)) placements.set(key, new Placement(state.op, matrix, state));
  return placements.get(key);
}
