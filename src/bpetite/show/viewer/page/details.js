// A token's id → a panel with its bytes, id, rank and merge tree.

const LARGEST_TREE = 400;

/**
 * Returns a function that draws a token in a panel: `{ model, id, extra, action }`. `extra` is more
 * rows of the list (`[name, value]`), `action` a button beside it. `hint` stands there until then, and after `close()`.
 */
function detailsIn(panel, hint) {
  const close = () => {
    delete panel.dataset.id;
    panel.replaceChildren(element("p.soft", {}, hint));
  };
  close();
  const show = latestOnly(panel, async ({ model, id, extra = [], action = "" }) => {
    const { parts } = await ask("token", { model, id });
    const [{ rank, hex, special, pair }] = parts;
    panel.dataset.id = id;
    const facts = factsOf([
      ["Id", String(id)],
      ["Rank", rank === null ? "none" : number(rank)],
      ["Bytes", `${hex} (${number(hex.split(" ").length)})`],
      ...extra,
    ]);
    const why = special ? "A special token is never merged: its text is found as a whole." : "No merge makes this token.";
    panel.replaceChildren(
      button("×", close, { className: "close", "aria-label": "Close" }),
      element("div.whole", {}, chip(parts[0]), action),
      facts,
      element("div", {}, element("h2", {}, "Merge tree"), pair ? treeOf(parts) : element("p.soft", {}, why)));
  });
  return Object.assign(show, { close });
}

function treeOf(parts) {
  const byNumber = new Map(parts.map((part) => [part.id, part]));
  let left = LARGEST_TREE;
  const branch = (id) => {
    const part = byNumber.get(id);
    const label = part.rank === null ? ` id ${id}` : ` id ${id} · rank ${number(part.rank)}`;
    const made = element("li", {}, chip(part), element("small", {}, label));
    if (part.pair !== null && --left >= 0) made.append(element("ul", {}, ...part.pair.map(branch)));
    return made;
  };
  return element("ul.tree", {}, branch(parts[0].id));
}
