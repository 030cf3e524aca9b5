// The fourth view: every token, found by its text, its bytes or its id.

const HINTS = { text: "part of a token’s text", bytes: "hexadecimal, e.g. e6 97 a5", id: "300, or 300-320" };

function startVocabulary(models) {
  const details = detailsIn(byId("vocabulary-details"), "Choose a token to see how it is built.");
  const table = tableOf(["Id", "Rank", "Token", "Bytes", "Made of"]);
  const rows = table.tBodies[0];
  const more = button("Show more", () => search(rows.rows.length), { id: "more", hidden: true });
  byId("found").append(table, more);

  const search = latestOnly(byId("found"), async (first) => {
    const model = Number(byId("vocabulary-model").value);
    const answer = await ask("vocabulary", { model, by: byId("by").value, query: byId("search").value, first });
    if (first === 0) rows.replaceChildren();
    rows.append(...answer.rows.map((token) => foundRow(token, () => details({ model, id: token.id }))));
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
    byId("vocabulary-lead").textContent = `${name} has ${number(vocab_size)} tokens: 256 bytes, ${plural(merges, "merge")}, ${plural(special_tokens, "special token")}.`;
    search(0, delay);
  };

  byId("search").addEventListener("input", () => again(80));
  byId("search-form").addEventListener("submit", (event) => { event.preventDefault(); again(); });
  for (const id of ["by", "vocabulary-model"]) byId(id).addEventListener("change", () => again());
  again();
}

function foundRow(token, choose) {
  const { id, rank, hex, pair, special } = token;
  const row = rowOf([button(String(id), choose), rank ?? "–", chip(token), hex, pair?.join(" + ") ?? (special ? "special" : "–")]);
  row.dataset.id = id;
  return row;
}
