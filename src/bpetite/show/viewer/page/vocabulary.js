// The fourth view: every token, found by its text, its bytes or its id.

const HINTS = { text: "part of a token’s text", bytes: "hexadecimal, e.g. e6 97 a5", id: "300, or 300-320" };

function startVocabulary(models) {
  const field = byId("search");
  const status = byId("search-status");
  const details = detailsIn(byId("vocabulary-details"), "Choose a token to see how it is built.");
  const table = tableOf(["Id", "Rank", "Token", "Made of", "Bytes", "Uses"]);
  const [list] = table.tBodies;
  const more = button("Show more", () => search(list.rows.length), { id: "more", hidden: true });
  let text = "";
  byId("found").append(table, more);

  async function find(first) {
    const model = Number(byId("vocabulary-model").value);
    text = byId("text").value;
    const answer = await ask("vocabulary", {
      model,
      by: byId("by").value,
      query: field.value,
      sort: byId("sort").value,
      text,
      first,
    });
    if (first === 0) list.replaceChildren();
    for (const token of answer.rows) {
      const row = foundRow(token, answer.tokens);
      row.addEventListener("click", () => markChosen(list, row, details({ model, id: token.id })));
      list.append(row);
    }
    more.hidden = list.rows.length >= answer.total;
    status.textContent = plural(answer.total, "token");
  }

  const search = latestOnly(byId("found"), find, (error) => {
    list.replaceChildren();
    more.hidden = true;
    status.textContent = error.message;
  });

  function again(delay = 0) {
    const { name, vocab_size, merges, special_tokens } = models[byId("vocabulary-model").value];
    const tokens = `${plural(vocab_size, "token")}, ${number(special_tokens)} of them special`;
    const sizes = `${name} has ${tokens}, and ${plural(merges, "merge")}.`;
    byId("vocabulary-lead").textContent = sizes + " Uses are counted in the text under Tokens.";
    field.placeholder = HINTS[byId("by").value];
    search(0, delay);
  }

  field.addEventListener("input", () => again(80));
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    again();
  });
  for (const id of ["by", "sort", "vocabulary-model"]) {
    byId(id).addEventListener("change", () => again());
  }
  addEventListener("hashchange", () => {
    if (text !== byId("text").value) again();
  });
  again();
}

/** A row of the table; its button makes it reachable by keyboard, a click anywhere in it is enough. */
function foundRow(token, tokens) {
  const { id, rank, hex, pair, special, uses } = token;
  let parts = special ? "special" : "–";
  if (pair) {
    const [left, right] = pair.map((part) => chip(tokens[part]));
    parts = element("span.sum", left, " + ", right);
  }
  const size = hex.split(" ").length;
  const row = rowOf([button(id), rank ?? "–", chip(token), parts, size, uses]);
  row.dataset.id = id;
  return row;
}
