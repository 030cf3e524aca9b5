// The third view: the page trains on a small corpus, by the rules of every dialect side by side.

import { difference, lessons } from "./api.js";
import { chip, fromHex, labelOf } from "./bytes.js";
import { byId, element, number, plural } from "./dom.js";
import { latestOnly } from "./latest.js";
import { Player } from "./player.js";
import { train } from "./training.js";

const HANDOUT = "low low low low low\nlower lower widest widest widest\nnewest newest newest newest newest newest\n";
const EXAMPLES = [
  { name: "low, lower, newest", corpus: HANDOUT, pattern: "\\S+" },
  { name: "ab ab ab", corpus: "ab ab ab", pattern: "gpt2" },
  { name: "a tie: cab", corpus: "cab", pattern: "gpt2" },
  { name: "a tie: abcab", corpus: "abcab", pattern: "gpt2" },
  { name: "runs: aaaa", corpus: "aaaa aaa", pattern: "gpt2" },
  { name: "a special token", corpus: "the end<|endoftext|>the end<|endoftext|>the start", pattern: "gpt2" },
];
const MOST_PAIRS = 8;
const MOST_WORDS = 24;

const RULES = {
  smallest_ids: "the smallest pair of ids",
  largest_bytes: "the largest pair of bytes",
  smallest_bytes: "the smallest pair of strings",
};

export function startTraining(patterns, dialects) {
  startExplaining(dialects);
  let trained = [];
  const hidden = new Set();
  const player = new Player(byId("training-player"), "Merge", (step) => draw(trained, hidden, step, player));

  const failed = (error) => {
    byId("training-sentence").textContent = error.message;
    byId("training-sentence").classList.add("wrong");
  };
  let shown = "";
  const retrain = latestOnly(byId("lessons"), async () => {
    const most = Math.max(0, Math.min(500, Number(byId("merges").value) || 0));
    const [corpus, pattern] = [byId("corpus").value, byId("pattern").value];
    const special = byId("special").value;
    const asked = JSON.stringify([corpus, pattern, special, most]);
    if (asked === shown) return; // nothing has changed: stay at this step
    shown = "";
    const answer = await lessons(corpus, pattern, special);
    byId("training-sentence").classList.remove("wrong");
    trained = answer.lessons.map((lesson) => ({ lesson, ...train(lesson, most) }));
    drawChoices(trained, hidden, () => player.announce());
    const last = Math.max(...trained.map(({ steps }) => steps.length));
    player.reset(last, Math.min(1, last));
    shown = asked;
  }, failed);

  for (const id of ["corpus", "pattern", "special", "merges"]) {
    byId(id).addEventListener("input", () => retrain(null, 150));
  }
  byId("patterns").append(...patterns.map((name) => element("option", { value: name })));
  const use = ({ corpus, pattern }) => {
    byId("corpus").value = corpus;
    byId("pattern").value = pattern;
    retrain();
  };
  byId("examples").append(...EXAMPLES.map((example) => element("button.plain", { type: "button", onclick: () => use(example) }, example.name)));
  use(EXAMPLES[0]);
}

/** The form below: the person's own merges, and where and why they differ from those of a dialect. */
function startExplaining(dialects) {
  byId("explain-dialect").append(...dialects.map((name) => element("option", { selected: name === "cs336" }, name)));
  const tell = (text, wrong) => {
    byId("difference").textContent = text;
    byId("difference").classList.toggle("wrong", wrong);
  };
  const explain = latestOnly(byId("difference"), async () => {
    const [corpus, merges, dialect, pattern, special] =
      ["corpus", "my-merges", "explain-dialect", "pattern", "special"].map((id) => byId(id).value);
    const { rank, told } = await difference(corpus, merges, dialect, pattern, special);
    tell(told, false);
    if (rank === null) return;
    const slider = byId("training-player").querySelector("input");
    slider.value = rank + 1;
    slider.dispatchEvent(new Event("input"));
  }, (error) => tell(error.message, true));
  byId("explain-form").addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
  });
}

function drawChoices(trained, hidden, changed) {
  byId("training-shown").replaceChildren(...trained.map(({ lesson }) => element("label", {},
    element("input", { type: "checkbox", checked: !hidden.has(lesson.name), onchange: (event) => {
      if (event.target.checked) hidden.delete(lesson.name);
      else hidden.add(lesson.name);
      changed();
    } }), element("span", {}, lesson.name))));
}

function draw(trained, hidden, step, player) {
  if (!trained.length) return;
  player.say(`merge ${step} of ${player.last}`);
  const shown = trained.filter(({ lesson }) => !hidden.has(lesson.name));
  byId("lessons").replaceChildren(...shown.map((one) => {
    const lesson = lessonOf(one, step);
    lesson.classList.toggle("differs", winnerOf(one, step) !== winnerOf(shown[0], step));
    return lesson;
  }));
  byId("training-sentence").textContent = agreement(shown, step);
}

const winnerOf = ({ steps, bytesOf }, step) =>
  (steps[step - 1] ? steps[step - 1].pair.map((id) => bytesOf.get(id)).join(" ") : "");

/** A sentence about whether the visible dialects chose the same pair. */
function agreement(shown, step) {
  if (step === 0) return "Nothing is merged yet: every word consists of its bytes.";
  const groups = new Map();
  for (const one of shown) {
    const winner = winnerOf(one, step);
    groups.set(winner, [...(groups.get(winner) ?? []), one.lesson.name]);
  }
  if (groups.size === 1) return `Merge ${step}: all dialects choose the same pair.`;
  const named = (winner) => (winner ? winner.split(" ").map((hex) => labelOf(fromHex(hex))).join(" + ") : "nothing (no pair is left)");
  return `Merge ${step}: ${[...groups].map(([winner, names]) => `${names.join(", ")} → ${named(winner)}`).join(";  ")}`;
}

function lessonOf({ lesson, start, steps, bytesOf }, place) {
  const step = steps[place - 1];
  const words = step?.words ?? (place === 0 || !steps.length ? start : steps.at(-1).words);
  return element("article.lesson", { "data-name": lesson.name },
    element("h2", {}, lesson.name),
    element("p.rule", {}, `Ties go to ${RULES[lesson.tie_break]}.`),
    ...(step ? [winner(step, bytesOf, lesson), pairTable(step, bytesOf)] : [element("p.winner.none", {}, place === 0 ? "Ready." : "No pair is left: training has stopped.")]),
    element("h3", {}, "Words"), wordList(words, bytesOf),
    element("h3", {}, "Merges so far"), mergeList(steps.slice(0, place), bytesOf));
}

function winner(step, bytesOf, lesson) {
  const [left, right] = step.pair;
  const why = step.tied.length === 1
    ? "No other pair has this count."
    : `${plural(step.tied.length, "pair")} have this count; ${RULES[lesson.tie_break]} wins${lesson.tie_break === "smallest_ids" ? `: (${left}, ${right})` : ""}.`;
  return element("div.winner", {},
    element("p.winner-pair", {}, chip(bytesOf.get(left)), " + ", chip(bytesOf.get(right)), " → ", chip(bytesOf.get(step.made), "made"),
      element("span.winner-count", {}, `${number(step.count)} × · id ${step.made}`)),
    element("p.why", {}, why));
}

function pairTable(step, bytesOf) {
  const others = step.counted.filter(({ pair }) => !step.tied.includes(pair));
  const ordered = [...step.tied.map((pair) => ({ pair, count: step.count })), ...others];
  const rows = ordered.slice(0, MOST_PAIRS).map(({ pair, count }, place) => {
    const bar = element("i.bar-fill");
    bar.style.width = `${(100 * count) / step.count}%`;
    const kind = place === 0 ? ".won" : place < step.tied.length ? ".tied" : "";
    return element(`li${kind}`, {}, element("span.pair", {}, chip(bytesOf.get(pair[0])), chip(bytesOf.get(pair[1]))), element("span.bar-track", {}, bar), element("span.count", {}, number(count)));
  });
  const more = ordered.length - rows.length;
  return element("ol.pairs", { "aria-label": "Pair counts" }, ...rows, ...(more > 0 ? [element("li.more", {}, `and ${plural(more, "pair")} more`)] : []));
}

function wordList(words, bytesOf) {
  const byCount = [...words].sort((a, b) => b.count - a.count);
  const more = byCount.length - MOST_WORDS;
  return element("ul.lesson-words", {}, ...byCount.slice(0, MOST_WORDS).map(({ ids, count }) =>
    element("li", {}, ...ids.map((id) => chip(bytesOf.get(id))), element("span.times", {}, ` × ${number(count)}`))),
  ...(more > 0 ? [element("li.more", {}, `and ${plural(more, "word")} more`)] : []));
}

function mergeList(steps, bytesOf) {
  return element("ol.merges", {}, ...steps.map(({ pair, made }) =>
    element("li", { "data-pair": pair.join(" "), "data-made": made, "data-bytes": pair.map((id) => bytesOf.get(id)).join(" ") }, chip(bytesOf.get(made)))));
}
