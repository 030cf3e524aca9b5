// A token's id → a panel with its bytes, id, rank and merge tree.

const LARGEST_TREE = 400;

/**
 * Returns a function that draws a token in a panel: `{ model, id, heading, extra, action }`. `extra` is more
 * rows of the list (`[name, value]`), `action` a button below it. `hint` stands there until then.
 */
function detailsIn(panel, hint) {
  panel.replaceChildren(element("p.hint", {}, hint));
  return latestOnly(panel, async ({ model, id, heading = "", extra = [], action = "" }) => {
    const { parts } = await ask("token", { model, id });
    panel.dataset.id = id;
    panel.replaceChildren(
      element("p.details-heading", {}, heading),
      element("p.details-token", {}, tokenOf("whole", fromHex(parts[0].bytes))),
      factsOf([...factsOfToken(parts[0]), ...extra]),
      action,
      element("h2", {}, "Merge tree"),
      treeOf(parts),
    );
  });
}

const factsOf = (facts) =>
  element("dl.facts", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

function factsOfToken({ id, rank, special, bytes: hex }) {
  const bytes = fromHex(hex);
  const text = textOf(bytes);
  const unmerged = special ? "none (special token)" : bytes.length > 1 ? "none (no merge makes it)" : "none (base token)";
  return [
    ["Id", number(id)],
    ["Rank", rank === null ? unmerged : number(rank)],
    ["Bytes", `${spacedHex(bytes)} (${bytes.length})`],
    ["Text", text === null ? "part of a character" : plural([...text].length, "character")],
  ];
}

function treeOf(parts) {
  const [whole] = parts;
  if (whole.special) return element("p.hint", {}, "A special token is never merged: its text is found as a whole.");
  if (whole.pair === null) return element("p.hint", {}, "No merge makes this token.");
  const byNumber = new Map(parts.map((part) => [part.id, part]));
  let left = LARGEST_TREE;
  const branch = (id) => {
    const part = byNumber.get(id);
    const label = part.rank === null ? `id ${id}` : `id ${id} · rank ${part.rank}`;
    const node = element("div.node", {}, chip(part.bytes), element("small", {}, label));
    if (part.pair === null || --left < 0) return element("li", {}, node);
    return element("li", {}, node, element("ul", {}, ...part.pair.map(branch)));
  };
  return element("div.tree", { tabIndex: 0 }, element("ul", {}, branch(whole.id)));
}
