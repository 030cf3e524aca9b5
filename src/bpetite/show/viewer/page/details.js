// A token's id → a panel with its bytes, id, rank and merge tree.

const LARGEST_TREE = 400;

/**
 * Returns a function that draws a token in a panel: `{ model, id, extra, action }`. `extra` is more
 * rows of the list (`[name, value]`), `action` a button beside it. `hint` stands there until then, and after `close()`.
 */
function detailsIn(panel, hint) {
  function close() {
    delete panel.dataset.id;
    panel.replaceChildren(element("p.soft", hint));
  }

  const show = latestOnly(panel, async ({ model, id, extra = [], action = "" }) => {
    const { parts } = await ask("token", { model, id });
    const [token] = parts;
    const { rank, hex } = token;
    const facts = [
      ["Id", id],
      ["Rank", rank === null ? "none" : number(rank)],
      ["Bytes", `${hex} (${number(hex.split(" ").length)})`],
      ...extra,
    ];
    panel.dataset.id = id;
    panel.replaceChildren(
      button("×", close, { className: "close", "aria-label": "Close" }),
      element("div.whole", chip(token), action),
      factsOf(facts),
      element("div", element("h2", "Merge tree"), treeOf(parts)));
  });

  close();
  return Object.assign(show, { close });
}

/** The merges that make a token, `parts[0]`, from the other parts, or why there are none. */
function treeOf(parts) {
  const [root] = parts;
  if (!root.pair) {
    const special = "A special token is never merged: its text is found as a whole.";
    return element("p.soft", root.special ? special : "No merge makes this token.");
  }
  const partOf = new Map(parts.map((part) => [part.id, part]));
  let branches = 0;

  function branch(id) {
    const part = partOf.get(id);
    let label = ` id ${id}`;
    if (part.rank !== null) label += ` · rank ${number(part.rank)}`;
    const item = element("li", chip(part), element("small", label));
    if (part.pair !== null && branches < LARGEST_TREE) {
      branches++;
      item.append(element("ul", ...part.pair.map(branch)));
    }
    return item;
  }

  return element("ul.tree", branch(root.id));
}
