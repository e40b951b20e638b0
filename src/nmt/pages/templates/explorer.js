"use strict";

const MODELS = JSON.parse(document.getElementById("data").textContent);
const SCALE = 1000; // of recorded weights
const LEAST = 0.1; // of lines where no word is pointed at
const SVG = "http://www.w3.org/2000/svg";
const heads = new Set(); // all where it is empty
const get = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/* ▁ begins a word in sentencepiece's subwords. */
const shown = (piece) => piece.replaceAll("▁", "_");
const current = () => MODELS[get("model").value].sentences[get("sentence").value];
const layers = () => current().maps[get("kind").value];
const layer = () => layers()[get("layer").value];
const isOfEncoder = () => get("kind").value.startsWith("encoder");
const queries = () => (isOfEncoder() ? current().source : current().target);
const keys = () =>
  get("kind").value.startsWith("decoder") ? current().inputs : current().source;

/* The mean over the chosen heads, or over all where none is, [query][key], from 0 to 1. */
function weights() {
  const chosen = heads.size ? [...heads] : [...layer().keys()];
  return queries().map((_, query) =>
    keys().map((_, key) =>
      chosen.reduce((sum, head) => sum + layer()[head][query][key], 0) / chosen.length / SCALE));
}

/* Offer options, and keep what was chosen where it is among them. */
function fill(id, texts, values = texts) {
  const before = get(id).value;
  get(id).replaceChildren(...texts.map((text, index) =>
    element("option", text, { value: values[index] })));
  if (values.map(String).includes(before)) get(id).value = before;
}

function chooseModel() {
  const { sentences } = MODELS[get("model").value];
  get("chosen").hidden = sentences.length === 0;
  if (!sentences.length) return;
  fill("sentence", sentences.map((item) => item.sentence), [...sentences.keys()]);
  chooseSentence();
}

function chooseSentence() {
  get("translations").replaceChildren(...current().translations.map((item) =>
    element("li", `${item.text} (${item.score.toFixed(3)})`)));
  const kinds = Object.keys(current().maps);
  get("none").hidden = kinds.length > 0;
  get("attention").hidden = kinds.length === 0;
  fill("kind", kinds);
  if (kinds.length) chooseKind();
}

function chooseKind() {
  fill("layer", Object.keys(layers()));
  heads.clear();
  draw();
}

function draw() {
  const count = layer().length;
  const buttons = ["All heads", ...layer().keys()].map((head) => {
    const pressed = head === "All heads" ? !heads.size : heads.has(head);
    const text = head === "All heads" ? head : `Head ${head + 1}`;
    const button = element("button", text, { type: "button", "aria-pressed": pressed });
    button.onclick = () => {
      if (head === "All heads") heads.clear();
      else if (!heads.delete(head)) heads.add(head);
      draw();
    };
    return button;
  });
  get("heads").replaceChildren(...(count > 1 ? buttons : []));
  const table = weights();
  drawWords("queries", queries(), table);
  drawWords("keys", keys(), table);
  const header = keys().map((piece) => element("th", shown(piece)));
  get("map").replaceChildren(row([element("td", ""), ...header]), ...table.map((line, query) =>
    row([element("th", shown(queries()[query])), ...line.map((weight, key) => element("td", "", {
      style: `background: rgba(8, 48, 107, ${Math.sqrt(weight)})`,
      title: `${shown(queries()[query])} → ${shown(keys()[key])}: ${weight.toFixed(3)}`,
    }))])));
  highlight(table);
}

function row(cells) {
  const line = document.createElement("tr");
  line.append(...cells);
  return line;
}

function drawWords(side, pieces, table) {
  get(side).replaceChildren(...pieces.map((piece, index) => {
    const button = element("button", shown(piece), { type: "button" });
    button.onmouseenter = button.onfocus = () => highlight(table, side, index);
    button.onmouseleave = button.onblur = () => highlight(table);
    return button;
  }));
}

/* Draw the lines of one word, or the strong ones of all, and say what the word looks at. */
function highlight(table, side, index) {
  const lines = [];
  table.forEach((line, query) => line.forEach((weight, key) => {
    const isOwn = index === (side === "queries" ? query : key);
    if (weight < (side ? 0.005 : LEAST) || (side && !isOwn)) return;
    const drawn = document.createElementNS(SVG, "line");
    const ends = { x1: 0, y1: query + 0.5, x2: 10, y2: key + 0.5 };
    for (const [name, value] of Object.entries(ends)) drawn.setAttribute(name, value);
    drawn.style.strokeWidth = `${0.5 + 4.5 * weight}px`;
    drawn.style.opacity = 0.25 + 0.75 * weight;
    lines.push(drawn);
  }));
  const height = Math.max(queries().length, keys().length);
  get("lines").setAttribute("viewBox", `0 0 10 ${height}`);
  get("lines").style.height = `${2 * height}rem`;
  get("lines").replaceChildren(...lines);
  get("status").textContent = side ? sentenceAbout(table, side, index) : "Point at a word.";
}

function sentenceAbout(table, side, index) {
  const [own, others] = side === "queries" ? [queries(), keys()] : [keys(), queries()];
  const column = side === "queries" ? table[index] : table.map((line) => line[index]);
  const best = column.map((weight, other) => [weight, shown(others[other])])
    .sort((a, b) => b[0] - a[0]).slice(0, 5).filter(([weight]) => weight >= 0.005);
  const verb = side === "queries" ? "looks at" : "is looked at by";
  const list = best.map(([weight, piece]) => `${piece} ${weight.toFixed(2)}`).join(", ");
  return `${shown(own[index])} ${verb}: ${list || "nothing"}`;
}

get("model").onchange = chooseModel;
get("sentence").onchange = chooseSentence;
get("kind").onchange = chooseKind;
get("layer").onchange = draw;

/* Served by explore.py, the page translates what is typed. */
get("translate")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  get("problem").textContent = "";
  const response = await fetch("translate", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ sentence: get("text").value }),
  });
  const answer = await response.json();
  if (!response.ok) {
    get("problem").textContent = answer.error;
    return;
  }
  MODELS[0].sentences.push(answer);
  chooseModel();
  get("sentence").value = MODELS[0].sentences.length - 1;
  chooseSentence();
});

fill("model", MODELS.map((model) => model.title), [...MODELS.keys()]);
const attends = (model) => model.sentences.some((item) => Object.keys(item.maps).length);
get("model").value = Math.max(0, MODELS.findIndex(attends));
chooseModel();
