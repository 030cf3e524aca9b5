// The first view: a text is encoded as it is typed, by one tokenizer or by two side by side.

import { encode } from "./api.js";
import { byId, element, number, plural } from "./dom.js";
import { latestOnly } from "./latest.js";
import { TokenDetails } from "./token_details.js";
import { TokenPane } from "./token_pane.js";

const SAMPLE = `The quick brown fox doesn't jump over 12,345 lazy dogs.
naïve café, 東京へ行く, привет 👋🏽
\tdef tokenize(text: str) -> list[int]:
<|endoftext|>`;

const LARGE = 100_000;

export function startTokens(models, watchPretoken, failed) {
  const input = byId("text");
  const details = new TokenDetails(byId("token-details"), "Point at a token to see its bytes, its id, and the merges that built it.", failed);
  const panes = models.map((model, place) => paneOf(model, place, (...pointed) => show(place, ...pointed)));
  let text = "";
  let chosen = null;

  const draw = () => {
    const mode = document.querySelector("input[name=show]:checked").value;
    const marked = panes.length > 1 && byId("differences").checked;
    panes.forEach((pane, place) => {
      if (!pane.encoding) return;
      pane.encoding.differs = marked ? differences(pane.encoding, panes[1 - place].encoding) : null;
      pane.tokens.show(pane.encoding, mode);
      pane.summary.replaceChildren(...summaryOf(pane.encoding, panes, place));
    });
  };

  const encodeText = latestOnly(byId("panes"), async (read) => {
    const source = await read();
    const bytes = new TextEncoder().encode(source);
    const answers = await Promise.all(models.map((_, place) => encode(place, source)));
    answers.forEach((answer, place) => {
      const spelled = "text" in answer ? new TextEncoder().encode(answer.text) : bytes;
      panes[place].encoding = { ...answer, bytes: spelled, specials: new Set(Object.values(models[place].special_tokens)) };
    });
    text = source;
    byId("text-status").textContent = `${plural([...source].length, "character")}, ${plural(bytes.length, "byte")}`;
    draw();
  }, failed);

  function show(place, token, kept) {
    if (kept) chosen = { place, token };
    const target = token === null ? chosen : { place, token };
    if (!target) return;
    const { tokens, encoding } = panes[target.place];
    if (target.token >= encoding.ids.length) return;
    const [source, from] = [text, tokens.start(target.token)];
    details.show({
      model: target.place,
      id: encoding.ids[target.token],
      heading: panes.length > 1 ? models[target.place].name : "",
      extra: [["Position", `token ${number(target.token)}, bytes ${number(from)} to ${number(encoding.ends[target.token])}${"text" in encoding ? " of the normalized text" : ""}`]],
      action: element("button.plain", { type: "button", onclick: () => watchPretoken(target.place, source, from) }, "Watch its pretoken merge"),
    });
  }

  input.addEventListener("input", () => encodeText(() => input.value, input.value.length > LARGE ? 250 : 30));
  input.addEventListener("paste", (event) => pasteLong(event, input));
  acceptFiles(byId("tokens"), (file) => encodeText(async () => (input.value = await textOf(file))));
  document.querySelectorAll("input[name=show]").forEach((choice) => choice.addEventListener("change", draw));
  byId("differences").addEventListener("change", draw);
  byId("differences-choice").hidden = models.length < 2;
  byId("panes").classList.toggle("two", models.length > 1);
  byId("panes").append(...panes.map((pane) => pane.holder));
  encodeText(() => (input.value = SAMPLE));
}

function paneOf(model, place, pointed) {
  const tokens = new TokenPane(model.name, pointed);
  const summary = element("p.summary", { "data-model": place });
  return { tokens, summary, holder: element("article.pane", {}, summary, tokens.body), encoding: null };
}

function summaryOf(encoding, panes, place) {
  const { ids, bytes } = encoding;
  const specials = ids.reduce((count, id) => count + encoding.specials.has(id), 0);
  const facts = [
    element("b.count", {}, number(ids.length)), ` token${ids.length === 1 ? "" : "s"}`,
    ids.length ? ` · ${(bytes.length / ids.length).toFixed(2)} bytes per token` : "",
    specials ? ` · ${number(specials)} special` : "",
  ];
  const other = panes[1 - place]?.encoding;
  if (!other) return facts;
  const alone = differences(encoding, other).reduce((count, flag) => count + flag, 0);
  return [element("span.pane-name", {}, panes[place].tokens.body.getAttribute("aria-label").slice("Tokens of ".length)), ...facts,
    ` · ${number(alone)} cut differently`];
}

/**
 * Marks the tokens of one encoding that are not tokens of the other. If the texts differ, because one is normalized,
 * positions in the typed text are compared; a token without one is marked.
 */
export function differences(one, other) {
  const endsOf = (encoding) => (one.text === other.text ? encoding.ends : encoding.source_ends ?? encoding.ends);
  const flags = new Uint8Array(one.ids.length);
  const starts = new Map();
  let start = 0;
  for (const end of endsOf(other)) {
    if (start !== null) starts.set(start, end);
    start = end;
  }
  start = 0;
  endsOf(one).forEach((end, place) => {
    flags[place] = end !== null && starts.get(start) === end ? 0 : 1;
    start = end;
  });
  return flags;
}

/** Inserts a long pasted text at once; browsers take a minute for a few hundred kilobytes of lines. */
function pasteLong(event, input) {
  const pasted = event.clipboardData.getData("text/plain");
  if (pasted.length < LARGE / 10) return;
  event.preventDefault();
  input.setRangeText(pasted, input.selectionStart, input.selectionEnd, "end");
  input.dispatchEvent(new Event("input"));
}

function acceptFiles(area, accept) {
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    accept(file);
  });
}

async function textOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8 text`);
  }
}
