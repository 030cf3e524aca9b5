// What all views share: elements, tokens, tables, questions to the server, and work whose result comes later.
"use strict";

const byId = (id) => document.getElementById(id);

const number = (value) => value.toLocaleString("en-US");

/** A number with its noun: `plural(1, "token")` is "1 token". */
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Makes an element: `element("p.note", { title: "x" }, "text", child)`. Text only ever becomes a text node, never HTML. */
function element(kind, properties = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag);
  made.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const button = (words, onclick, properties = {}) => element("button", { type: "button", onclick, ...properties }, words);

/** Marks the one chosen element of a region, and scrolls to it when what is known of it is `shown`. */
async function markChosen(region, chosen, shown) {
  region.querySelector(".chosen")?.classList.remove("chosen");
  chosen.classList.add("chosen");
  await shown;
  if (chosen.contains(document.activeElement)) chosen.scrollIntoView({ block: "nearest" });
}

const SIGNS = { " ": "·", "\n": "↵\n", "\t": "→" };

/** Draws a token `{ runs, hex, special }`: of the runs, every second is an invisible character or the code of one. */
function chip({ runs, hex, special }, kind = "chip") {
  const mark = (run) => (run in SIGNS ? element("span.mark", {}, SIGNS[run]) : element("span.mark.code", {}, run.slice(1, -1)));
  return element(`bdi.${kind}${special ? ".special" : ""}`, { title: hex }, ...runs.map((run, place) => (place % 2 ? mark(run) : run)));
}

/** Makes a row of a table; each cell is a number, a text or a node. */
function rowOf(cells, kind = "td") {
  const shown = (cell) => (typeof cell !== "number" ? cell : Number.isInteger(cell) ? number(cell) : cell.toFixed(3));
  return element("tr", {}, ...cells.map((cell) => element(kind, {}, shown(cell))));
}

const tableOf = (heads, rows = []) =>
  element("table", {}, element("thead", {}, rowOf(heads, "th")), element("tbody", {}, ...rows.map((row) => rowOf(row))));

/** A list of facts `[name, value]`. */
const factsOf = (facts) =>
  element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

/** Asks the server; a refusal, or the reason why there is no answer, is an Error. */
async function ask(question, given = {}) {
  const valid = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);
  const response = await fetch("ask", { method: "POST", body: JSON.stringify({ question, ...given }, valid) });
  if (!response.ok) throw new Error(await response.text());
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

function tellFailure(error) {
  byId("failure").textContent = error.message;
  byId("failure").hidden = false;
}

/**
 * Returns a function that runs `work` with its latest argument, one run at a time, and reports failures.
 * Called with a delay in milliseconds, it waits until it was not called again for so long.
 * From the call until the latest result is shown, `region` is `aria-busy`.
 */
function latestOnly(region, work, failed = tellFailure) {
  let calls = 0;
  let before = Promise.resolve();
  return async (argument, delay = 0) => {
    const call = ++calls;
    region.setAttribute("aria-busy", "true");
    if (delay) await new Promise((resume) => setTimeout(resume, delay));
    before = before.then(() => call === calls && work(argument)).then(() => { byId("failure").hidden = true; }, failed);
    await before;
    if (call === calls) region.removeAttribute("aria-busy");
  };
}
