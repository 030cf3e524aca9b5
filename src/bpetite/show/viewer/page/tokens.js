// The first view: a text is encoded as it is typed, by one tokenizer or by two side by side.

const SAMPLE = `The quick brown fox doesn't jump over 12,345 lazy dogs.
naïve café, 東京へ行く, привет 👋🏽
\tdef tokenize(text: str) -> list[int]:
<|endoftext|>`;

const LARGE = 100_000;
const COLOURS = 6;
const ROW_HEIGHT = 28;
const BLOCK = 150;
const LONGEST_BLOCK = 1200;
const PAGE_MOVE = 40;
const NEWLINE = 10;

/** `watch(model, text, at)` shows the merging of the pretoken at a byte offset. */
function startTokens(models, watch) {
  const input = byId("text");
  const details = detailsIn(byId("token-details"), "Point at a token to see its bytes, its id, and the merges that built it.");
  const panes = models.map((model, place) => new TokenPane(model, (...pointed) => show(place, ...pointed)));
  let text = "";
  let chosen = null;

  const draw = () => {
    const mode = document.querySelector("input[name=show]:checked").value;
    panes.forEach((pane, place) => {
      const other = panes[1 - place];
      if (pane.encoding) pane.show(mode, other && differences(pane.encoding, other.encoding), byId("differences").checked);
    });
  };

  const encode = latestOnly(byId("panes"), async (read) => {
    const source = await read();
    const typed = new TextEncoder().encode(source);
    const answers = await Promise.all(models.map((_, model) => ask("encode", { model, text: source })));
    answers.forEach((answer, place) => {
      panes[place].encoding = { ...answer, bytes: "text" in answer ? new TextEncoder().encode(answer.text) : typed };
    });
    text = source;
    byId("text-status").textContent = `${plural([...source].length, "character")}, ${plural(typed.length, "byte")}`;
    draw();
  });

  function show(place, token, kept) {
    if (kept) chosen = { place, token };
    const target = token === null ? chosen : { place, token };
    if (!target || target.token >= panes[target.place].encoding.ids.length) return;
    const { encoding, model } = panes[target.place];
    const [source, from] = [text, startOf(encoding, target.token)];
    details({
      model: target.place,
      id: encoding.ids[target.token],
      heading: panes.length > 1 ? model.name : "",
      extra: [["Position", `token ${number(target.token)}, bytes ${number(from)} to ${number(encoding.ends[target.token])}${"text" in encoding ? " of the normalized text" : ""}`]],
      action: element("button.plain", { type: "button", onclick: () => watch(target.place, source, from) }, "Watch its pretoken merge"),
    });
  }

  input.addEventListener("input", () => encode(() => input.value, input.value.length > LARGE ? 250 : 30));
  input.addEventListener("paste", (event) => pasteLong(event, input));
  acceptFiles(byId("tokens"), (file) => encode(async () => (input.value = await contentOf(file))));
  document.querySelectorAll("input[name=show], #differences").forEach((choice) => choice.addEventListener("change", draw));
  byId("differences-choice").hidden = models.length < 2;
  byId("panes").classList.toggle("two", models.length > 1);
  byId("panes").append(...panes.map((pane) => element("article.pane", {}, pane.summary, pane.body)));
  encode(() => (input.value = SAMPLE));
}

const startOf = ({ ends }, place) => (place === 0 ? 0 : ends[place - 1]);

/** An encoded text as coloured tokens. Only tokens near the visible part are drawn, so a megabyte is no problem. */
class TokenPane {
  /** `pointed(place, kept)` is called when a token is hovered or focused, with null when the pointer leaves. */
  constructor(model, pointed) {
    this.model = model;
    this.specials = new Set(Object.values(model.special_tokens));
    this.pointed = pointed;
    this.current = 0;
    this.encoding = null;
    this.summary = element("p.summary");
    this.body = element("div.tokens", { role: "group", "aria-label": `Tokens of ${model.name}` });
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => {
      if (entry.isIntersecting) this.fill(entry.target);
    }), { root: this.body, rootMargin: "800px" });
    const whenToken = (act) => (event) => {
      const token = event.target.closest("[data-place]");
      if (token) act(Number(token.dataset.place));
    };
    this.body.addEventListener("pointerover", whenToken((place) => pointed(place, false)));
    this.body.addEventListener("pointerleave", () => pointed(null, false));
    this.body.addEventListener("focusin", whenToken((place) => this.choose(place)));
    this.body.addEventListener("click", whenToken((place) => this.focus(place)));
    this.body.addEventListener("keydown", (event) => this.moveByKey(event));
  }

  /** Shows the encoding as `text`, `ids` or `table`; `differs` flags the tokens that another tokenizer has not. */
  show(mode, differs, marked) {
    const { ids, bytes } = this.encoding;
    this.mode = mode;
    this.differs = marked && differs;
    this.current = Math.min(this.current, Math.max(0, ids.length - 1));
    this.observer.disconnect();
    this.body.dataset.mode = mode;
    this.body.dataset.count = ids.length;
    this.blocks = blocksOf(this.encoding, mode).map(([first, end]) => this.block(first, end));
    const top = this.body.scrollTop;
    this.body.replaceChildren(...(mode === "table" ? [tableHead()] : []), ...this.blocks);
    this.body.scrollTop = top;
    if (ids.length) this.fill(this.blocks[0]);
    this.blocks.forEach((block) => this.observer.observe(block));

    const specials = ids.filter((id) => this.specials.has(id)).length;
    this.summary.replaceChildren(
      ...(differs ? [element("span.pane-name", {}, this.model.name)] : []),
      element("b.count", {}, number(ids.length)), ` token${ids.length === 1 ? "" : "s"}`,
      ids.length ? ` · ${(bytes.length / ids.length).toFixed(2)} bytes per token` : "",
      specials ? ` · ${number(specials)} special` : "",
      differs ? ` · ${number(differs.filter(Boolean).length)} cut differently` : "",
    );
  }

  /** Makes an empty block whose height is guessed, for the scroll bar. */
  block(first, end) {
    const columns = Math.max(20, this.body.clientWidth / 10);
    const letters = this.encoding.ends[end - 1] - startOf(this.encoding, first) + (this.mode === "ids" ? (end - first) * 4 : 0);
    const rows = this.mode === "table" ? end - first : Math.max(1, Math.round(letters / columns));
    const made = Object.assign(element("div.block"), { first, end });
    made.style.containIntrinsicSize = `auto ${rows * ROW_HEIGHT}px`;
    made.style.minHeight = `${rows * ROW_HEIGHT}px`;
    return made;
  }

  fill(block) {
    if (block.filled) return;
    block.filled = true;
    block.style.minHeight = "";
    for (let place = block.first; place < block.end; place++) {
      const token = this.draw(place);
      token.dataset.place = place;
      token.tabIndex = place === this.current ? 0 : -1;
      token.classList.toggle("special", this.specials.has(this.encoding.ids[place]));
      token.classList.toggle("differs", Boolean(this.differs?.[place]));
      block.append(token);
    }
  }

  draw(place) {
    const [start, end, id] = [startOf(this.encoding, place), this.encoding.ends[place], String(this.encoding.ids[place])];
    const kind = `token.c${place % COLOURS}`;
    if (this.mode === "ids") return element(`span.${kind}.id`, {}, id);
    const bytes = this.encoding.bytes.subarray(start, end);
    if (this.mode === "text") return tokenOf(kind, bytes);
    return element("div.row", {}, ...[number(place), id, `${start}–${end}`, tokenOf(kind, bytes), spacedHex(bytes)].map((cell) => element("span", {}, cell)));
  }

  /** Lets the tab key reach this token. */
  choose(place) {
    this.tokenAt(this.current)?.setAttribute("tabindex", "-1");
    this.current = place;
    this.tokenAt(place).setAttribute("tabindex", "0");
    this.pointed(place, true);
  }

  tokenAt(place) {
    return this.body.querySelector(`[data-place="${place}"]`);
  }

  focus(place) {
    this.fill(this.blocks.find((block) => block.first <= place && place < block.end));
    this.tokenAt(place).focus();
  }

  moveByKey(event) {
    const last = this.encoding.ids.length - 1;
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: PAGE_MOVE, PageUp: -PAGE_MOVE, Home: -last, End: last };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.focus(Math.max(0, Math.min(last, this.current + moves[event.key])));
  }
}

const tableHead = () =>
  element("div.row.head", { "aria-hidden": "true" }, ...["Place", "Id", "Byte offsets", "Token", "Bytes"].map((name) => element("span", {}, name)));

/** Divides the tokens into blocks, which end at the end of a line if there is one. */
function blocksOf({ bytes, ids, ends }, mode) {
  const blocks = [];
  let first = 0;
  for (let end = 1; end <= ids.length; end++) {
    const isWhole = mode === "table" || (mode === "text" && bytes[ends[end - 1] - 1] === NEWLINE);
    if (end === ids.length || end - first >= (isWhole ? BLOCK : LONGEST_BLOCK)) {
      blocks.push([first, end]);
      first = end;
    }
  }
  return blocks;
}

/**
 * Flags the tokens of one encoding that are not tokens of the other. If the texts differ, because one is normalized,
 * positions in the typed text are compared; a token without one is flagged.
 */
function differences(one, other) {
  const endsOf = (encoding) => (one.text === other.text ? encoding.ends : encoding.source_ends ?? encoding.ends);
  const spans = ({ length }, ends) => Array.from({ length }, (_, place) => (ends[place] === null ? null : `${place ? ends[place - 1] : 0} ${ends[place]}`));
  const theirs = new Set(spans(other.ids, endsOf(other)));
  return spans(one.ids, endsOf(one)).map((span) => span === null || !theirs.has(span));
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

async function contentOf(file) {
  const text = textOf(new Uint8Array(await file.arrayBuffer()));
  if (text === null) throw new Error(`${file.name} is not UTF-8 text`);
  return text;
}
