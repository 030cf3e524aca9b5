// The fourth view: every token, found by its text, its bytes or its id.

import { vocabulary } from "./api.js";
import { chip, fromHex, spacedHex } from "./bytes.js";
import { byId, element, number, plural } from "./dom.js";
import { latestOnly } from "./latest.js";
import { TokenDetails } from "./token_details.js";

const HINTS = { text: "part of a token’s text", bytes: "hexadecimal, e.g. e6 97 a5", id: "300, or 300-320" };

export function startVocabulary(models, failed) {
  const details = new TokenDetails(byId("vocabulary-details"), "Choose a token to see how it is built.", failed);
  const rows = byId("found").tBodies[0];
  const model = () => Number(byId("vocabulary-model").value || 0);
  const by = () => document.querySelector("input[name=by]:checked").value;

  const wrong = (error) => {
    rows.replaceChildren();
    byId("more").hidden = true;
    byId("search-status").textContent = error.message;
  };
  const search = latestOnly(byId("found"), async (first) => {
    const chosen = model();
    const answer = await vocabulary(chosen, by(), byId("search").value, first);
    if (first === 0) rows.replaceChildren();
    rows.append(...answer.rows.map((row) => rowOf(row, () => details.show({ model: chosen, id: row.id }))));
    byId("more").hidden = rows.rows.length >= answer.total;
    byId("search-status").textContent = plural(answer.total, "token");
  }, wrong);
  const again = (delay) => {
    byId("search").placeholder = HINTS[by()];
    const { name, vocab_size, merges, special_tokens } = models[model()];
    byId("vocabulary-lead").textContent = `${name} has ${number(vocab_size)} tokens: 256 bytes, ${plural(merges, "merge")}, ${plural(Object.keys(special_tokens).length, "special token")}.`;
    search(0, delay);
  };

  byId("search").addEventListener("input", () => again(80));
  byId("search-form").addEventListener("submit", (event) => { event.preventDefault(); again(0); });
  document.querySelectorAll("input[name=by]").forEach((choice) => choice.addEventListener("change", () => again(0)));
  byId("vocabulary-model").addEventListener("change", () => again(0));
  byId("more").addEventListener("click", () => {
    if (!byId("found").hasAttribute("aria-busy")) search(rows.rows.length);
  });
  again(0);
}

function rowOf(row, choose) {
  const made = row.pair ? row.pair.map(String).join(" + ") : row.special ? "special" : "–";
  return element(`tr${row.special ? ".special-row" : ""}`, { "data-id": row.id, onclick: choose },
    element("td", {}, element("button.link", { type: "button" }, String(row.id))),
    element("td", {}, row.rank === null ? "–" : number(row.rank)),
    element("td", {}, chip(row.bytes, row.special ? "special" : "")),
    element("td.hex", {}, spacedHex(fromHex(row.bytes))),
    element("td", {}, made));
}
