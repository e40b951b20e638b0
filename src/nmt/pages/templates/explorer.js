"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const CROSS = "cross-attention";
const ENCODER = "encoder self-attention";
const SVG = "http://www.w3.org/2000/svg";
const state = { model: 0, sentence: 0, kind: CROSS, layer: 0, heads: new Set(), pinned: null };
const get = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/* ▁ begins a word in sentencepiece's subwords. */
const shown = (piece) => piece.replaceAll("▁", "_");
const current = () => DATA.models[state.model].sentences[state.sentence];
const layers = () => Object.entries(current().maps[state.kind] ?? {});
const queries = () => (state.kind === ENCODER ? current().source : current().target);
function keys() {
  if (state.kind === CROSS || state.kind === ENCODER) return current().source;
  return current().inputs;
}

/* The mean over the chosen heads, or over all where none is, [query][key], from 0 to 1. */
function weights() {
  const heads = layers()[state.layer][1];
  const chosen = state.heads.size ? [...state.heads] : [...heads.keys()];
  return queries().map((_, query) =>
    keys().map((_, key) =>
      chosen.reduce((sum, head) => sum + heads[head][query][key], 0) / chosen.length / DATA.scale));
}

function fillSelect(id, options, selected) {
  get(id).replaceChildren(...options.map(([value, text]) => element("option", text, { value })));
  get(id).value = selected;
}

function chooseSentence() {
  const { models } = DATA;
  fillSelect("model", models.map((model, number) => [number, model.title]), state.model);
  get("model").parentElement.hidden = models.length < 2;
  const { sentences } = models[state.model];
  state.sentence = Math.min(state.sentence, sentences.length - 1);
  fillSelect("sentence", sentences.map((item, number) => [number, item.sentence]), state.sentence);
  get("whole").textContent = current().sentence;
  const kinds = Object.keys(current().maps);
  if (!kinds.includes(state.kind)) state.kind = kinds[0] ?? CROSS;
  fillSelect("kind", kinds.map((kind) => [kind, kind]), state.kind);
  get("kind").disabled = kinds.length < 2;
  get("none").hidden = kinds.length > 0;
  get("attention").hidden = kinds.length === 0;
  get("translations").replaceChildren(...current().translations.map((item) =>
    element("li", `${item.text} (${item.score.toFixed(3)})`)));
  if (kinds.length) chooseLayer();
}

function chooseLayer() {
  state.pinned = null;
  const names = layers().map(([name]) => name);
  state.layer = Math.min(state.layer, names.length - 1);
  get("layer").max = names.length - 1;
  get("layer").value = state.layer;
  get("layer").disabled = names.length < 2;
  get("layer").setAttribute("aria-valuetext", names[state.layer]);
  get("layer-name").textContent = `${state.layer + 1} of ${names.length}`;
  const count = layers()[state.layer][1].length;
  state.heads = new Set(count > 1 ? [...state.heads].filter((head) => head < count) : []);
  drawHeads(count);
  drawAll();
}

function drawHeads(count) {
  const all = element("button", "All heads", { type: "button" });
  all.onclick = () => { state.heads.clear(); chooseHeads(); };
  const single = Array.from({ length: count }, (_, head) => {
    const attributes = { type: "button", "aria-label": `Head ${head + 1}` };
    const button = element("button", head + 1, attributes);
    button.onclick = () => {
      if (!state.heads.delete(head)) state.heads.add(head);
      chooseHeads();
    };
    return button;
  });
  get("heads").replaceChildren(...(count > 1 ? [all, ...single] : []));
  showHeads();
}

function showHeads() {
  const [all, ...single] = get("heads").children;
  if (!all) return;
  all.setAttribute("aria-pressed", !state.heads.size);
  single.forEach((button, head) => button.setAttribute("aria-pressed", state.heads.has(head)));
}

function chooseHeads() { showHeads(); drawAll(); }

function drawAll() {
  const names = { [CROSS]: ["written", "source"], [ENCODER]: ["source", "source"] };
  const [query, key] = names[state.kind] ?? ["written", "read"];
  get("query-title").textContent = `Subword (${query})`;
  get("key-title").textContent = `looks at (${key})`;
  drawWords("queries", queries(), "query");
  drawWords("keys", keys(), "key");
  drawMap();
  highlight(state.pinned);
}

function drawWords(id, pieces, side) {
  get(id).replaceChildren(...pieces.map((piece, index) => {
    const button = element("button", shown(piece), { type: "button", "aria-pressed": "false" });
    const word = { side, index };
    button.onmouseenter = button.onfocus = () => highlight(word);
    button.onmouseleave = button.onblur = () => highlight(state.pinned);
    button.onclick = () => {
      const same = state.pinned?.side === side && state.pinned.index === index;
      state.pinned = same ? null : word;
      highlight(state.pinned ?? word);
    };
    return button;
  }));
}

function color(weight) {
  const mix = (from, to) => Math.round(from + (to - from) * Math.sqrt(weight));
  return `rgb(${mix(255, 8)}, ${mix(255, 48)}, ${mix(255, 107)})`;
}

/* Draw the lines of one word, or of all; shade what it looks at, and say so. */
function highlight(word) {
  const table = weights();
  const least = Number(get("threshold").value);
  get("threshold-value").textContent = least.toFixed(2);
  const lines = [];
  table.forEach((row, query) => row.forEach((weight, key) => {
    const index = word?.side === "query" ? query : key;
    if (weight < Math.max(least, 0.001) || (word && word.index !== index)) return;
    const line = document.createElementNS(SVG, "line");
    const ends = { x1: 0, y1: query + 0.5, x2: 10, y2: key + 0.5 };
    for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value);
    line.style.strokeWidth = `${0.5 + 4.5 * weight}px`;
    line.style.opacity = 0.25 + 0.75 * weight;
    lines.push(line);
  }));
  const rows = Math.max(queries().length, keys().length);
  get("lines").setAttribute("viewBox", `0 0 10 ${rows}`);
  get("lines").style.height = `${2 * rows}rem`;
  get("lines").replaceChildren(...lines);
  shade("queries", word?.side === "key" ? table.map((row) => row[word.index]) : null);
  shade("keys", word?.side === "query" ? table[word.index] : null);
  for (const side of ["query", "key"]) {
    const id = side === "query" ? "queries" : "keys";
    [...get(id).children].forEach((button, index) =>
      button.setAttribute(
        "aria-pressed", state.pinned?.side === side && state.pinned.index === index));
  }
  get("status").textContent = word ? sentenceAbout(word, table) : "Point at a word or at a cell.";
}

function shade(id, column) {
  [...get(id).children].forEach((button, index) => {
    const weight = column ? column[index] : 0;
    button.style.boxShadow = weight < 0.005 ? "" : `inset 0 -0.4rem 0 ${color(weight)}`;
    button.title = column ? weight.toFixed(2) : "";
  });
}

function sentenceAbout({ side, index }, table) {
  const own = side === "query" ? queries() : keys();
  const others = side === "query" ? keys() : queries();
  const column = side === "query" ? table[index] : table.map((row) => row[index]);
  const best = column.map((weight, other) => [weight, shown(others[other])])
    .sort((a, b) => b[0] - a[0]).slice(0, 5).filter(([weight]) => weight >= 0.005);
  const verb = side === "query" ? "looks at" : "is looked at by";
  const list = best.map(([weight, piece]) => `${piece} ${weight.toFixed(2)}`).join(", ");
  return `${shown(own[index])} ${verb}: ${list || "nothing"}`;
}

function drawMap() {
  const table = weights();
  const head = document.createElement("tr");
  head.append(element("th", "", { "aria-label": "Subword" }),
    ...keys().map((piece) => element("th", shown(piece), { scope: "col" })));
  const rows = table.map((row, query) => {
    const line = document.createElement("tr");
    line.append(element("th", shown(queries()[query]), { scope: "row" }));
    row.forEach((weight, key) => {
      const text = `${shown(queries()[query])} → ${shown(keys()[key])}: ${weight.toFixed(3)}`;
      const first = query === 0 && key === 0;
      const cell = element("td", "", { "aria-label": text, tabindex: first ? 0 : -1 });
      cell.style.background = color(weight);
      cell.onmouseenter = cell.onfocus = () => {
        get("status").textContent = text;
        cell.title = text;
      };
      line.append(cell);
    });
    return line;
  });
  get("map").replaceChildren(head, ...rows);
}

/* Arrow keys move through the map; only the cell that was left last is a stop of the Tab key. */
get("map").addEventListener("keydown", (event) => {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const move = moves[event.key];
  const cell = event.target.closest("td");
  if (!move || !cell) return;
  event.preventDefault();
  const row = cell.parentElement.rowIndex + move[0];
  const next = get("map").rows[row]?.cells[cell.cellIndex + move[1]];
  if (next?.tagName !== "TD") return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

/* Up and down move among the words of a side, left and right between the sides. */
get("links").addEventListener("keydown", (event) => {
  const own = event.target.closest("#queries, #keys");
  if (!own) return;
  const other = own.id === "keys" ? get("queries") : get("keys");
  const index = [...own.children].indexOf(event.target);
  const next = { ArrowDown: own.children[index + 1], ArrowUp: own.children[index - 1],
    ArrowLeft: other.children[Math.min(index, other.children.length - 1)],
    ArrowRight: other.children[Math.min(index, other.children.length - 1)] }[event.key];
  if (!next) return;
  event.preventDefault();
  next.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !layers().length) return;
  state.pinned = null;
  highlight(null);
});

get("model").onchange = (event) => { state.model = Number(event.target.value); chooseSentence(); };
get("sentence").onchange = (event) => {
  state.sentence = Number(event.target.value);
  chooseSentence();
};
get("kind").onchange = (event) => { state.kind = event.target.value; chooseLayer(); };
get("layer").oninput = (event) => { state.layer = Number(event.target.value); chooseLayer(); };
get("threshold").oninput = () => highlight(state.pinned);

/* Served by explore.py, the page translates what is typed. */
async function translate(sentence) {
  const response = await fetch("translate", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ sentence }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

get("translate")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  get("problem").textContent = "";
  try {
    const { sentences } = DATA.models[0];
    sentences.unshift(await translate(get("text").value));
    state.sentence = 0;
    get("chosen").hidden = false;
    chooseSentence();
  } catch (error) {
    get("problem").textContent = error.message;
  } finally {
    button.disabled = false;
  }
});

const hasMaps = (model) => model.sentences.some((item) => Object.keys(item.maps).length);
state.model = Math.max(0, DATA.models.findIndex(hasMaps));
if (DATA.models[state.model].sentences.length) chooseSentence();
