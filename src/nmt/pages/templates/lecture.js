"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const MODEL = DATA.models[0];
const [Q, K, V] = MODEL.projections; // [head][word][dimension]
const LEAST = 0.1; // of the lines that are drawn
const SVG_TAGS = ["svg", "line", "polyline", "text", "rect", "title"];
const get = (id) => document.getElementById(id);
const chosen = (id) => get(id).value - 1;
const shown = (piece) => piece.replaceAll("▁", "_");
const color = (number) => `var(--c${number % 6})`;

function make(tag, attributes = {}, ...inside) {
  const made = SVG_TAGS.includes(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

const panel = (title, ...inside) => make("figure", { class: `scroll ${inside[0].tagName.toLowerCase()}` },
  make("figcaption", {}, title), ...inside);

/* Cells of a matrix, blue above zero and orange below; null is padding. */
function heat(matrix, label, style) {
  const most = Math.max(...matrix.flat().map(Math.abs));
  const theme = getComputedStyle(document.documentElement);
  const [plus, minus] = ["--plus", "--minus"].map((name) => theme.getPropertyValue(name).split(" ").map(Number));
  const canvas = make("canvas", { width: matrix[0].length, height: matrix.length, role: "img",
    "aria-label": label, style });
  const image = new ImageData(matrix[0].length, matrix.length);
  image.data.set(matrix.flat().flatMap((value) => value === null ? [128, 128, 128, 120]
    : [...(value > 0 ? plus : minus), 255 * Math.sqrt(Math.abs(value) / most)]));
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

const rows = (words, matrix, label, ...marks) => make("div", { class: "rows" },
  ...words.map((word) => make("span", {}, shown(word))),
  heat(matrix, label, `grid-row: 1 / span ${words.length}`), ...marks);

/* A table whose cells are as blue as they are large; digits: of its numbers, none without. */
function table(matrix, names, columns, digits, most = Math.max(...matrix.flat().map(Math.abs))) {
  const head = columns.map((word) => make("th", digits === undefined ? { class: "turned" } : {}, shown(word)));
  const body = matrix.map((row, number) => make("tr", {}, make("th", {}, shown(names[number])),
    ...row.map((value) => {
      const share = Math.abs(value) / most;
      const hue = value < 0 ? "--minus" : "--plus";
      return make("td", { class: share > 0.5 ? "strong" : "", title: value,
        style: `background: rgb(var(${hue}) / ${share})` },
      digits === undefined ? "" : value.toFixed(digits));
    })));
  return make("table", {}, make("thead", {}, make("tr", {}, make("td"), ...head)), make("tbody", {}, ...body));
}

const legend = (names) => make("div", { class: "legend" }, ...names.flatMap((name, number) =>
  [make("span", { class: "key", style: `color: ${color(number)}` }), ` ${name}\u2003`]));

/* Ticks at 1, 2 or 5 times a power of ten, or at the powers of a logarithmic axis. */
function ticks(low, high, log) {
  if (log) {
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  }
  const power = 10 ** Math.floor(Math.log10((high - low) / 3));
  const step = power * [1, 2, 5, 10].find((times) => (high - low) / (power * times) <= 5);
  return Array.from({ length: Math.ceil(high / step) + 1 }, (_, index) => index * step);
}

/* A line for each of [[x, y], ...]; most: the largest y of all charts beside each other. */
function chart(title, x, series, { logX, logY, most, dashed = [] } = {}) {
  const [width, height, left, right, below] = [400, 250, 52, 376, 42];
  const points = series.flat();
  if (!points.length) return panel(title, make("p", {}, "No training here has recorded it."));
  const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
  const yTicks = ticks(logY ? Math.min(...ys) : 0, most ?? Math.max(...ys), logY);
  const distinct = [...new Set(xs)];
  const xTicks = distinct.length < 9 ? distinct : ticks(0, Math.max(...xs));
  const scale = (marks, from, to, log) => {
    const [low, high] = [marks[0], marks.at(-1)].map((value) => log ? Math.log10(value) : value);
    return (value) => from + (to - from) * ((log ? Math.log10(value) : value) - low) / (high - low || 1);
  };
  const [toX, toY] = [scale(xTicks, left, right, logX), scale(yTicks, height - below, 8, logY)];
  const text = (words, x, y, anchor) => make("text", { x, y, "text-anchor": anchor }, words);
  const short = (value) => value >= 1e4 ? `${value / 1e3}k` : `${+value.toPrecision(4)}`;
  return panel(title, make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title} by ${x}` },
    ...yTicks.flatMap((value) => [
      make("line", { class: "axis", x1: left, x2: right, y1: toY(value), y2: toY(value) }),
      text(short(value), left - 5, toY(value) + 4, "end")]),
    ...xTicks.map((value) => text(short(value), toX(value), height - below + 17, "middle")),
    text(x, (left + right) / 2, height - 6, "middle"),
    ...series.map((line, number) => make("polyline", { fill: "none", "stroke-width": 2.5,
      style: `stroke: ${color(dashed.length ? number >> 1 : number)}`,
      "stroke-dasharray": dashed[number] ? "6 4" : "none",
      points: line.map((point) => `${toX(point[0])},${toY(point[1])}`).join(" ") }))));
}

function headPanel(weights, queries, keys, number) {
  const height = 19 * Math.max(queries.length, keys.length);
  const y = (index) => 19 * index + 13;
  const words = (list, x, anchor) => list.map((word, index) =>
    make("text", { x, y: y(index) + 4, "text-anchor": anchor }, shown(word)));
  const lines = weights.flatMap((row, query) => row.flatMap((weight, key) => weight < LEAST ? [] :
    make("line", { x1: 92, x2: 168, y1: y(query), y2: y(key), "stroke-width": 0.5 + 4 * weight,
      style: `stroke: ${color(number)}; opacity: ${0.3 + 0.7 * weight}` },
    make("title", {}, `${shown(queries[query])} → ${shown(keys[key])}: ${weight.toFixed(2)}`))));
  const means = keys.map((_, key) => weights.reduce((sum, row) => sum + row[key], 0) / queries.length);
  const most = means.indexOf(Math.max(...means));
  const rests = `rests on ${shown(keys[most])} (${means[most].toFixed(2)})`;
  return panel(`Head ${number + 1} ${rests}`, make("svg", { viewBox: `0 0 260 ${height + 6}`, role: "img",
    "aria-label": `Attention of head ${number + 1}, which ${rests}` },
  ...lines, ...words(queries, 87, "end"), ...words(keys, 173, "start")));
}

/* [queries, keys, weights by layer] by the name of the kind. */
const ATTENTION = {};
for (const { source, target, languages, weights, title } of DATA.models) {
  const written = target.slice(0, -1);
  const row = [`<${languages[0]}>`, ...source, `<${languages[1]}>`, ...written];
  const kinds = {
    "encoder self": ["encoder", source, source], "decoder self": ["decoder", target, ["<s>", ...written]],
    "decoder cross": ["decoder to encoder (cross-attention)", target, source], "layers self": ["decoder-only", row, row],
  };
  for (const [name, maps] of Object.entries(weights)) {
    const [, stack, kind] = name.match(/^(\w+)\.\d+\.(\w+)_attention$/);
    const [label, queries, keys] = kinds[`${stack} ${kind}`];
    (ATTENTION[`${label}: ${title}`] ??= [queries, keys, []])[2].push(maps);
  }
}

function tree() {
  const [beam, steps] = [MODEL.tree[0].length, MODEL.tree];
  const across = get("tree").clientWidth > 800;
  const [ranks, long] = [Math.max(...steps.map((nodes) => nodes.length)), steps.length];
  const cell = get("tree").clientWidth / (across ? long : ranks);
  const place = (step, rank) => across ? [(step + 0.5) * cell, 58 * rank + 22] : [(rank + 0.5) * cell, 48 * step + 22];
  const best = new Set();
  const ends = steps.flatMap((nodes, step) => nodes.map((node, rank) => ({ ...node, step, rank })))
    .filter((node) => node.score !== null).sort((a, b) => b.score - a.score);
  for (let { step, rank } = ends[0]; step >= 0; rank = steps[step--][rank].parent) best.add(`${step} ${rank}`);
  const [lines, words] = [[], []];
  steps.forEach((nodes, step) => nodes.forEach((node, rank) => {
    const [x, y] = place(step, rank);
    const isBest = best.has(`${step} ${rank}`);
    if (step) {
      const [x1, y1] = place(step - 1, node.parent);
      lines.push(make("line", { x1, y1, x2: x, y2: y, "stroke-width": isBest ? 4 : 1.5,
        style: `stroke: var(${isBest ? "--orange" : "--soft"})` }));
    }
    words.push(make("rect", { x: x - cell * 0.45, y: y - 15, width: cell * 0.9, height: 31, rx: 4,
      style: `fill: var(--page); stroke: var(${isBest ? "--orange" : node.score === null ? "--page" : "--ink"})` }));
    const word = shown(node.piece);
    const tight = 7.6 * word.length > 0.86 * cell ? { textLength: 0.86 * cell, lengthAdjust: "spacingAndGlyphs" } : {};
    words.push(make("text", { x, y: y - 2, "text-anchor": "middle", ...tight }, word));
    words.push(make("text", { class: "soft", x, y: y + 12, "text-anchor": "middle" },
      (node.score ?? node.log_prob).toFixed(2)));
  }));
  const [width, height] = across ? [long * cell, 58 * ranks] : [ranks * cell, 48 * long];
  return [panel(`“${MODEL.sentence}” becomes “${MODEL.translation}”`, make("svg", { role: "img",
    viewBox: `0 0 ${width} ${height}`, "aria-label": `The tree of a search with beam ${beam}` }, ...lines, ...words))];
}

const DRAW = {
  positions: () => [(row) => row, (row) => [0, 1].flatMap((odd) => row.filter((_, index) => index % 2 === odd))]
    .flatMap((order, number) => Object.entries(DATA.positions).map(([width, matrix]) => {
      const title = `width ${width}, ${number ? "sines, then cosines" : "interleaved"}`;
      return panel(title, heat(matrix.map(order), `Positions of ${title}`, "height: 170px"));
    })),
  shifts: () => Object.entries(DATA.shifts).map(([offset, { matrix, errors }]) => panel(`c = ${offset}`,
    heat(matrix, `The matrix of shift ${offset}`, "height: 300px"), "Largest error: ",
    Object.entries(errors).map(([width, error]) => `${error.toExponential(1)} (width ${width})`).join(", "))),
  masks: () => Object.entries(DATA.masks).map(([kind, mask]) => panel(kind, table(mask.cells, mask.queries, mask.keys))),
  scale: () => [legend(Object.keys(DATA.scale)), ...Object.entries({
    variance: "variance of the scores", entropy: "entropy of the weights (nats)", gradient: "gradient through softmax",
  }).map(([key, title]) => chart(title, "width", Object.values(DATA.scale).map((lines) =>
    lines.map((line) => [line.width, line[key]])), { logX: true, logY: key === "variance" }))],
  tokens: () => [panel(MODEL.sentence, table(MODEL.stages[""].map((row) => row.slice(0, 8)),
    MODEL.source.map((piece, index) => `${piece}  ${MODEL.ids[index]}`), [1, 2, 3, 4, 5, 6, 7, 8].map(String), 2))],
  projections: () => Object.entries({ queries: Q, keys: K, values: V }).map(([title, heads]) =>
    panel(title, rows(MODEL.source, heads[chosen("head")], `The ${title} of a head`))),
  weights() {
    const [head, query] = [chosen("weights-head"), chosen("query")];
    const weights = MODEL.weights["encoder.0.self_attention"][head];
    const q = Q[head][query];
    const matrix = K[head].map((k, key) => {
      const product = k.reduce((sum, value, dimension) => sum + value * q[dimension], 0);
      return [product, product / Math.sqrt(q.length), weights[query][key]];
    });
    const own = table(matrix, MODEL.source, ["q·k", "q·k / √dₖ", "weight"], 2);
    const all = table(weights, MODEL.source, MODEL.source, undefined, 1);
    all.querySelectorAll("tbody tr")[query].className = "chosen";
    return [panel(`the query ${shown(MODEL.source[query])}`, own), panel("all queries", all)];
  },
  concatenation: () => [panel(`${Q.length} heads`, rows(MODEL.source, MODEL.stages[".self_attention.out"], "The heads, concatenated")),
    panel("after residual connection and LayerNorm", rows(MODEL.source, MODEL.stages[".feed_forward.inner"], "What the next sublayer reads"))],
  "feed-forward"() {
    const inner = MODEL.stages[".feed_forward.outer"];
    const zeros = inner.map((row) => row.filter((value) => value === 0).length / row.length);
    const words = MODEL.source.map((word, index) => `${word} ${(100 * zeros[index]).toFixed(0)}%`);
    return [panel(`${inner[0].length} inner neurons, and what share of them is zero`, rows(words, inner, "Inner neurons"))];
  },
  logits() {
    const step = chosen("step");
    const { words, logits, probabilities } = MODEL.next;
    const made = table(words[step].map((_, index) => [logits[step][index], probabilities[step][index]]),
      words[step], ["logit", "probability"], 3);
    words[step].forEach((word, index) => {
      if (word === MODEL.target[step]) made.querySelectorAll("tbody tr")[index].className = "chosen";
    });
    return [panel(`after “${["<s>", ...MODEL.target.slice(0, step)].map(shown).join(" ")}”`, made)];
  },
  tree,
  heads() {
    const [queries, keys, layers] = ATTENTION[get("kind").value];
    get("layer").max = layers.length;
    return layers[chosen("layer")].map((weights, head) => headPanel(weights, queries, keys, head));
  },
  norms() {
    const { values, padding, changes } = DATA.norms;
    const hidden = padding.flat();
    const matrix = values.flat().map((row, index) => hidden[index] ? row.map(() => null) : row);
    const names = matrix.map((_, index) => index % values[0].length ? "" : `sentence ${index / values[0].length + 1}`);
    const mark = (style) => make("div", { class: "outline", style: `grid-column: 2; ${style}` });
    const wide = 100 / matrix[0].length;
    return [["BatchNorm", `width: calc(${wide}% + 2px); margin-left: ${20 * wide}%; height: 100%`, changes.batch],
      ["LayerNorm", `width: 100%; top: ${200 / matrix.length}%; height: ${100 / matrix.length}%`, changes.layer]]
      .map(([title, style, change]) => panel(title, rows(names, matrix, `Activations, ${title}`, mark(style)),
        `The other sentences move the numbers of sentence 1 by up to ${change.toFixed(2)}`
        + (title === "BatchNorm" ? `; with padding counted, by ${changes.padded.toFixed(2)}.` : ".")));
  },
  gradients: () => {
    const most = Math.max(...Object.values(DATA.gradients).flatMap(Object.values));
    return [legend(["Post-LN", "Pre-LN"]), ...["encoder", "decoder"].map((stack) => chart(`gradient norm, ${stack}`, "layer",
      Object.values(DATA.gradients).map((norms) => Object.entries(norms).filter(([name]) => name.startsWith(stack))
        .map(([name, norm]) => [+name.match(/\d+/)[0], norm])), { most }))];
  },
  curves() {
    const titles = [...new Set(DATA.curves.map((point) => point.title))];
    const line = (title, metric) => DATA.curves.filter((point) => point.title === title && point.metric === metric)
      .map((point) => [point.update, metric === "nll" ? Math.exp(point.mean) : point.mean]);
    const dashed = titles.flatMap(() => [true, false]);
    return [legend(titles), chart("BLEU: training set, dashed; dev set, solid", "updates",
      titles.flatMap((title) => [line(title, "training_bleu"), line(title, "dev_bleu")]), { dashed }),
      chart("perplexity: training set, dashed; dev set, solid", "updates",
        titles.flatMap((title) => [line(title, "nll"), line(title, "dev_perplexity")]), { logY: true, dashed })];
  },
  used: () => [legend(DATA.used.map((row) => row.title)),
    chart("utilization (%)", "updates", DATA.used.map((row) => row.points.map(([x, y]) => [x, 100 * y]))),
    panel([...new Set(DATA.used.flatMap((row) => row.made_by.map((call) => call.device)))].join(", "), table(DATA.used.map((row) =>
      [row.target_tokens / row.device_seconds, row.flops / row.device_seconds / 1e9]), DATA.used.map((row) => row.title), ["tokens/s", "GFLOP/s"], 0))],
};

function draw(host) {
  host.replaceChildren(...DRAW[host.dataset.draw]());
  for (const input of host.parentElement.querySelectorAll("input")) {
    const word = input.id === "query" ? `: ${shown(MODEL.source[chosen("query")])}` : "";
    input.nextElementSibling.textContent = `${input.value} of ${input.max}${word}`;
  }
}

const PICTURES = [...document.querySelectorAll(".picture")];
addEventListener("keydown", (event) => {
  const page = { PageDown: 1, PageUp: -1 }[event.key];
  const onControl = event.target.matches("input, select");
  const by = page ?? (onControl ? undefined : { ArrowRight: 1, ArrowLeft: -1 }[event.key]);
  if (!by || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  const here = PICTURES.findLastIndex((it) => it.getBoundingClientRect().top < innerHeight / 3);
  const target = PICTURES[Math.min(here + by, PICTURES.length - 1)];
  (target ?? document.body).scrollIntoView();
  target?.querySelector("h2").focus({ preventScroll: true });
});

get("contents").append(...PICTURES.map((it) =>
  make("li", {}, make("a", { href: `#${it.id}` }, it.querySelector("h2").textContent))));
get("kind").append(...Object.keys(ATTENTION).map((name) => make("option", {}, name)));
for (const [id, list] of Object.entries({ head: Q, "weights-head": Q, query: MODEL.source, step: MODEL.target })) {
  get(id).max = list.length;
}
const HOSTS = [...document.querySelectorAll("[data-draw]")];
HOSTS.forEach((host) => { host.parentElement.oninput = () => draw(host); });
const drawAll = () => HOSTS.forEach(draw);
addEventListener("resize", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();
