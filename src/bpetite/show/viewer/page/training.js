// The third view: training on a small corpus, by the rules of every dialect side by side.

const HANDOUT = "low low low low low\nlower lower widest widest widest\nnewest newest newest newest newest newest\n";
const EXAMPLES = [
  { name: "low, lower, newest", corpus: HANDOUT, pattern: "\\S+" },
  { name: "ab ab ab", corpus: "ab ab ab", pattern: "gpt2" },
  { name: "a tie: cab", corpus: "cab", pattern: "gpt2" },
  { name: "a tie: abcab", corpus: "abcab", pattern: "gpt2" },
  { name: "runs: aaaa", corpus: "aaaa aaa", pattern: "gpt2" },
  { name: "a special token", corpus: "the end<|endoftext|>the end<|endoftext|>the start", pattern: "gpt2" },
];

const settings = () => Object.fromEntries(["corpus", "pattern", "special"].map((name) => [name, byId(name).value]));

/** Shows a text, or that something is wrong. */
function say(place, text, wrong = false) {
  place.textContent = text;
  place.classList.toggle("wrong", wrong);
}

function startTraining(patterns, dialects) {
  let lessons = [];
  let chosen = dialects[0]; // the one dialect that a narrow page shows
  const tabs = dialects.map((name) => button(name, () => choose(name)));
  function choose(name) {
    chosen = name;
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.textContent === name));
    for (const lesson of byId("lessons").children) lesson.classList.toggle("chosen", lesson.dataset.name === name);
  }

  const go = playerIn(byId("training-player"), "Merge", (step) => {
    byId("lessons").replaceChildren(...lessons.map((lesson) => lessonAt(lesson, step, winnerOf(lesson, step) !== winnerOf(lessons[0], step))));
    choose(chosen);
    say(byId("training-sentence"), agreement(lessons, step));
  });

  const retrain = latestOnly(byId("lessons"), async () => {
    ({ lessons } = await ask("lessons", { ...settings(), merges: Math.trunc(Number(byId("merges").value)) }));
    go(1, Math.max(...lessons.map(({ steps }) => steps.length)));
  }, (error) => say(byId("training-sentence"), error.message, true));

  for (const id of ["corpus", "pattern", "special", "merges"]) byId(id).addEventListener("input", () => retrain(null, 150));
  byId("dialects").append(...tabs);
  byId("patterns").append(...patterns.map((name) => element("option", { value: name })));
  const use = ({ corpus, pattern }) => {
    byId("corpus").value = corpus;
    byId("pattern").value = pattern;
    retrain();
  };
  byId("examples").append(...EXAMPLES.map((example) => button(example.name, () => use(example))));
  use(EXAMPLES[0]);
  startExplaining(dialects, go);
}

/** The form below: the person's own merges, and where and why they differ from those of a dialect. */
function startExplaining(dialects, go) {
  byId("explain-dialect").append(...dialects.map((name) => element("option", { selected: name === "cs336" }, name)));
  const explain = latestOnly(byId("difference"), async () => {
    const found = await ask("difference", { ...settings(), merges: byId("my-merges").value, dialect: byId("explain-dialect").value });
    say(byId("difference"), "");
    byId("difference").append(...told(found));
    if (found.rank !== null) go(found.rank + 1);
  }, (error) => say(byId("difference"), error.message, true));
  byId("explain").addEventListener("click", () => explain());
}

/** The first difference as elements: both pairs with their counts, then the reason, its cause in bold. */
function told({ heading, sides = [], lines = [], bold }) {
  const pairOf = ([name, pair, count]) => [name, element("span", {}, ...pair.map((token) => chip(token)),
    pair.length ? ` counted ${plural(count, "time")}` : "nothing: there are no more merges")];
  const bolder = (line) => {
    const cause = bold.find((part) => line.includes(part));
    const [before, after] = line.split(cause);
    return cause ? [before, element("b", {}, cause), after] : [line];
  };
  return [element("p", {}, heading), factsOf(sides.map(pairOf)), ...lines.map((line) => element("p", {}, ...bolder(line)))];
}

/** The pair that wins at a step, as text: the ids of dialects differ. */
function winnerOf({ steps, tokens }, step) {
  const pair = steps[step - 1]?.pair ?? [];
  return pair.map((id) => tokens[id].runs.join("")).join(" + ") || "nothing (no pair is left)";
}

/** A sentence about whether the dialects chose the same pair. */
function agreement(lessons, step) {
  if (step === 0) return "Nothing is merged yet: every word consists of its bytes.";
  const groups = Map.groupBy(lessons, (lesson) => winnerOf(lesson, step));
  const merge = `Merge ${number(step - 1)} (from 0)`;
  if (groups.size === 1) return `${merge}: all dialects choose the same pair.`;
  return `${merge}: ${[...groups].map(([pair, chosen]) => `${chosen.map(({ name }) => name).join(", ")} → ${pair}`).join(";  ")}`;
}

function lessonAt({ name, rule, tokens, words, steps }, place, differs) {
  const step = steps[place - 1];
  const chips = (...ids) => ids.map((id) => chip(tokens[id]));
  const shownWords = place === 0 || !steps.length ? words : (step ?? steps.at(-1)).words;
  return element(`article.card.lesson${differs ? ".differs" : ""}`, { "data-name": name },
    element("h2", {}, name),
    element("p.soft", {}, `Ties go to ${rule}.`),
    element("div.winner", {}, ...(step ? winner(step, rule, chips) : [place === 0 ? "Ready." : "No pair is left: training has stopped."])),
    step ? pairTable(step, chips) : element("div.pairs"),
    element("h3", {}, "Words"),
    element("ul.line", {}, ...shownWords.rows.map(([ids, count]) => element("li", {}, ...chips(...ids), ` × ${number(count)}`)), moreOf(shownWords.more, "word")),
    element("h3", {}, "Merges so far"),
    element("ol.line.merges", {}, ...steps.slice(0, place).map(({ pair, made }) => element("li", { "data-pair": pair.join(" ") }, ...chips(made)))));
}

function winner({ pair, made, tied, pairs: [[, count]] }, rule, chips) {
  const ids = rule.endsWith("ids") ? `: (${pair.join(", ")})` : "";
  const why = tied === 1 ? "No other pair has this count." : `${plural(tied, "pair")} have this count; ${rule} wins${ids}.`;
  const [left, right, whole] = chips(...pair, made);
  return [element("p", {}, left, " + ", right, " → ", whole), element("p", {}, `Counted ${plural(count, "time")}; it gets id ${made}.`), element("p", {}, why)];
}

function pairTable({ pairs, tied, more_pairs: more }, chips) {
  const most = pairs[0][1];
  const table = tableOf([], pairs.map(([pair, count]) => [element("span", {}, ...chips(...pair)), element("progress", { value: count, max: most }), count]));
  [...table.tBodies[0].rows].slice(0, tied).forEach((row, place) => row.classList.add(place ? "tied" : "won"));
  return element("div.pairs", {}, table, moreOf(more, "pair"));
}

const moreOf = (more, noun) => (more ? element("li.soft", {}, `and ${plural(more, noun)} more`) : "");
