// The instruction, its modifiers, the matrix and its colours.

function buildControls() {
  const groups = Map.groupBy(DATA.ops, (op) => op.types);
  $("op").innerHTML = [...groups]
    .map(
      ([types, ops]) =>
        `<optgroup label="${escape(types)}">${ops.map((op) => `<option>${op.name}</option>`).join("")}</optgroup>`,
    )
    .join("");
  $("matrix").insertAdjacentHTML(
    "beforeend",
    MATRICES.map(
      (name) => `<label><input type="radio" name="matrix" value="${name}"><span>${name}<small></small></span></label>`,
    ).join(""),
  );
}

function drawControls() {
  const { op } = state;
  $("op").value = op.name;
  for (const name of MODIFIERS) {
    const labels = legal(name);
    const select = $(name);
    select.innerHTML = labels.map((label, n) => `<option value="${n}">${escape(label)}</option>`).join("");
    select.value = state[name];
    select.disabled = labels.length === 1;
    select.title = select.disabled ? `0 only: ${op.reasons[name]}` : "";
  }
  for (const input of $("view").elements) if (input.type === "radio") input.checked = state[input.name] === input.value;
  for (const input of $("matrix").querySelectorAll("input")) {
    const { rows, columns } = placement(input.value);
    input.parentElement.querySelector("small").textContent = `${rows}×${columns}`;
  }
  const blocks = op.blocks > 1 ? `${op.blocks} blocks` : "one block";
  $("summary").innerHTML =
    `<code>${op.mnemonic}</code> · D = A·B + C, ${blocks} of ${op.m}×${op.n}×${op.k} · ${escape(op.types)}`;
  $("facts").innerHTML = op.facts.map(([name, text]) => `<dt>${escape(name)}</dt><dd>${escape(text)}</dd>`).join("");
  const p = placement(state.matrix);
  const read = new Set(p.lane.map((lane) => p.colourOf(lane)));
  $("lanes").innerHTML = range(64 / p.lanesAlike, 0, p.lanesAlike)
    .filter((lane) => read.has(p.colourOf(lane)))
    .map((lane) => `<li class="${p.colourOf(lane)}">${lane}..${lane + p.lanesAlike - 1}</li>`)
    .join("");
}
