"use strict";

const { sources, references, systems } = JSON.parse(document.getElementById("data").textContent);
const PAGE = 20;
const get = (id) => document.getElementById(id);
let chosen = [];
let start = 0;

function difference(number) {
  const score = (id) => systems[get(id).value].scores[number];
  return score("first") - score("second");
}

const ORDERS = {
  "corpus order": (a, b) => a - b,
  "largest difference": (a, b) => difference(b) - difference(a),
  "smallest difference": (a, b) => difference(a) - difference(b),
  "lowest chrF": (a, b) =>
    systems[get("first").value].scores[a] - systems[get("first").value].scores[b],
  "longest source": (a, b) => words(sources[b]).length - words(sources[a]).length,
};

function choose() {
  const text = get("search").value.trim().toLocaleLowerCase();
  const all = [sources, references, ...systems.map((system) => system.translations)];
  chosen = [...sources.keys()].filter((number) =>
    all.some((lines) => lines[number].toLocaleLowerCase().includes(text)));
  chosen.sort(ORDERS[get("order").value]);
  start = 0;
  show();
}

function show() {
  const end = Math.min(start + PAGE, chosen.length);
  get("count").textContent = chosen.length
    ? `Sentences ${start + 1} to ${end} of ${chosen.length}.` : "No sentence is like this.";
  get("previous").disabled = start === 0;
  get("next").disabled = end >= chosen.length;
  get("list").replaceChildren(...chosen.slice(start, end).map(item));
}

function item(number) {
  const list = document.createElement("dl");
  list.append(element("dt", "Source"), element("dd", sources[number], { lang: LANGUAGES[0] }),
    element("dt", "Reference"), element("dd", references[number], { lang: LANGUAGES[1] }));
  for (const { title, translations, scores } of systems) {
    const cell = element("dd", "", { lang: LANGUAGES[1] });
    cell.append(...marked(translations[number], references[number]));
    list.append(element("dt", `${title} ${scores[number].toFixed(1)}`), cell);
  }
  const line = document.createElement("li");
  line.append(element("h4", `Sentence ${number + 1}`), list);
  return line;
}

function turn(pages) {
  start += pages * PAGE;
  show();
}

for (const [id, options, selected] of [
  ["order", Object.keys(ORDERS).map((name) => [name, name]), "corpus order"],
  ["first", systems.map(({ title }, number) => [number, title]), systems.length - 1],
  ["second", systems.map(({ title }, number) => [number, title]), 0],
]) {
  get(id).replaceChildren(...options.map(([value, text]) => element("option", text, { value })));
  get(id).value = selected;
}
get("choose").oninput = choose;
get("choose").onsubmit = (event) => event.preventDefault();
get("previous").onclick = () => turn(-1);
get("next").onclick = () => turn(1);
choose();
