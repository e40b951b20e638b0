"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const PAGE = 20;
const ORDERS = {
  corpus: "corpus order",
  larger: "largest difference",
  smaller: "smallest difference",
  worst: "lowest chrF",
};
const get = (id) => document.getElementById(id);
const words = (text) => text.split(" ").filter(Boolean);
const lengths = DATA.sources.map((source) => words(source).length);
let chosen = [];
let start = 0;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/* For each word of both texts, whether it is in their longest common subsequence. */
function common(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] =
        a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const inA = a.map(() => false);
  const inB = b.map(() => false);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { inA[i++] = true; inB[j++] = true; }
    else if (table[i + 1][j] >= table[i][j + 1]) i++;
    else j++;
  }
  return [inA, inB];
}

function marked(tokens, kept, tag, name, lang) {
  const parts = tokens.flatMap((token, index) =>
    [kept[index] ? document.createTextNode(token) : element(tag, token, { class: name }),
      document.createTextNode(" ")]);
  const cell = element("dd", "", { lang });
  cell.append(...parts);
  return cell;
}

const difference = (number) =>
  DATA.systems[get("first").value].scores[number] -
  DATA.systems[get("second").value].scores[number];

function matches(number, text) {
  if (!text) return true;
  const all = [DATA.sources, DATA.references, ...DATA.systems.map((system) => system.translations)];
  return all.some((lines) => lines[number].toLocaleLowerCase().includes(text));
}

function choose() {
  const text = get("search").value.trim().toLocaleLowerCase();
  const least = Number(get("least").value);
  const most = get("most").value === "" ? Infinity : Number(get("most").value);
  chosen = DATA.sources.map((_, number) => number).filter((number) =>
    lengths[number] >= least && lengths[number] <= most && matches(number, text));
  const own = DATA.systems[get("first").value].scores;
  const by = { larger: (a, b) => difference(b) - difference(a),
    smaller: (a, b) => difference(a) - difference(b), worst: (a, b) => own[a] - own[b] };
  if (by[get("order").value]) chosen.sort(by[get("order").value]);
  start = 0;
  show();
}

function show() {
  const end = Math.min(start + PAGE, chosen.length);
  get("count").textContent = chosen.length
    ? `Sentences ${start + 1} to ${end} of ${chosen.length}.` : "No sentence is like this.";
  for (const id of ["previous", "previous-below"]) get(id).disabled = start === 0;
  for (const id of ["next", "next-below"]) get(id).disabled = end >= chosen.length;
  get("list").replaceChildren(...chosen.slice(start, end).map(item));
}

function item(number) {
  const reference = words(DATA.references[number]);
  const matched = reference.map(() => false);
  const outputs = DATA.systems.flatMap((system) => {
    const tokens = words(system.translations[number]);
    const [kept, found] = common(tokens, reference);
    found.forEach((is, index) => { matched[index] ||= is; });
    const term = element("dt", `${system.title} `);
    term.append(element("span", system.scores[number].toFixed(1), { class: "score" }));
    return [term, marked(tokens, kept, "mark", "extra", LANGUAGES[1])];
  });
  const list = document.createElement("dl");
  list.append(element("dt", "Source"), element("dd", DATA.sources[number], { lang: LANGUAGES[0] }),
    element("dt", "Reference"),
    marked(reference, matched, "span", "missing", LANGUAGES[1]), ...outputs);
  const change = DATA.systems.length > 1 ? `, difference ${difference(number).toFixed(1)}` : "";
  const line = document.createElement("li");
  line.append(element("h3", `Sentence ${number + 1}, ${lengths[number]} words${change}`), list);
  return line;
}

function turn(pages) {
  start += pages * PAGE;
  show();
  get("sentences").scrollIntoView();
}

const options = (entries) => entries.map(([value, text]) => element("option", text, { value }));
const titles = DATA.systems.map((system, number) => [number, system.title]);
get("order").replaceChildren(...options(Object.entries(ORDERS)));
get("first").replaceChildren(...options(titles));
get("second").replaceChildren(...options(titles));
get("first").value = DATA.systems.length - 1;
get("second").value = Math.max(DATA.systems.length - 2, 0);
get("most").placeholder = Math.max(...lengths);
get("choose").oninput = choose;
get("choose").onsubmit = (event) => event.preventDefault();
for (const id of ["previous", "previous-below"]) get(id).onclick = () => turn(-1);
for (const id of ["next", "next-below"]) get(id).onclick = () => turn(1);
choose();
