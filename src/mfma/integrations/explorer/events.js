// What pointer, keyboard and address do.

function draw() {
  drawControls();
  drawGrid();
  show(current());
}

/** Show what the address names. */
function open() {
  read();
  draw();
  history.replaceState(null, "", here());
  cells[current()].scrollIntoView({ block: "nearest", inline: "center" });
}

/** Choose a cell of the grid, for good. */
function pick(id) {
  const { p } = drawn;
  choosable(current(), false);
  if (state.view === "elements") choose(p, id);
  else chooseSlot(p, id);
  choosable(id, true);
  show(id);
  write();
}

/** Change part of the state and draw anew. */
function change(values) {
  Object.assign(state, values);
  for (const name of MODIFIERS) if (!(state[name] in legal(name))) state[name] = 0;
  const p = placement(state.matrix);
  choose(p, chosen(p));
  $("notice").hidden = true;
  draw();
  write();
}

/** Where a key leads from a cell, or nowhere. */
function step(id, event) {
  const { columns, rows, panels } = drawn;
  const column = id % columns;
  const row = Math.floor(id / columns);
  const panel = Math.floor(row / rows);
  const total = rows * panels;
  const end = event.ctrlKey || event.metaKey;
  const to = {
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: [end ? panel * rows : row, 0],
    End: [end ? panel * rows + rows - 1 : row, columns - 1],
    PageUp: [Math.max(row - rows, row % rows), column],
    PageDown: [Math.min(row + rows, total - rows + (row % rows)), column],
  }[event.key];
  return to && clamp(to[0], total) * columns + clamp(to[1], columns);
}

buildControls();
$("op").addEventListener("change", (event) => change({ op: OPS.get(event.target.value), cbsz: 0, abid: 0, blgp: 0 }));
for (const name of MODIFIERS)
  $(name).addEventListener("change", (event) => change({ [name]: Number(event.target.value) }));
$("view").addEventListener("change", (event) => change({ [event.target.name]: event.target.value }));
for (const id of ["controls", "view"]) $(id).addEventListener("submit", (event) => event.preventDefault());

const grids = $("grids");
const cellOf = (event) => event.target.closest?.("td");
grids.addEventListener("pointerover", (event) => {
  const td = cellOf(event);
  if (td && event.pointerType === "mouse") show(Number(td.dataset.id));
});
grids.addEventListener("pointerleave", () => show(current()));
grids.addEventListener("focusin", (event) => cellOf(event) && pick(Number(cellOf(event).dataset.id)));
grids.addEventListener("click", (event) => cellOf(event)?.focus());
grids.addEventListener("keydown", (event) => {
  const td = cellOf(event);
  if (!td || event.altKey) return;
  const to = step(Number(td.dataset.id), event);
  if (to !== undefined) {
    event.preventDefault();
    cells[to].focus();
  } else if (event.key === "Enter") {
    event.preventDefault();
    change({ view: state.view === "elements" ? "registers" : "elements" });
    cells[current()].focus();
  }
});

$("map").addEventListener("click", (event) => {
  const found = onMap(event);
  if (found) location.hash = address(found);
});

const THEMES = ["auto", "light", "dark"];
$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length];
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  $("theme").textContent = `Theme: ${next}`;
});

addEventListener("hashchange", () => {
  clearTimeout(writing);
  open();
});
let resizing;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if (grids.clientWidth - 6 === drawn.width) return;
    const focused = document.activeElement.closest?.("#grids");
    draw();
    if (focused) cells[current()].focus();
  }, 100);
});

open();
performance.mark("interactive");
