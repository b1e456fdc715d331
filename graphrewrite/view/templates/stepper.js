"use strict";
// The rewrite viewer. All that it shows comes as data from Python; text enters the page as text, never as markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const STATES = ["kept", "removed", "added"];
  const MARKS = ["", "removed", "added", "matched"];
  const WORDS = { removed: "removed", added: "new", matched: "matched" };
  const SHAPE = 14; // numbers of a shape in a row
  const MOST_CHIPS = 24, MOST_FINDS = 14;
  const SMALLEST = 0.62; // below this scale nothing can be read: then a part is shown
  const $ = (id) => document.getElementById(id);

  // ---------------------------------------------------------------- the data, with names

  const cards = DATA.cards.map(([name, kind, place, doc, pattern, fired]) => ({ name, kind, place, doc, pattern, fired }));
  const boxes = DATA.boxes.map(([head, below, notes, tooltip, family, level, ports, results, round]) => ({
    head: DATA.texts[head], below: DATA.texts[below], notes: notes.map((note) => DATA.texts[note]),
    tooltip: DATA.texts[tooltip], family, level, ports: ports.map((port) => DATA.texts[port]), results, round,
  }));
  const frames = DATA.frames.map((row, index) => {
    const [number, card, place, microseconds, sizes, touched, bindings, diff, shapes, links, leftOut] = row;
    const [matched, removed, added, changed] = touched;
    return { index, number, card: cards[card], cardIndex: card, place, microseconds, sizes, matched, removed, added,
      changed, bindings, diff, shapes, links, leftOut };
  });

  /** What happened to each node: steps that made, removed, matched or changed it. */
  const histories = new Map();
  for (const frame of frames) {
    for (const what of ["matched", "changed", "removed", "added"]) {
      for (const node of frame[what]) {
        if (!histories.has(node)) histories.set(node, []);
        histories.get(node).push({ what, frame });
      }
    }
  }

  function shapesOf(frame) {
    const found = [];
    for (let at = 0; at < frame.shapes.length; at += SHAPE) {
      const [node, before, after, markBefore, markAfter, ringed, ...rest] = frame.shapes.slice(at, at + SHAPE);
      const [x, y, width, height] = rest.slice(4);
      found.push({
        node, x, y, width, height, ringed: [ringed === 1, false],
        boxes: [boxes[before], boxes[after]], marks: [MARKS[markBefore], MARKS[markAfter]],
        hidden: [rest.slice(0, 2), rest.slice(2, 4)],
      });
    }
    return found;
  }

  function linksOf(frame) {
    return frame.links.map(([source, destination, state, result, before, after, isOrder, ...steps]) => ({
      source, destination, result, state: STATES[state], labels: [DATA.texts[before], DATA.texts[after]], isOrder,
      points: steps.reduce((points, step, i) => { points.push(step + (i > 1 ? points[i - 2] : 0)); return points; }, []),
    }));
  }

  // ---------------------------------------------------------------- elements

  function element(name, attributes = {}, text = null) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  }

  function drawing(name, attributes, text = null) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  }

  function button(text, act, attributes = {}) {
    const made = element("button", { type: "button", ...attributes }, text);
    made.addEventListener("click", act);
    return made;
  }

  const chip = (node, kind = "") => button(DATA.nodes[node], () => select(node), { class: `chip ${kind}` });
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

  // ---------------------------------------------------------------- pictures

  const sides = ["before", "after"].map((name) => ({ name, figure: $(name), svg: $(name).querySelector("svg") }));
  const view = { x: 0, y: 0, scale: 1, bounds: null, focus: null };

  function arrowheads(side) {
    const defs = drawing("defs", {});
    for (const state of STATES) {
      const marker = drawing("marker", { id: `${side.name}-${state}`, class: `head ${state}`, viewBox: "0 0 8 8", refX: 7.5,
        refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" });
      marker.append(drawing("path", { d: "M0 .8L8 4L0 7.2Z" }));
      defs.append(marker);
    }
    return defs;
  }

  function path(points) {
    let commands = `M${points[0]} ${points[1]}`;
    if (points.length > 2) commands += `C${points.slice(2).join(" ")}`;
    return commands;
  }

  function drawLinks(layer, side, which, shapes, links) {
    const labelled = new Set();
    for (const link of links) {
      const isThere = link.state === "kept" || link.state === (which === 0 ? "removed" : "added");
      if (!isThere || link.points.length < 4) continue;
      const kind = `link ${link.state}${link.isOrder ? " order" : ""}`;
      layer.append(drawing("path", { class: kind, d: path(link.points), "marker-end": `url(#${side.name}-${link.state})` }));
      // Each value's type once, where its first arrow begins.
      const key = `${link.source}:${link.result}`;
      if (!link.labels[which] || labelled.has(key)) continue;
      labelled.add(key);
      const [x, , bend] = link.points, goesRight = bend > x + 2, shape = shapes[link.source];
      const at = { x: goesRight ? x - 5 : x + 5, y: shape.y + shape.height / 2 + (shape.ringed[which] ? 16 : 12) };
      layer.append(drawing("text", { class: `type${goesRight ? " left" : ""}`, ...at }, link.labels[which]));
    }
  }

  function linesOf(box, mark, ringed) {
    const lines = [{ text: box.head, kind: box.round ? "name" : "op", height: 16 }];
    if (box.below) lines.push({ text: box.below, kind: "below", height: 13 });
    for (const text of box.notes) lines.push({ text, kind: "note", height: 13 });
    if (mark) lines.push({ text: ringed && mark !== "matched" ? `matched, ${WORDS[mark]}` : WORDS[mark], kind: "word", height: 13 });
    return lines;
  }

  function drawRow(group, shape, words, y) {
    words.forEach((text, i) => {
      const x = shape.x - shape.width / 2 + ((i + 0.5) / words.length) * shape.width;
      group.append(drawing("text", { class: "port", x, y }, text));
    });
  }

  function drawShape(shape, which) {
    const box = shape.boxes[which], mark = shape.marks[which];
    const left = shape.x - shape.width / 2, top = shape.y - shape.height / 2;
    const chosen = shape.node === state.node ? " selected" : "";
    const group = drawing("g", { class: `box ${mark} level-${box.level}${box.round ? " round" : ""}${chosen}`, "data-node": shape.node });
    group.append(drawing("title", {}, box.tooltip));
    const corner = box.round ? shape.height / 2 : 6;
    if (shape.ringed[which]) {
      group.append(drawing("rect", { class: "ring", x: left - 5, y: top - 5, width: shape.width + 10, height: shape.height + 10, rx: corner + 5 }));
    }
    group.append(drawing("rect", { class: `shape family-${box.family}`, x: left, y: top, width: shape.width, height: shape.height, rx: corner }));
    const lines = linesOf(box, mark, shape.ringed[which]);
    const above = box.ports.length ? 12 : 0, below = box.results > 1 ? 12 : 0;
    if (above) drawRow(group, shape, box.ports, top + 12);
    if (below) drawRow(group, shape, Array.from({ length: box.results }, (_, i) => `${i}`), top + shape.height - 4);
    let y = shape.y + (above - below) / 2 - lines.reduce((sum, line) => sum + line.height, 0) / 2;
    for (const line of lines) {
      y += line.height;
      group.append(drawing("text", { class: line.kind, x: shape.x, y: y - 3.5 }, line.text));
    }
    const [operands, readers] = shape.hidden[which];
    if (operands) group.append(more(left, top - 4, operands, "operand"));
    if (readers) group.append(more(left, top + shape.height + 10, readers, "reader"));
    return group;
  }

  function more(x, y, count, word) {
    const made = drawing("text", { class: "more", x, y }, `⋯${count > 1 ? count : ""}`);
    made.append(drawing("title", {}, `${plural(count, word)} not drawn`));
    return made;
  }

  function drawSide(frame, side, which, shapes, links) {
    const here = shapes.filter((shape) => shape.boxes[which]);
    const layer = drawing("g", {});
    drawLinks(layer, side, which, shapes, links);
    for (const shape of here) layer.append(drawShape(shape, which));
    const title = side.svg.querySelector("title");
    title.textContent = spoken(frame, which, here.length);
    side.svg.replaceChildren(title, arrowheads(side), layer);
    const rest = frame.leftOut[which];
    const head = which === 0 ? "Before" : "After";
    side.figure.querySelector("figcaption").textContent =
      `${head}: ${plural(frame.sizes[which], "node")}` + (rest ? ` … ${rest} more ${which === 0 ? "matched or removed" : "new"}` : "");
  }

  function spoken(frame, which, count) {
    const named = (nodes) => nodes.slice(0, 12).map((node) => DATA.nodes[node]).join(", ") + (nodes.length > 12 ? ", …" : "");
    const said = [`${which === 0 ? "Before" : "After"}: ${count} nodes drawn of ${frame.sizes[which]}`];
    if (which === 0 && frame.matched.length) said.push(`matched: ${named(frame.matched)}`);
    if (which === 0 && frame.removed.length) said.push(`removed: ${named(frame.removed)}`);
    if (which === 1 && frame.added.length) said.push(`new: ${named(frame.added)}`);
    return said.join("; ");
  }

  function drawPictures(frame) {
    const shapes = shapesOf(frame), links = linesIn(frame, shapes);
    sides.forEach((side, which) => drawSide(frame, side, which, shapes, links));
    view.bounds = shapes.length ? boundsOf(shapes) : null;
    view.focus = shapes.length ? focusOf(shapes, links) : null;
    aim();
  }

  const linesIn = (frame, shapes) => (shapes.length ? linksOf(frame) : []);

  function boundsOf(shapes) {
    const rim = 18;
    const x = Math.min(...shapes.map((s) => s.x - s.width / 2)) - rim, y = Math.min(...shapes.map((s) => s.y - s.height / 2)) - rim;
    const right = Math.max(...shapes.map((s) => s.x + s.width / 2)) + rim, low = Math.max(...shapes.map((s) => s.y + s.height / 2)) + rim;
    return { x, y, width: right - x, height: low - y };
  }

  function focusOf(shapes, links) {
    const core = shapes.filter((shape) => shape.marks[0] || shape.marks[1]);
    if (core.length) return boundsOf(core);
    const ends = links.filter((link) => link.state !== "kept").flatMap((link) => [shapes[link.source], shapes[link.destination]]);
    return boundsOf(ends.length ? ends : shapes);
  }

  // Both sides are looked at through the same window: what stays is at the same place.
  function aim(whole = false) {
    const all = view.bounds, pane = paneSize();
    if (!all || !pane.width) return;
    const fitting = Math.min(pane.width / all.width, pane.height / all.height, 1.25);
    if (whole || fitting >= SMALLEST) return look(all, fitting);
    const near = Math.min(pane.width / view.focus.width, pane.height / view.focus.height, 0.78);
    return look(view.focus, Math.max(near, Math.min(SMALLEST, near * 1.6)));
  }

  function look(part, scale) {
    const pane = paneSize();
    view.scale = scale;
    view.x = within(part.x + part.width / 2, pane.width / scale, view.bounds.x, view.bounds.width);
    view.y = within(part.y + part.height / 2, pane.height / scale, view.bounds.y, view.bounds.height);
    show();
  }

  /** Where a window begins that has something in its middle, and shows nothing beside the drawing where it can. */
  function within(middle, size, start, length) {
    if (length <= size) return start + (length - size) / 2;
    return Math.min(Math.max(middle - size / 2, start), start + length - size);
  }

  function show() {
    const pane = paneSize();
    const box = [view.x, view.y, pane.width / view.scale, pane.height / view.scale].map((n) => n.toFixed(1)).join(" ");
    for (const side of sides) side.svg.setAttribute("viewBox", box);
  }

  const paneSize = () => ({ width: sides[0].svg.clientWidth, height: sides[0].svg.clientHeight });

  function zoom(factor, at = null) {
    const pane = paneSize(), scale = Math.min(4, Math.max(0.1, view.scale * factor));
    const point = at || { x: pane.width / 2, y: pane.height / 2 };
    view.x += point.x / view.scale - point.x / scale;
    view.y += point.y / view.scale - point.y / scale;
    view.scale = scale;
    show();
  }

  function listenToPicture({ svg }) {
    let from = null, moved = false;
    svg.addEventListener("pointerdown", (event) => { from = { x: event.clientX, y: event.clientY }; moved = false; });
    svg.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) return;
      const dx = event.clientX - from.x, dy = event.clientY - from.y;
      if (!moved && Math.hypot(dx, dy) < 4) return;
      if (!moved) svg.setPointerCapture(event.pointerId);
      moved = true;
      view.x -= dx / view.scale;
      view.y -= dy / view.scale;
      from = { x: event.clientX, y: event.clientY };
      show();
    });
    svg.addEventListener("pointerup", () => { from = null; });
    // Without Ctrl the wheel belongs to the page around.
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), { x: event.offsetX, y: event.offsetY });
    }, { passive: false });
    svg.addEventListener("click", (event) => {
      const hit = event.target.closest("[data-node]");
      if (!moved) select(hit ? Number(hit.dataset.node) : null);
    });
    svg.addEventListener("dblclick", (event) => {
      const hit = event.target.closest("[data-node]");
      const there = hit && elsewhere(Number(hit.dataset.node));
      if (there) reach(there);
    });
  }

  /** The step that made a node, or, where that is the current one or there is none, the one that removed it. */
  function elsewhere(node) {
    const events = (histories.get(node) || []).filter(({ what, frame }) => (what === "added" || what === "removed") && frame.index !== state.index);
    return (events.find(({ what }) => what === "added") || events[0] || {}).frame;
  }

  // ---------------------------------------------------------------- what is shown, and going there

  const state = { index: 0, shown: frames, node: null };

  function go(position) {
    const shown = state.shown;
    if (shown.length) draw(shown[Math.min(shown.length - 1, Math.max(0, position))].index);
  }

  const position = () => state.shown.findIndex((frame) => frame.index === state.index);

  function step(by) {
    const here = position();
    // Where the current step is filtered out, the next one that is not.
    if (here >= 0) return go(here + by);
    const after = state.shown.findIndex((frame) => frame.index > state.index);
    return go(by > 0 ? (after < 0 ? state.shown.length - 1 : after) : (after < 0 ? state.shown.length : after) - 1);
  }

  function stepOfSameRule(by) {
    const { cardIndex } = frames[state.index];
    const found = by > 0
      ? state.shown.find((frame) => frame.index > state.index && frame.cardIndex === cardIndex)
      : state.shown.findLast((frame) => frame.index < state.index && frame.cardIndex === cardIndex);
    if (found) draw(found.index);
  }

  /** Go to a step from anywhere, even if the filters hide it: then they are lifted. */
  function reach(frame) {
    if (!state.shown.includes(frame)) {
      $("kinds").value = "all";
      $("search").value = "";
      filter(frame.index);
    } else {
      draw(frame.index);
    }
  }

  function draw(index) {
    state.index = index;
    const frame = frames[index];
    drawPictures(frame);
    drawDifference(frame);
    drawBindings(frame);
    drawRule(frame);
    drawNode();
    drawPosition(frame);
    remember(frame);
  }

  function drawPosition(frame) {
    const here = position(), slider = $("slider");
    slider.value = Math.max(0, here);
    const name = `${frame.card.name}${frame.place ? ` at ${frame.place}` : ""}`;
    slider.setAttribute("aria-valuetext", `Step ${frame.number}: ${name}`);
    const count = state.shown.length;
    $("position").textContent = count === frames.length
      ? `Step ${frame.number} of ${frames[frames.length - 1].number}`
      : `Step ${frame.number} (${here + 1} of ${count} shown)`;
    $("status").textContent = `Step ${frame.number}: ${name}; ${frame.removed.length} removed, ${frame.added.length} new`;
    for (const id of ["first", "previous"]) $(id).disabled = here === 0;
    for (const id of ["next", "last"]) $(id).disabled = here === count - 1;
    $("steps").querySelector("[aria-current]")?.removeAttribute("aria-current");
    const item = items[frame.index].firstChild;
    item.setAttribute("aria-current", "step");
    keepInSight(item);
    requestAnimationFrame(() => keepInSight(item)); // entries out of sight had but a guess for a height
  }

  /** Scroll the list, and nothing around it, as scrollIntoView would. */
  function keepInSight(item) {
    const list = $("steps").parentElement;
    const here = item.getBoundingClientRect(), around = list.getBoundingClientRect();
    if (here.top < around.top || here.bottom > around.bottom) list.scrollTop += here.top - around.top - list.clientHeight / 2;
  }

  function drawDifference(frame) {
    const rows = frame.diff.map(([sign, text, node]) => {
      const row = element("span", { class: `line ${sign === "+" ? "plus" : sign === "-" ? "minus" : "dim"}` }, `${sign} ${DATA.texts[text]}\n`);
      if (node >= 0) row.dataset.node = node;
      return row;
    });
    $("diff").replaceChildren(...(rows.length ? rows : [element("span", { class: "dim" }, "The text form stays as it is.")]));
    const touched = [...frame.removed.map((node) => chip(node, "removed")), ...frame.added.map((node) => chip(node, "added"))];
    const shown = touched.slice(0, MOST_CHIPS);
    if (touched.length > shown.length) shown.push(element("span", { class: "dim" }, `… ${touched.length - shown.length} more`));
    $("touched").replaceChildren(...shown);
  }

  function drawBindings(frame) {
    $("bound").hidden = frame.bindings.length === 0;
    $("bindings").replaceChildren(...frame.bindings.map(([name, text, nodes]) => {
      const row = element("tr"), value = element("td");
      if (nodes.length) value.append(...nodes.slice(0, MOST_CHIPS).map((node) => chip(node)));
      else value.textContent = DATA.texts[text];
      row.append(element("th", { scope: "row" }, DATA.texts[name]), value);
      return row;
    }));
  }

  function drawRule(frame) {
    const { card } = frame;
    if ($("rule").dataset.card !== String(frame.cardIndex)) {
      $("rule").dataset.card = frame.cardIndex;
      $("rule-name").textContent = `${card.kind === "pass" ? "Pass" : "Rule"} ${card.name}`;
      $("rule-place").textContent = card.place;
      $("rule-doc").textContent = card.doc;
      $("rule-source").replaceChildren($(`source-${frame.cardIndex}`).content.cloneNode(true));
    }
  }

  // A file opens where its address says, trace.html#12; a frame in a notebook has no address of its own.
  const hasAddress = location.protocol === "file:" || location.protocol.startsWith("http");

  function remember(frame) {
    if (hasAddress && window.parent === window) history.replaceState(null, "", `#${frame.number}`);
  }

  // ---------------------------------------------------------------- nodes

  function select(node) {
    state.node = node;
    for (const group of document.querySelectorAll("g.box")) {
      group.classList.toggle("selected", node !== null && Number(group.dataset.node) === node);
    }
    drawNode();
    if (node !== null) $("node").scrollIntoView({ block: "nearest" });
  }

  function jump(frame, words) {
    return button(`${words} step ${frame.number}, ${frame.card.name}`, () => reach(frame), { class: "jump", ...(frame.index === state.index ? { "aria-current": "step" } : {}) });
  }

  function drawNode() {
    const panel = $("node"), { node } = state;
    panel.hidden = node === null;
    if (node === null) return panel.replaceChildren();
    const events = histories.get(node) || [];
    const made = events.filter(({ what }) => what === "added"), gone = events.filter(({ what }) => what === "removed");
    const head = element("h2", {}, `Node ${DATA.nodes[node]}`);
    head.append(button("×", () => select(null), { class: "close", "aria-label": "Close", title: "Close (Esc)" }));
    const box = shapesOf(frames[state.index]).find((shape) => shape.node === node)?.boxes.find(Boolean);
    const jumps = element("p", { class: "jumps" });
    if (made.length) jumps.append(...made.map(({ frame }) => jump(frame, "made by")));
    else jumps.append(element("span", { class: "dim" }, frames[0].number === 1 ? "there from the start" : "there before the steps shown"));
    jumps.append(...gone.map(({ frame }) => jump(frame, "removed by")));
    if (!gone.length) jumps.append(element("span", { class: "dim" }, "stays"));
    const others = events.filter(({ what, frame }) => what === "changed" || (what === "matched" && !frame.removed.includes(node)));
    jumps.append(...others.slice(0, 8).map(({ what, frame }) => jump(frame, `${what} by`)));
    jumps.append(button("only its steps", () => { $("search").value = `=${DATA.nodes[node]}`; filter(); }));
    panel.replaceChildren(head, ...(box ? [element("p", { class: "description" }, box.tooltip)] : []), jumps);
  }

  // ---------------------------------------------------------------- filters

  /** Nodes that are meant: with the words in their name, or, behind an equals sign, of exactly that name. */
  function wanted(words) {
    const exact = words.startsWith("=") ? words.slice(1) : null, low = words.toLowerCase();
    const found = [];
    DATA.nodes.forEach((name, node) => {
      if (exact !== null ? name === exact : name.toLowerCase().includes(low)) found.push(node);
    });
    return found;
  }

  function isOfKind(frame, kind) {
    if (kind === "all") return true;
    return kind === "rule" || kind === "pass" ? frame.card.kind === kind : frame.cardIndex === Number(kind);
  }

  function filter(goal = state.index) {
    const kind = $("kinds").value, words = $("search").value.trim();
    const nodes = words ? wanted(words) : null;
    const steps = nodes && new Set(nodes.flatMap((node) => (histories.get(node) || []).map(({ frame }) => frame)));
    state.shown = frames.filter((frame) => isOfKind(frame, kind) && (!steps || steps.has(frame)));
    const kept = new Set(state.shown);
    frames.forEach((frame) => { items[frame.index].hidden = !kept.has(frame); });
    $("none").hidden = state.shown.length > 0;
    $("slider").max = Math.max(0, state.shown.length - 1);
    $("slider").disabled = state.shown.length === 0;
    drawFinds(words, nodes);
    const there = state.shown.find((frame) => frame.index >= goal) || state.shown[state.shown.length - 1];
    if (there) return draw(there.index);
    $("position").textContent = "no step";
    return undefined;
  }

  function drawFinds(words, nodes) {
    $("finds").hidden = !nodes;
    if (!nodes) return;
    const low = words.replace(/^=/, "").toLowerCase();
    const rank = (node) => { const name = DATA.nodes[node].toLowerCase(); return name === low ? 0 : name.startsWith(low) ? 1 : 2; };
    const best = [...nodes].sort((a, b) => rank(a) - rank(b) || a - b).slice(0, MOST_FINDS);
    const rest = nodes.length - best.length;
    $("finds").replaceChildren(element("span", { class: "dim" }, `${plural(nodes.length, "node")}: `), ...best.map((node) => chip(node)),
      ...(rest ? [element("span", { class: "dim" }, `… ${rest} more`)] : []));
  }

  function fillKinds() {
    const select = $("kinds"), count = (kind) => frames.filter((frame) => frame.card.kind === kind).length;
    select.append(element("option", { value: "all" }, `all ${plural(frames.length, "step")}`));
    if (count("rule") && count("pass")) {
      select.append(element("option", { value: "rule" }, `rules (${count("rule")})`), element("option", { value: "pass" }, `passes (${count("pass")})`));
    }
    for (const [kind, label] of [["rule", "Rules"], ["pass", "Passes"]]) {
      const group = element("optgroup", { label });
      cards.forEach((card, i) => {
        const fired = frames.filter((frame) => frame.cardIndex === i).length;
        if (card.kind === kind) group.append(element("option", { value: i }, `${card.name} (${fired})`));
      });
      if (group.children.length) select.append(group);
    }
  }

  const items = frames.map((frame) => {
    const item = element("li"), entry = button("", () => draw(frame.index));
    entry.append(element("span", { class: "number" }, `${frame.number}`), element("span", { class: "rule" }, frame.card.name));
    if (frame.removed.length) entry.append(element("span", { class: "minus" }, `−${frame.removed.length}`));
    if (frame.added.length) entry.append(element("span", { class: "plus" }, `+${frame.added.length}`));
    entry.append(element("span", { class: "place" }, frame.place));
    item.append(entry);
    return item;
  });

  // ---------------------------------------------------------------- keys, theme, size

  const KEYS = {
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => go(0), End: () => go(state.shown.length - 1),
    PageUp: () => step(-10), PageDown: () => step(10), "[": () => stepOfSameRule(-1), "]": () => stepOfSameRule(1),
    "+": () => zoom(1.25), "-": () => zoom(0.8), 0: () => aim(true), "/": () => $("search").focus(), Escape: () => (state.node === null ? leave() : select(null)),
  };

  function pressed(event) {
    if (event.defaultPrevented) return undefined;
    if (event.ctrlKey || event.metaKey || event.altKey) return passOn(event);
    const { tagName, type } = event.target, isSlider = type === "range";
    const writes = tagName === "SELECT" || (tagName === "INPUT" && !isSlider);
    if (writes && event.key === "Escape") return clearSearch(event.target);
    // A slider moves by keys of its own, and tells by its input event.
    if (writes || !(event.key in KEYS) || (isSlider && /^(Arrow|Page|Home|End)/.test(event.key))) return undefined;
    event.preventDefault();
    return KEYS[event.key]();
  }

  /** The element of the page around that holds this frame; null in a file, and where the page around is not ours to see. */
  function frameAround() {
    try { return window.frameElement; } catch { return null; }
  }

  /** Chords are the notebook's, which saves and searches by them, but for those that edit a text or copy it. */
  function passOn(event) {
    const frame = frameAround();
    if (!frame || /^[acvxyzZ]$/.test(event.key)) return;
    const { key, code, keyCode, ctrlKey, metaKey, altKey, shiftKey } = event;
    const pressed = { key, code, keyCode, ctrlKey, metaKey, altKey, shiftKey, bubbles: true, cancelable: true };
    if (!frame.dispatchEvent(new frame.ownerDocument.defaultView.KeyboardEvent("keydown", pressed))) event.preventDefault();
  }

  /** Give the keys back to the notebook's cell. */
  function leave() {
    frameAround()?.closest("[tabindex]")?.focus();
  }

  function clearSearch(field) {
    if (field === $("search") && field.value) { field.value = ""; filter(); }
    field.blur();
  }

  /** In a notebook, take the theme of the output around the frame; where that cannot be read, the system's stays. */
  function followTheme() {
    const around = frameAround()?.closest(".gr");
    if (!around) return;
    const outer = around.ownerDocument;
    const apply = () => {
      const scheme = outer.defaultView.getComputedStyle(around).colorScheme;
      for (const name of ["light", "dark"]) document.documentElement.classList.toggle(name, scheme === name);
    };
    apply();
    const watcher = new MutationObserver(apply);
    for (const watched of [outer.documentElement, outer.body]) watcher.observe(watched, { attributes: true });
  }

  function listen() {
    $("first").addEventListener("click", () => go(0));
    $("previous").addEventListener("click", () => step(-1));
    $("next").addEventListener("click", () => step(1));
    $("last").addEventListener("click", () => go(state.shown.length - 1));
    $("closer").addEventListener("click", () => zoom(1.25));
    $("farther").addEventListener("click", () => zoom(0.8));
    $("fit").addEventListener("click", () => aim(true));
    $("slider").addEventListener("input", (event) => go(Number(event.target.value)));
    $("kinds").addEventListener("change", () => filter());
    $("search").addEventListener("input", () => filter());
    $("diff").addEventListener("click", (event) => { if (event.target.dataset.node) select(Number(event.target.dataset.node)); });
    document.addEventListener("keydown", pressed);
    sides.forEach(listenToPicture);
    new ResizeObserver(() => aim()).observe(sides[0].svg);
    window.addEventListener("beforeprint", () => { for (const closed of document.querySelectorAll("details")) closed.open = true; });
    window.addEventListener("hashchange", () => { const frame = addressed(); if (frame && frame.index !== state.index) reach(frame); });
  }

  const addressed = () => frames.find((frame) => `#${frame.number}` === location.hash);

  followTheme();
  $("steps").append(...items);
  fillKinds();
  listen();
  filter(addressed()?.index ?? 0);
})();
