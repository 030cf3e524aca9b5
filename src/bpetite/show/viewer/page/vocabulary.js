// The fourth view: every token, found by its text, its bytes or its id.

const HINTS = { text: "part of a token’s text", bytes: "hexadecimal, e.g. e6 97 a5", id: "300, or 300-320" };

function startVocabulary(models) {
  const details = detailsIn(byId("vocabulary-details"), "Choose a token to see how it is built.");
  const rows = byId("found").tBodies[0];
  const model = () => Number(byId("vocabulary-model").value);
  const by = () => document.querySelector("input[name=by]:checked").value;

  const search = latestOnly(byId("found"), async (first) => {
    const chosen = model();
    const answer = await ask("vocabulary", { model: chosen, by: by(), query: byId("search").value, first });
    if (first === 0) rows.replaceChildren();
    rows.append(...answer.rows.map((token) => foundRow(token, () => details({ model: chosen, id: token.id }))));
    byId("more").hidden = rows.rows.length >= answer.total;
    byId("search-status").textContent = plural(answer.total, "token");
  }, (error) => {
    rows.replaceChildren();
    byId("more").hidden = true;
    byId("search-status").textContent = error.message;
  });
  const again = (delay = 0) => {
    byId("search").placeholder = HINTS[by()];
    const { name, vocab_size, merges, special_tokens } = models[model()];
    byId("vocabulary-lead").textContent = `${name} has ${number(vocab_size)} tokens: 256 bytes, ${plural(merges, "merge")}, ${plural(Object.keys(special_tokens).length, "special token")}.`;
    search(0, delay);
  };

  byId("search").addEventListener("input", () => again(80));
  byId("search-form").addEventListener("submit", (event) => { event.preventDefault(); again(); });
  document.querySelectorAll("input[name=by], #vocabulary-model").forEach((choice) => choice.addEventListener("change", () => again()));
  byId("more").addEventListener("click", () => {
    if (!byId("found").hasAttribute("aria-busy")) search(rows.rows.length);
  });
  again();
}

function foundRow({ id, rank, bytes, pair, special }, choose) {
  const row = tableRow([
    element("button.link", { type: "button" }, String(id)),
    rank === null ? "–" : number(rank),
    chip(bytes, special ? "chip.special" : "chip"),
    element("span.hex", {}, spacedHex(fromHex(bytes))),
    pair ? pair.join(" + ") : special ? "special" : "–",
  ]);
  row.dataset.id = id;
  row.addEventListener("click", choose);
  return row;
}
