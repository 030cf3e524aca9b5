// A token's id → a panel with its bytes, id, rank and merge tree.

import { token } from "./api.js";
import { chip, fromHex, nodesOf, spacedHex, textOf } from "./bytes.js";
import { element, number, plural } from "./dom.js";
import { latestOnly } from "./latest.js";

const LARGEST_TREE = 400;
const answers = new Map();

async function partsOf(model, id) {
  const key = `${model}/${id}`;
  if (!answers.has(key)) answers.set(key, (await token(model, id)).parts);
  return answers.get(key);
}

export class TokenDetails {
  /** `hint` is the text of the panel until a token is shown; call `show` with the arguments of `draw`. */
  constructor(panel, hint, failed) {
    this.panel = panel;
    this.show = latestOnly(panel, (token) => this.draw(token), failed);
    panel.replaceChildren(element("p.hint", {}, hint));
  }

  /** Draws a token; `extra` is more rows of the list (`[name, value]`), `action` a button below it. */
  async draw({ model, id, heading = "", extra = [], action = null }) {
    const parts = await partsOf(model, id);
    const [whole] = parts;
    const bytes = fromHex(whole.bytes);
    this.panel.dataset.id = id;
    this.panel.replaceChildren(
      element("p.details-heading", {}, heading),
      element("p.details-token", {}, element("bdi", {}, ...nodesOf(bytes))),
      factsOf(whole, bytes, extra),
      ...(action ? [action] : []),
      element("h2", {}, "Merge tree"),
      treeOf(parts),
    );
  }
}

function factsOf(whole, bytes, extra) {
  const text = textOf(bytes);
  const facts = [
    ["Id", number(whole.id)],
    ["Rank", whole.special ? "none (special token)" : whole.rank === null ? "none (base token)" : number(whole.rank)],
    ["Bytes", `${spacedHex(bytes)} (${bytes.length})`],
    ["Text", text === null ? "part of a character" : plural([...text].length, "character")],
    ...extra,
  ];
  if (whole.rank === null && !whole.special && bytes.length > 1) facts[1][1] = "none (no merge makes it)";
  return element("dl.facts", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function treeOf(parts) {
  const [whole] = parts;
  if (whole.special) return element("p.hint", {}, "A special token is never merged: its text is found as a whole.");
  if (whole.pair === null) return element("p.hint", {}, "No merge makes this token.");
  const byNumber = new Map(parts.map((part) => [part.id, part]));
  let left = LARGEST_TREE;
  const branch = (id) => {
    const part = byNumber.get(id);
    const label = part.rank === null ? `id ${part.id}` : `id ${part.id} · rank ${part.rank}`;
    const node = element("div.node", {}, chip(part.bytes), element("span.node-label", {}, label));
    if (part.pair === null || --left < 0) return element("li", {}, node);
    return element("li", {}, node, element("ul", {}, ...part.pair.map(branch)));
  };
  return element("div.tree", { tabIndex: 0 }, element("ul", {}, branch(whole.id)));
}
