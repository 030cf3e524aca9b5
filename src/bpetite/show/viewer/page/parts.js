// What all views share: elements, tokens, tables, questions to the server, and work whose result comes later.
"use strict";

const byId = (id) => document.getElementById(id);

const number = (value) => value.toLocaleString("en-US");

/** A number with its noun: `plural(1, "token")` is "1 token". */
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Makes an element: `element("p.note", "text", child)`. Text only ever becomes a text node, never HTML. */
function element(kind, ...children) {
  const [tag, ...classes] = kind.split(".");
  const node = document.createElement(tag);
  node.className = classes.join(" ");
  node.append(...children);
  return node;
}

/** Makes an element with properties, such as `onclick`, or attributes: `elementWith("p", { title: "x" }, "text")`. */
function elementWith(kind, properties, ...children) {
  const node = element(kind, ...children);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  return node;
}

const button = (content, onclick, properties = {}) =>
  elementWith("button", { type: "button", onclick, ...properties }, content);

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
  const node = elementWith(`bdi.${kind}${special ? ".special" : ""}`, { title: hex });
  runs.forEach((run, place) => {
    if (place % 2 === 0) node.append(run);
    else if (run in SIGNS) node.append(element("span.mark", SIGNS[run]));
    else node.append(element("span.mark.code", run.slice(1, -1))); // without its < and >
  });
  return node;
}

/** Makes a row of a table; each cell is a number, a text or a node. */
function rowOf(cells, kind = "td") {
  const row = element("tr");
  for (const cell of cells) {
    let content = cell;
    if (Number.isInteger(cell)) content = number(cell);
    else if (typeof cell === "number") content = cell.toFixed(3);
    row.append(element(kind, content));
  }
  return row;
}

function tableOf(heads, rows = []) {
  const head = element("thead", rowOf(heads, "th"));
  const body = element("tbody", ...rows.map((cells) => rowOf(cells)));
  return element("table", head, body);
}

/** A list of facts `[name, value]`. */
function factsOf(facts) {
  const list = element("dl");
  for (const [name, value] of facts) {
    list.append(element("dt", name), element("dd", value));
  }
  return list;
}

/** Asks the server; a refusal, or the reason why there is no answer, is an Error. */
async function ask(question, details = {}) {
  // Half of a surrogate pair, as in a text that is being typed, cannot be sent.
  const wellFormed = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);
  const body = JSON.stringify({ question, ...details }, wellFormed);
  const response = await fetch("ask", { method: "POST", body });
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
  let previous = Promise.resolve();
  return async (argument, delay = 0) => {
    const call = ++calls;
    region.ariaBusy = true;
    if (delay) await new Promise((resume) => setTimeout(resume, delay));
    previous = previous.then(async () => {
      if (call === calls) await work(argument);
      byId("failure").hidden = true;
    }).catch(failed);
    await previous;
    if (call === calls) region.ariaBusy = null;
  };
}
