// What all views share: elements, questions to the server, and work whose result comes later.
"use strict";

const byId = (id) => document.getElementById(id);

const number = (value) => value.toLocaleString("en-US");

/** A number with its noun: `plural(1, "token")` is "1 token". */
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Makes an element: `element("p.note", { title: "x" }, "text", child)`. Text only ever becomes a text node, never HTML. */
function element(kind, properties = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Makes a row of a table; each cell is a text or a node. */
const tableRow = (cells, kind = "td") => element("tr", {}, ...cells.map((cell) => element(kind, {}, cell)));

/** The numbers of a report, which are in its page; null in the viewer. */
const inside = JSON.parse(byId("inside").textContent);

/** Asks the server; a refusal, or the reason why there is no answer, is an Error. */
async function ask(question, given = {}) {
  const valid = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);
  const response = await fetch("/ask", { method: "POST", body: JSON.stringify({ question, ...given }, valid) });
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
    before = before.then(() => call === calls && work(argument)).catch(failed);
    await before;
    if (call === calls) region.removeAttribute("aria-busy");
  };
}
