// What is chosen, and the address that names it.

const state = {
  op: OPS.get("f32_32x32x8f16"),
  matrix: "D",
  view: "elements",
  cbsz: 0,
  abid: 0,
  blgp: 0,
  at: { i: 5, j: 7, k: 0, block: 0 },
  slot: 0,
};

/** The chosen element of a matrix: the coordinates are kept when another matrix is looked at. */
function chosen(p) {
  const [block, row, column] = p.axes.map((axis, n) => clamp(state.at[axis], p.shape[n]));
  return p.index(block, row, column);
}
function choose(p, n) {
  p.place(n).forEach((value, axis) => (state.at[p.axes[axis]] = value));
  state.slot = p.slotOf(n);
}
/** Choose a slot, and an element that it holds. */
function chooseSlot(p, slot) {
  const n = heldFirst(p, slot);
  if (n !== undefined) choose(p, n);
  state.slot = slot;
}
/** An element of a slot, the chosen one if it holds it; nothing if it holds none. */
function heldFirst(p, slot) {
  return p.held[slot].includes(chosen(p)) ? chosen(p) : p.held[slot][0];
}

/** The address of an element, or of a slot. */
function address({ matrix = state.matrix, view = "elements", n, slot } = {}) {
  const p = placement(matrix);
  const parts = [
    ["op", state.op.name],
    ["matrix", matrix],
  ];
  if (view === "registers") {
    const [vgpr, low] = p.starts[slot % p.perLane];
    parts.push(["view", view], ["lane", Math.floor(slot / p.perLane)], ["vgpr", vgpr], ["bit", low]);
  } else {
    const [block, row, column] = p.place(n);
    parts.push(["cell", `${row},${column},${block}`]);
  }
  for (const name of MODIFIERS) if (state[name]) parts.push([name, state[name]]);
  return `#${parts.map((part) => part.join("=")).join("&")}`;
}

/** Take the state from the address; say what in it does not exist and fall back. */
function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const wrong = [];
  const name = given.get("op");
  if (name !== null) {
    const found = NAMES.get(name.trim().toLowerCase());
    if (found) state.op = OPS.get(found);
    else wrong.push(`${DATA.target} has no instruction ${name}; choose one of the list.`);
  }
  const matrix = given.get("matrix")?.toUpperCase() ?? state.matrix;
  if (MATRICES.includes(matrix)) state.matrix = matrix;
  else wrong.push(`There is no matrix ${matrix}; there are A, B, C and D.`);
  const view = given.get("view") ?? "elements";
  state.view = view === "registers" ? view : "elements";
  if (view !== state.view) wrong.push(`There is no view ${view}; there are elements and registers.`);
  for (const modifier of MODIFIERS) {
    const value = given.get(modifier) || "0";
    state[modifier] = /^\d+$/.test(value) ? Number(value) : -1;
    if (!(state[modifier] in legal(modifier))) {
      const allowed = legal(modifier).length > 1 ? `0..${legal(modifier).length - 1}` : "0 only";
      wrong.push(`${state.op.name} takes ${modifier} ${allowed}, not ${value}: ${state.op.reasons[modifier]}`);
      state[modifier] = 0;
    }
  }
  const p = placement(state.matrix);
  const [row, column, block = 0] = (given.get("cell") ?? "").split(",").map(Number);
  if (given.has("cell")) {
    if ([block, row, column].every((value, n) => Number.isInteger(value) && value >= 0 && value < p.shape[n])) {
      choose(p, p.index(block, row, column));
    } else {
      const [b, r, c] = p.axes.map((axis, n) => `${axis} 0..${p.shape[n] - 1}`);
      wrong.push(`${state.matrix} of ${state.op.name} has no cell ${given.get("cell")}; it has ${r}, ${c}, ${b}.`);
    }
  }
  choose(p, chosen(p));
  const lane = Number(given.get("lane") ?? 0);
  const element = p.starts.findIndex(
    ([v, low]) => v === Number(given.get("vgpr") ?? 0) && low === Number(given.get("bit") ?? 0),
  );
  if (state.view === "registers" && given.has("lane")) {
    if (Number.isInteger(lane) && lane >= 0 && lane < 64 && element >= 0) chooseSlot(p, lane * p.perLane + element);
    else {
      const places = `lanes 0..63, ${p.register[0]} to ${p.register.at(-1)}`;
      wrong.push(`${state.matrix} of ${state.op.name} has no element at that lane and register; it has ${places}.`);
    }
  }
  $("notice").textContent = wrong.join(" ");
  $("notice").hidden = !wrong.length;
}

/** Labels of the legal values of a modifier; those of abid depend on cbsz. */
function legal(modifier) {
  const { cbsz, blgp } = state.op.modifiers;
  if (modifier === "abid") return cbsz[state.cbsz].abid;
  return modifier === "cbsz" ? cbsz.map((x) => x.label) : blgp;
}

let writing;
/** Keep the address up to date; late, as browsers refuse many changes a second. */
function write() {
  clearTimeout(writing);
  writing = setTimeout(() => history.replaceState(null, "", here()), 150);
}
function here() {
  return address({ view: state.view, n: chosen(placement(state.matrix)), slot: state.slot });
}
