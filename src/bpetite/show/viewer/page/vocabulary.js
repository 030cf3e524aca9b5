// The fourth view: every token, found by its text, its bytes or its id.

const HINTS = { text: "part of a token’s text", bytes: "hexadecimal, e.g. e6 97 a5", id: "300, or 300-320" };

function startVocabulary(models) {
  const details = detailsIn(byId("vocabulary-details"), "Choose a token to see how it is built.");
  const table = tableOf(["Id", "Rank", "Token", "Made of", "Bytes", "Uses"]);
  const rows = table.tBodies[0];
  const more = button("Show more", () => search(rows.rows.length), { id: "more", hidden: true });
  let text = "";
  byId("found").append(table, more);

  const search = latestOnly(byId("found"), async (first) => {
    const model = Number(byId("vocabulary-model").value);
    const [by, query, sort] = ["by", "search", "sort"].map((id) => byId(id).value);
    text = byId("text").value;
    const answer = await ask("vocabulary", { model, by, query, sort, text, first });
    if (first === 0) rows.replaceChildren();
    rows.append(...answer.rows.map((token) =>
      foundRow(token, answer.tokens, (row) => markChosen(rows, row, details({ model, id: token.id })))));
    more.hidden = rows.rows.length >= answer.total;
    byId("search-status").textContent = plural(answer.total, "token");
  }, (error) => {
    rows.replaceChildren();
    more.hidden = true;
    byId("search-status").textContent = error.message;
  });
  const again = (delay = 0) => {
    byId("search").placeholder = HINTS[byId("by").value];
    const { name, vocab_size, merges, special_tokens } = models[byId("vocabulary-model").value];
    byId("vocabulary-lead").textContent = `${name} has ${plural(vocab_size, "token")}, ${number(special_tokens)} of them special, and ${plural(merges, "merge")}. Uses are counted in the text under Tokens.`;
    search(0, delay);
  };

  byId("search").addEventListener("input", () => again(80));
  byId("search-form").addEventListener("submit", (event) => { event.preventDefault(); again(); });
  for (const id of ["by", "sort", "vocabulary-model"]) byId(id).addEventListener("change", () => again());
  addEventListener("hashchange", () => text !== byId("text").value && again());
  again();
}

function foundRow(token, tokens, choose) {
  const { id, rank, hex, pair, special, uses } = token;
  const parts = pair ? element("span.sum", {}, chip(tokens[pair[0]]), " + ", chip(tokens[pair[1]])) : special ? "special" : "–";
  const row = rowOf([button(String(id)), rank ?? "–", chip(token), parts, hex.split(" ").length, uses]);
  row.dataset.id = id;
  row.addEventListener("click", () => choose(row)); // of the button, too
  return row;
}
