// The first view: a text is encoded as it is typed, by one tokenizer or by several side by side.

const SAMPLE = `The quick brown fox doesn't jump over 12,345 lazy dogs.
naïve café, 東京へ行く, привет 👋🏽
\tdef tokenize(text: str) -> list[int]:
<|endoftext|>`;

const LARGE = 100_000;
const COLOURS = 4;
const BATCH = 3000;

/** `watch(model, text, token)` shows the merging of the pretoken that holds a token. */
function startTokens(models, watch) {
  const input = byId("text");
  const details = detailsIn(byId("token-details"), "Choose a token to see its bytes, its id, and the merges that built it.");
  const comparing = models.length > 1;
  const panes = models.map(({ name }, model) => new TokenPane(name, comparing, (token) => tell(model, token)));
  let text = "";

  function draw() {
    const cuts = panes.map((pane) => new Set(cutsOf(pane)));
    const others = (model) => cuts.filter((theirs, other) => other !== model && theirs.size);
    panes.forEach((pane, model) => pane.show(byId("show").value, sizeOf(text), others(model)));
  }

  const encode = latestOnly(byId("panes"), async () => {
    const typed = input.value;
    const answers = await Promise.all(models.map((_, model) => ask("encode", { model, text: typed })));
    answers.forEach((answer, model) => Object.assign(panes[model], answer));
    text = typed;
    byId("text-status").textContent = `${plural([...text].length, "character")}, ${plural(sizeOf(text), "byte")}`;
    details.close();
    draw();
  });

  function tell(model, token) {
    const place = Number(token.dataset.place);
    const { ids, spans, name } = panes[model];
    const source = text;
    const where = place in spans ? `, bytes ${spans[place].map(number).join(" to ")}` : "";
    const shown = details({
      model,
      id: ids[place],
      extra: [["Place", `token ${number(place)}${where}`], ...(comparing ? [["Tokenizer", name]] : [])],
      action: button("Watch its pretoken merge", () => watch(model, source, place)),
    });
    markChosen(byId("panes"), token, shown);
  }

  input.addEventListener("input", () => encode(null, input.value.length > LARGE ? 250 : 30));
  input.addEventListener("paste", (event) => pasteLong(event, input));
  byId("show").addEventListener("change", draw);
  byId("panes").parentElement.classList.toggle("comparing", comparing);
  byId("comparing").hidden = !comparing;
  byId("panes").append(...panes.map((pane) => element("article", {}, pane.summary, pane.body)));
  input.value = SAMPLE;
  encode();
}

const sizeOf = (text) => new TextEncoder().encode(text).length;

/** An encoded text, `ids`, their `spans` in it and their `tokens`, as coloured tokens; some thousands are drawn at a time. */
class TokenPane {
  ids = [];
  spans = [];
  tokens = {};

  /** `choose(token)` is called when a token is focused, and when one is hovered, unless they are compared or one was focused. */
  constructor(name, comparing, choose) {
    this.name = name;
    this.comparing = comparing;
    this.summary = element("p.summary.soft");
    this.more = button("Show more", () => this.draw());
    this.body = element("div.tokens.card", { tabIndex: 0, role: "group", "aria-label": `Tokens of ${name}` });
    const point = (event) => {
      const token = event.target.closest("[data-place]");
      const stays = event.type === "pointerover" && (comparing || document.activeElement.dataset.place);
      if (token && !stays) choose(token);
    };
    for (const kind of ["pointerover", "focusin"]) this.body.addEventListener(kind, point);
    this.body.addEventListener("keydown", (event) => this.moveByKey(event));
  }

  /** Shows the encoding as `text`, `ids` or `table`; marked is what one of the others, of which these are the cuts, cuts differently. */
  show(mode, size, others) {
    this.mode = mode;
    const table = mode === "table" ? tableOf(["Place", "Id", "Byte offsets", "Token", "Bytes"]) : null;
    this.list = table ? table.tBodies[0] : element("div");
    this.differs = cutsOf(this).map((cut) => others.some((theirs) => !theirs.has(cut)));
    this.body.dataset.mode = mode;
    this.body.dataset.count = this.ids.length;
    const top = this.body.scrollTop;
    this.body.replaceChildren(table ?? this.list, this.more);
    this.draw();
    this.body.scrollTop = top;

    const count = this.ids.length;
    const specials = this.ids.filter((id) => this.tokens[id].special).length;
    this.summary.replaceChildren(
      ...(this.comparing ? [element("b", {}, this.name), element("br")] : []),
      element("b.count", {}, number(count)), ` token${count === 1 ? "" : "s"}`,
      count ? ` · ${(size / count).toFixed(2)} bytes per token` : "",
      specials ? ` · ${number(specials)} special` : "",
      this.comparing ? ` · ${number(this.differs.filter(Boolean).length)} cut differently` : "",
    );
  }

  /** Draws the next tokens. */
  draw() {
    const first = this.list.children.length;
    const end = Math.min(first + BATCH, this.ids.length);
    for (let place = first; place < end; place++) this.list.append(this.drawn(place));
    this.more.hidden = end === this.ids.length;
  }

  drawn(place) {
    const id = String(this.ids[place]);
    const token = this.tokens[id];
    const kind = `token.c${place % COLOURS}`;
    const shown = chip(this.mode === "ids" ? { ...token, runs: [id] } : token, kind);
    const made = this.mode === "table" ? rowOf([place, id, this.spans[place]?.map(number).join("–") ?? "", shown, token.hex]) : shown;
    made.dataset.place = place;
    made.tabIndex = -1;
    made.classList.toggle("differs", Boolean(this.differs[place]));
    return made;
  }

  moveByKey(event) {
    const here = Number(document.activeElement.dataset.place ?? -1);
    const last = this.list.children.length - 1;
    const places = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: last };
    const token = this.list.children[places[event.key]];
    if (!token) return;
    event.preventDefault();
    token.focus();
  }
}

/** Where tokens are cut: a normalized text has tokens that share a character, so the start of the next one counts, too. */
const cutsOf = ({ spans }) => spans.map(([start, end], place) => `${start} ${end} ${spans[place + 1]?.[0]}`);

/** Inserts a long pasted text at once; browsers take a minute for a few hundred kilobytes of lines. */
function pasteLong(event, input) {
  const pasted = event.clipboardData.getData("text/plain");
  if (pasted.length < LARGE / 10) return;
  event.preventDefault();
  input.setRangeText(pasted, input.selectionStart, input.selectionEnd, "end");
  input.dispatchEvent(new Event("input"));
}
