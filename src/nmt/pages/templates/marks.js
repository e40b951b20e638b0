const words = (text) => text.split(" ").filter(Boolean);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/* For each word of a text, whether it is in its longest common subsequence with another. */
function common(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] =
        a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const kept = a.map(() => false);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { kept[i++] = true; j++; }
    else if (table[i + 1][j] >= table[i][j + 1]) i++;
    else j++;
  }
  return kept;
}

/* The words of a translation, marked where the reference has others. */
function marked(translation, reference) {
  const tokens = words(translation);
  const kept = common(tokens, words(reference));
  return tokens.flatMap((token, index) => [kept[index] ? token : element("mark", token), " "]);
}
