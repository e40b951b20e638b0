"use strict";

const { models: MODELS, best: BEST } = JSON.parse(document.getElementById("data").textContent);
const PLACE = ["model", "sentence", "kind", "layer"]; // as the address has it, with the heads
const SCALE = 1000; // of recorded weights
const LEAST = 0.1; // of lines where no word is pointed at
const SVG = "http://www.w3.org/2000/svg";
const heads = new Set(); // all where it is empty
let asked = new Map(); // of the place, what is still to be chosen
const get = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/* ▁ begins a word in sentencepiece's subwords. */
const shown = (piece) => piece.replaceAll("▁", "_");
const model = () => MODELS.find(({ title }) => title === get("model").value);
const current = () => model().sentences[get("sentence").value];
const layers = () => current().maps[get("kind").value];
const layer = () => layers()[get("layer").value];
/* Queries and keys of each kind; of the first word of its name. */
const SIDES = { cross: ["target", "source"], encoder: ["source", "source"],
  decoder: ["target", "inputs"], joint: ["row", "row"] };
const [queries, keys] = [0, 1].map((side) =>
  () => current()[SIDES[get("kind").value.split(/[- ]/)[0]][side]]);

/* The mean over heads, or over all where there is none, [query][key], from 0 to 1. */
function weights(some = heads) {
  const chosen = some.size ? [...some] : [...layer().keys()];
  return queries().map((_, query) =>
    keys().map((_, key) =>
      chosen.reduce((sum, head) => sum + layer()[head][query][key], 0) / chosen.length / SCALE));
}

/* Offer options, and keep what was chosen, or what the address says, where it is among them. */
function fill(id, texts, values = texts) {
  const before = asked.get(id) ?? get(id).value;
  asked.delete(id);
  get(id).replaceChildren(...texts.map((text, index) =>
    element("option", text, { value: values[index] })));
  if (values.map(String).includes(before)) get(id).value = before;
  return values.map(String).includes(before);
}

function chooseModel() {
  const { sentences } = model();
  get("chosen").hidden = sentences.length === 0;
  if (!sentences.length) return;
  if (!fill("sentence", sentences.map((item) => item.sentence), [...sentences.keys()])) {
    get("sentence").value = Math.max(0, sentences.findIndex((item) => item.reference));
  }
  chooseSentence();
}

function chooseSentence() {
  get("reference").hidden = !current().reference;
  get("reference").lastElementChild.textContent = current().reference ?? "";
  get("translations").replaceChildren(...current().translations.map((item) =>
    element("li", `${item.text} (${item.score.toFixed(3)})`)));
  const kinds = Object.keys(current().maps);
  get("none").hidden = kinds.length > 0;
  get("attention").hidden = kinds.length === 0;
  fill("kind", kinds);
  if (kinds.length) chooseKind();
  else rememberPlace();
}

function chooseKind() {
  if (!fill("layer", Object.keys(layers()))) get("layer").selectedIndex = get("layer").length - 1;
  heads.clear();
  for (const head of (asked.get("heads") ?? "").split(" ").filter((it) => layer()[it - 1])) {
    heads.add(head - 1);
  }
  asked.delete("heads");
  draw();
}

function rememberPlace() {
  const place = new URLSearchParams(PLACE.map((id) => [id, get(id).value]));
  if (heads.size) place.set("heads", [...heads].map((head) => head + 1).join(" "));
  history.replaceState(null, "", `#${place}`);
}

function draw() {
  const count = layer().length;
  const buttons = ["All heads", ...layer().keys()].map((head) => {
    const pressed = head === "All heads" ? !heads.size : heads.has(head);
    const text = head === "All heads" ? head : `Head ${head + 1}`;
    const button = element("button", text, { type: "button", "aria-pressed": pressed });
    button.prepend(smallMap(weights(head === "All heads" ? new Set() : new Set([head]))));
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
      style: `--share: ${100 * Math.sqrt(weight)}%`,
      title: `${shown(queries()[query])} → ${shown(keys()[key])}: ${weight.toFixed(3)}`,
    }))])));
  highlight(table);
  rememberPlace();
}

/* A pixel for each weight. */
function smallMap(table) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [keys().length, queries().length];
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--blue");
  table.forEach((line, query) => line.forEach((weight, key) => {
    pen.globalAlpha = Math.sqrt(weight);
    pen.fillRect(key, query, 1, 1);
  }));
  return canvas;
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
  asked = new Map([["sentence", String(MODELS[0].sentences.push(answer) - 1)]]);
  chooseModel();
});

/* Opens where the address says, or on the best model. */
function open() {
  asked = new Map(new URLSearchParams(location.hash.slice(1)));
  const attending = MODELS.filter((item) => item.sentences.some((it) => Object.keys(it.maps).length));
  const best = attending.find(({ title }) => title === BEST) ?? attending[0] ?? MODELS[0];
  const titles = MODELS.map(({ title }) => title);
  if (!titles.includes(asked.get("model"))) asked.set("model", best.title);
  fill("model", titles);
  chooseModel();
}

addEventListener("hashchange", open);
matchMedia("(prefers-color-scheme: dark)").onchange = open;
open();
if (get("text") && MODELS[0].sentences.length) get("text").value = current().sentence;
