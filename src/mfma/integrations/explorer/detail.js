// What is known of a cell: its place, the formula, what it feeds or what feeds it, its lane.

/** The slot of an element, as a link to it. */
function slotLink(matrix, n) {
  const p = placement(matrix);
  const href = address({ matrix, n });
  return `<a class="chip ${p.colourOf(p.lane[n])}" href="${href}">${escape(p.slotText(p.slotOf(n)))}</a>`;
}

/** Show a cell: an element where the grid is by elements, a slot where it is by registers. */
function show(id) {
  const { p } = drawn;
  const elements = state.view === "elements";
  const slot = elements ? p.slotOf(id) : id;
  const n = elements ? id : heldFirst(p, slot);
  mark(id);
  const [left, arrow, right] = elements
    ? [p.elementText(id), "→", p.slotText(slot)]
    : [p.slotText(slot), "←", p.heldText(slot) || "nothing"];
  $("heading").innerHTML = `<span>${escape(left)}</span><b>${arrow}</b><span>${escape(right)}</span>`;
  $("place").textContent = p.where(slot);
  document.title = `${left} ${arrow} ${right} · ${state.op.name}`;
  for (const section of [$("formula").parentElement, $("product")]) section.hidden = n === undefined;
  if (n !== undefined) {
    showFormula(p, n);
    showProduct(p, n);
  }
  showLane(p, slot);
}

/** The formulas of the layout, as they are and with the numbers of the element. */
function showFormula(p, n) {
  const element = p.element[n];
  const known = { ...Object.fromEntries(p.axes.map((axis, at) => [axis, p.place(n)[at]])), element };
  const [vgpr, low_bit] = p.starts[element];
  const value = { lane: p.positions[n], element, vgpr, low_bit };
  const rules = p.formulas.flatMap((text) => text.split(/, (?=\w+ = )/)).map((text) => text.split(" = "));
  $("formula").innerHTML = each(rules, ([name, rule]) => {
    const filled = rule.split(", ")[0].replace(/\b(block|element|[ijk])\b/g, (axis) => known[axis]);
    const result = filled === `${value[name]}` ? filled : `${filled} = ${value[name]}`;
    const left = name === "lane" && p.moved ? "lane position" : name;
    return `<dt>${left} = ${escape(rule)}</dt><dd>= ${escape(result)}</dd>`;
  });
  $("moved").hidden = p.positions[n] === p.lane[n];
  $("moved").textContent = `The modifiers read lane position ${p.positions[n]} from lane ${p.lane[n]}.`;
}

/** What an element has to do with D = C + A·B: in words, as a sum, as areas of the map, as a list of pairs. */
function relation(p, n) {
  const { m, n: width, k: depth } = state.op;
  const [block, row, column] = p.place(n);
  const at = (matrix, r, c) => [matrix, placement(matrix).index(block, r, c)];
  const name = (matrix, r, c) => `${placement(matrix).negated ? "-" : ""}${matrix}[${r}][${c}]`;
  if (p.matrix === "A") {
    return {
      title: `It feeds row ${row} of D`,
      sum: `${name("D", row, "j")} += ${name("A", row, column)}·${name("B", column, "j")}`,
      head: ["j", name("B", column, "j"), name("D", row, "j")],
      pairs: range(width).map((j) => [at("B", column, j), at("D", row, j)]),
      areas: { A: [row, column, 1, 1], B: [column, 0, 1, width], D: [row, 0, 1, width] },
    };
  }
  if (p.matrix === "B") {
    return {
      title: `It feeds column ${column} of D`,
      sum: `${name("D", "i", column)} += ${name("A", "i", row)}·${name("B", row, column)}`,
      head: ["i", name("A", "i", row), name("D", "i", column)],
      pairs: range(m).map((i) => [at("A", i, row), at("D", i, column)]),
      areas: { A: [0, row, m, 1], B: [row, column, 1, 1], D: [0, column, m, 1] },
    };
  }
  const [sigma, k] = depth > 1 ? ["Σ ", "k"] : ["", 0];
  const d = name("D", row, column);
  return {
    title: p.matrix === "D" ? `Row ${row} of A and column ${column} of B feed it` : `It is the addend of ${d}`,
    sum: `${d} = ${name("C", row, column)} + ${sigma}${name("A", row, k)}·${name("B", k, column)}`,
    other: p.matrix === "D" ? "C" : "D",
    head: ["k", name("A", row, "k"), name("B", "k", column)],
    pairs: range(depth).map((k) => [at("A", row, k), at("B", k, column)]),
    areas: { A: [row, 0, 1, depth], B: [0, column, depth, 1], D: [row, column, 1, 1] },
  };
}

function showProduct(p, n) {
  const { title, sum, other, head, pairs, areas } = relation(p, n);
  const [block] = p.place(n);
  $("sum-title").textContent = p.blocks > 1 ? `${title}, block ${block}` : title;
  $("sum").innerHTML = escape(sum) + (other ? `<br>${other} in ${slotLink(other, n)}` : "");
  $("factors").tHead.innerHTML = `<tr>${each(head, (text) => `<th scope="col">${text}</th>`)}</tr>`;
  $("factors").tBodies[0].innerHTML = pairs
    .map((pair, at) => `<tr><th scope="row">${at}</th>${each(pair, (to) => `<td>${slotLink(...to)}</td>`)}</tr>`)
    .join("");
  drawMap(block);
  markMap(areas);
}

/** The whole lane: what each of its registers holds. */
function showLane(p, slot) {
  const lane = p.laneOf(slot);
  const href = (to) => address({ view: "registers", slot: to });
  $("lane-title").innerHTML = `<a href="${href(slot)}">Lane ${lane} of ${p.matrix}</a>`;
  $("lane").innerHTML = each(p.slotsOf(lane), (other) => {
    const text = `${p.slotText(other).replace(`{${lane}}`, "")} ${p.heldText(other) || "unused"}`;
    return `<li><a${other === slot ? ' aria-current="true"' : ""} href="${href(other)}">${escape(text)}</a></li>`;
  });
}
