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

/** What both questions of this view have in common. */
const settings = () => ({
  corpus: byId("corpus").value,
  pattern: byId("pattern").value,
  special: byId("special").value,
});

function say(place, text) {
  place.textContent = text;
  place.classList.remove("wrong");
}

function sayWrong(place, error) {
  place.textContent = error.message;
  place.classList.add("wrong");
}

function startTraining(patterns, dialects) {
  const sentence = byId("training-sentence");
  const tabs = dialects.map((name) => button(name, () => choose(name)));
  let lessons = [];
  let chosen = dialects[0]; // the only dialect that a narrow page shows

  function choose(name) {
    chosen = name;
    for (const tab of tabs) tab.ariaPressed = tab.textContent === name;
    for (const lesson of byId("lessons").children) {
      lesson.classList.toggle("chosen", lesson.dataset.name === name);
    }
  }

  const go = playerIn(byId("training-player"), "Merge", (step) => {
    const drawn = lessons.map((lesson) => {
      const differs = winnerOf(lesson, step) !== winnerOf(lessons[0], step);
      return lessonAt(lesson, step, differs);
    });
    byId("lessons").replaceChildren(...drawn);
    choose(chosen);
    say(sentence, agreement(lessons, step));
  });

  async function train() {
    const merges = Math.trunc(Number(byId("merges").value));
    ({ lessons } = await ask("lessons", { ...settings(), merges }));
    go(1, Math.max(...lessons.map(({ steps }) => steps.length)));
  }

  const retrain = latestOnly(byId("lessons"), train, (error) => sayWrong(sentence, error));

  function use({ corpus, pattern }) {
    byId("corpus").value = corpus;
    byId("pattern").value = pattern;
    retrain();
  }

  for (const id of ["corpus", "pattern", "special", "merges"]) {
    byId(id).addEventListener("input", () => retrain(null, 150));
  }
  byId("dialects").append(...tabs);
  byId("patterns").append(...patterns.map((value) => elementWith("option", { value })));
  byId("examples").append(...EXAMPLES.map((example) => button(example.name, () => use(example))));
  use(EXAMPLES[0]);
  startExplaining(dialects, go);
}

/** The form below: the person's own merges, and where and why they differ from those of a dialect. */
function startExplaining(dialects, go) {
  const place = byId("difference");
  const dialect = byId("explain-dialect");
  const options = dialects.map((name) => elementWith("option", { selected: name === "cs336" }, name));
  dialect.append(...options);

  async function compare() {
    const merges = byId("my-merges").value;
    const difference = await ask("difference", { ...settings(), merges, dialect: dialect.value });
    say(place, "");
    place.append(...explanationOf(difference));
    if (difference.rank !== null) go(difference.rank + 1);
  }

  const explain = latestOnly(place, compare, (error) => sayWrong(place, error));
  byId("explain").addEventListener("click", () => explain());
}

/** The first difference as elements: both pairs with their counts, then the reason, its cause in bold. */
function explanationOf({ heading, sides = [], lines = [], bold }) {
  const factOf = ([name, pair, count]) => {
    const counted = pair.length ? " counted " + plural(count, "time") : "nothing: there are no more merges";
    return [name, element("span", ...pair.map((token) => chip(token)), counted)];
  };
  const paragraphOf = (line) => {
    const cause = bold.find((part) => line.includes(part));
    if (!cause) return element("p", line);
    const [before, after] = line.split(cause);
    return element("p", before, element("b", cause), after);
  };
  return [element("p", heading), factsOf(sides.map(factOf)), ...lines.map(paragraphOf)];
}

/** The pair that wins at a step, as text: the ids of dialects differ. */
function winnerOf({ steps, tokens }, step) {
  const pair = steps[step - 1]?.pair;
  if (!pair) return "nothing (no pair is left)";
  return pair.map((id) => tokens[id].runs.join("")).join(" + ");
}

/** A sentence about whether the dialects chose the same pair. */
function agreement(lessons, step) {
  if (step === 0) return "Nothing is merged yet: every word consists of its bytes.";
  const merge = `Merge ${number(step - 1)} (from 0)`;
  const groups = Map.groupBy(lessons, (lesson) => winnerOf(lesson, step));
  if (groups.size === 1) return merge + ": all dialects choose the same pair.";
  const choices = [...groups].map(([pair, group]) => {
    const names = group.map(({ name }) => name);
    return `${names.join(", ")} → ${pair}`;
  });
  return `${merge}: ${choices.join(";  ")}`;
}

/** What a dialect has done after some merges; at the first step nothing is merged. */
function lessonAt({ name, rule, tokens, words, steps }, place, differs) {
  const step = steps[place - 1];
  const chips = (...ids) => ids.map((id) => chip(tokens[id]));
  const itemOf = ([ids, count]) => element("li", ...chips(...ids), ` × ${number(count)}`);
  const mergeOf = ({ pair, made }) => elementWith("li", { "data-pair": pair.join(" ") }, ...chips(made));

  let shownWords = words;
  let winner = ["Ready."];
  let pairs = element("div.pairs");
  if (step) {
    shownWords = step.words;
    winner = winnerAt(step, rule, chips);
    pairs = pairTable(step, chips);
  } else if (place > 0) {
    shownWords = steps.at(-1)?.words ?? words;
    winner = ["No pair is left: training has stopped."];
  }
  return elementWith(`article.card.lesson${differs ? ".differs" : ""}`, { "data-name": name },
    element("h2", name),
    element("p.soft", `Ties go to ${rule}.`),
    element("div.winner", ...winner),
    pairs,
    element("h3", "Words"),
    element("ul.line", ...shownWords.rows.map(itemOf), moreOf(shownWords.more, "word")),
    element("h3", "Merges so far"),
    element("ol.line.merges", ...steps.slice(0, place).map(mergeOf)));
}

function winnerAt({ pair, made, tied, pairs }, rule, chips) {
  const [left, right, whole] = chips(...pair, made);
  const [[, count]] = pairs;
  let why = "No other pair has this count.";
  if (tied !== 1) {
    const ids = rule.endsWith("ids") ? `: (${pair.join(", ")})` : "";
    why = `${plural(tied, "pair")} have this count; ${rule} wins${ids}.`;
  }
  return [
    element("p", left, " + ", right, " → ", whole),
    element("p", `Counted ${plural(count, "time")}; it gets id ${made}.`),
    element("p", why),
  ];
}

/** The most frequent pairs; the winner is the first, and those that tie with it follow. */
function pairTable({ pairs, tied, more_pairs: more }, chips) {
  const [[, max]] = pairs;
  const cells = pairs.map(([pair, value]) => {
    const bar = elementWith("progress", { value, max });
    return [element("span", ...chips(...pair)), bar, value];
  });
  const table = tableOf([], cells);
  const tiedRows = [...table.tBodies[0].rows].slice(0, tied);
  tiedRows.forEach((row, place) => row.classList.add(place ? "tied" : "won"));
  return element("div.pairs", table, moreOf(more, "pair"));
}

function moreOf(more, noun) {
  return more ? element("li.soft", `and ${plural(more, noun)} more`) : "";
}
