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

function startTraining(patterns, dialects) {
  let trained = [];
  const hidden = new Set();
  const player = new Player(byId("training-player"), { label: "Merge", word: "merge " }, (step) => draw(trained.filter(({ name }) => !hidden.has(name)), step));
  const tell = (text, wrong) => {
    byId("training-sentence").textContent = text;
    byId("training-sentence").classList.toggle("wrong", wrong);
  };
  function draw(lessons, step) {
    byId("lessons").replaceChildren(...lessons.map((lesson) => lessonAt(lesson, step, pairAt(lesson, step) !== pairAt(lessons[0], step))));
    tell(agreement(lessons, step), false);
  }

  let shown = "";
  const retrain = latestOnly(byId("lessons"), async () => {
    const asked = { ...settings(), merges: Math.trunc(Number(byId("merges").value)) };
    if (JSON.stringify(asked) === shown) return; // nothing has changed: stay at this step
    shown = "";
    ({ lessons: trained } = await ask("lessons", asked));
    byId("training-shown").replaceChildren(...trained.map(({ name }) => element("label", {},
      element("input", { type: "checkbox", checked: !hidden.has(name), onchange: (event) => {
        hidden[event.target.checked ? "delete" : "add"](name);
        player.go(player.step);
      } }), element("span", {}, name))));
    player.reset(Math.max(...trained.map(({ steps }) => steps.length)), 1);
    shown = JSON.stringify(asked);
  }, (error) => tell(error.message, true));

  for (const id of ["corpus", "pattern", "special", "merges"]) byId(id).addEventListener("input", () => retrain(null, 150));
  byId("patterns").append(...patterns.map((name) => element("option", { value: name })));
  const use = ({ corpus, pattern }) => {
    byId("corpus").value = corpus;
    byId("pattern").value = pattern;
    retrain();
  };
  byId("examples").append(...EXAMPLES.map((example) => element("button.plain", { type: "button", onclick: () => use(example) }, example.name)));
  use(EXAMPLES[0]);
  startExplaining(dialects, player);
}

/** The form below: the person's own merges, and where and why they differ from those of a dialect. */
function startExplaining(dialects, player) {
  byId("explain-dialect").append(...dialects.map((name) => element("option", { selected: name === "cs336" }, name)));
  const tell = (text, wrong) => {
    byId("difference").textContent = text;
    byId("difference").classList.toggle("wrong", wrong);
  };
  const explain = latestOnly(byId("difference"), async () => {
    const { rank, told } = await ask("difference", { ...settings(), merges: byId("my-merges").value, dialect: byId("explain-dialect").value });
    tell(told, false);
    if (rank !== null) player.go(rank + 1);
  }, (error) => tell(error.message, true));
  byId("explain-form").addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
  });
}

/** The pair that wins at a step, as its tokens in hexadecimal; the winner stands first among the pairs. */
const pairAt = ({ steps }, step) => steps[step - 1]?.pairs[0][0].join(" ") ?? "";

/** A sentence about whether the visible dialects chose the same pair. */
function agreement(lessons, step) {
  if (step === 0) return "Nothing is merged yet: every word consists of its bytes.";
  const groups = Map.groupBy(lessons, (lesson) => pairAt(lesson, step));
  if (groups.size === 1) return `Merge ${step}: all dialects choose the same pair.`;
  const named = (pair) => (pair ? pair.split(" ").map(labelOf).join(" + ") : "nothing (no pair is left)");
  return `Merge ${step}: ${[...groups].map(([pair, chosen]) => `${chosen.map(({ name }) => name).join(", ")} → ${named(pair)}`).join(";  ")}`;
}

function lessonAt({ name, rule, words, steps }, place, differs) {
  const step = steps[place - 1];
  const ended = place === 0 ? "Ready." : "No pair is left: training has stopped.";
  return element(`article.lesson${differs ? ".differs" : ""}`, { "data-name": name },
    element("h2", {}, name),
    element("p.soft", {}, `Ties go to ${rule}.`),
    ...(step ? [winner(step, rule), pairList(step)] : [element("p.winner", {}, ended)]),
    element("h3", {}, "Words"), wordList(place === 0 || !steps.length ? words : (step ?? steps.at(-1)).words),
    element("h3", {}, "Merges so far"),
    element("ol.merges", {}, ...steps.slice(0, place).map(({ pair, pairs: [[tokens]] }) =>
      element("li", { "data-pair": pair.join(" ") }, chip(tokens.join(""), "chip.made")))));
}

function winner({ pair, made, tied, pairs: [[tokens, count]] }, rule) {
  const ids = rule.endsWith("ids") ? `: (${pair.join(", ")})` : "";
  const why = tied === 1 ? "No other pair has this count." : `${plural(tied, "pair")} have this count; ${rule} wins${ids}.`;
  return element("div.winner", {},
    element("p", {}, chip(tokens[0]), " + ", chip(tokens[1]), " → ", chip(tokens.join(""), "chip.made"),
      element("span.winner-count", {}, `${number(count)} × · id ${made}`)),
    element("p.why", {}, why));
}

function pairList({ pairs, tied, more_pairs: more }) {
  const rows = pairs.map(([tokens, count], place) =>
    element(`li${place === 0 ? ".won" : place < tied ? ".tied" : ""}`, {},
      element("span", {}, ...tokens.map((token) => chip(token))), barOf(count / pairs[0][1]), element("span.count", {}, number(count))));
  return element("ol.pairs", { "aria-label": "Pair counts" }, ...rows, moreOf(more, "pair"));
}

function wordList({ rows, more }) {
  return element("ul.lesson-words", {}, ...rows.map(([tokens, count]) =>
    element("li", {}, ...tokens.map((token) => chip(token)), element("span.soft", {}, ` × ${number(count)}`))), moreOf(more, "word"));
}

const moreOf = (more, noun) => (more ? element("li.soft", {}, `and ${plural(more, noun)} more`) : "");

/** A bar, filled to a share of it. */
function barOf(share) {
  const fill = element("i.bar-fill");
  fill.style.width = `${100 * share}%`;
  return element("span.bar-track", {}, fill);
}
