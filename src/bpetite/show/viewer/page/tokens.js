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
  const area = byId("panes");
  const details = detailsIn(byId("token-details"), "Choose a token to see its bytes, its id, and the merges that built it.");
  const comparing = models.length > 1;
  const panes = models.map(({ name }, model) => new TokenPane(name, comparing, (token) => describe(model, token)));
  let text = "";

  function draw() {
    const mode = byId("show").value;
    const cuts = panes.map((pane) => new Set(cutsOf(pane)));
    panes.forEach((pane, model) => {
      const otherCuts = cuts.filter((cutsOfOther, other) => other !== model && cutsOfOther.size);
      pane.show(mode, sizeOf(text), otherCuts);
    });
  }

  const encode = latestOnly(area, async () => {
    const typed = input.value;
    const answers = await Promise.all(models.map((_, model) => ask("encode", { model, text: typed })));
    answers.forEach((answer, model) => Object.assign(panes[model], answer));
    text = typed;
    const characters = plural([...text].length, "character");
    byId("text-status").textContent = `${characters}, ${plural(sizeOf(text), "byte")}`;
    details.close();
    draw();
  });

  function describe(model, token) {
    const place = Number(token.dataset.place);
    const { ids, spans, name } = panes[model];
    const source = text; // the text may change before the button is pressed
    let where = `token ${number(place)}`;
    if (place in spans) where += `, bytes ${spans[place].map(number).join(" to ")}`;
    const extra = [["Place", where]];
    if (comparing) extra.push(["Tokenizer", name]);
    const action = button("Watch its pretoken merge", () => watch(model, source, place));
    const shown = details({ model, id: ids[place], extra, action });
    markChosen(area, token, shown);
  }

  input.addEventListener("input", () => encode(null, input.value.length > LARGE ? 250 : 30));
  input.addEventListener("paste", (event) => pasteLong(event, input));
  byId("show").addEventListener("change", draw);
  byId("comparing").hidden = !comparing;
  area.parentElement.classList.toggle("comparing", comparing);
  area.append(...panes.map((pane) => element("article", pane.summary, pane.body)));
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
    this.body = elementWith("div.tokens.card", { tabIndex: 0, role: "group", "aria-label": "Tokens of " + name });

    const chooseFrom = (event) => {
      const token = event.target.closest("[data-place]");
      if (token) choose(token);
    };
    this.body.addEventListener("focusin", chooseFrom);
    this.body.addEventListener("pointerover", (event) => {
      const staysChosen = comparing || document.activeElement.dataset.place;
      if (!staysChosen) chooseFrom(event);
    });
    this.body.addEventListener("keydown", (event) => this.moveByKey(event));
  }

  /** Shows the encoding as `text`, `ids` or `table`, and marks the tokens that any of the other panes, by their cuts, cuts differently. */
  show(mode, size, otherCuts) {
    this.mode = mode;
    this.differs = cutsOf(this).map((cut) => otherCuts.some((cuts) => !cuts.has(cut)));
    let content = element("div");
    this.list = content;
    if (mode === "table") {
      content = tableOf(["Place", "Id", "Byte offsets", "Token", "Bytes"]);
      this.list = content.tBodies[0];
    }
    this.body.dataset.mode = mode;
    this.body.dataset.count = this.ids.length;
    const top = this.body.scrollTop;
    this.body.replaceChildren(content, this.more);
    this.draw();
    this.body.scrollTop = top;
    this.summarize(size);
  }

  summarize(size) {
    const count = this.ids.length;
    const specials = this.ids.filter((id) => this.tokens[id].special).length;
    const differing = this.differs.filter(Boolean).length;
    let facts = ` token${count === 1 ? "" : "s"}`;
    if (count) facts += ` · ${(size / count).toFixed(2)} bytes per token`;
    if (specials) facts += ` · ${number(specials)} special`;
    if (this.comparing) facts += ` · ${number(differing)} cut differently`;
    const name = this.comparing ? [element("b", this.name), element("br")] : [];
    this.summary.replaceChildren(...name, element("b.count", number(count)), facts);
  }

  /** Draws the next tokens. */
  draw() {
    const first = this.list.children.length;
    const end = Math.min(first + BATCH, this.ids.length);
    for (let place = first; place < end; place++) {
      this.list.append(this.drawn(place));
    }
    this.more.hidden = end === this.ids.length;
  }

  drawn(place) {
    const id = String(this.ids[place]);
    const token = this.tokens[id];
    const label = this.mode === "ids" ? { ...token, runs: [id] } : token;
    let shown = chip(label, `token.c${place % COLOURS}`);
    if (this.mode === "table") {
      const offsets = this.spans[place]?.map(number).join("–") ?? "";
      shown = rowOf([place, id, offsets, shown, token.hex]);
    }
    shown.dataset.place = place;
    shown.tabIndex = -1;
    shown.classList.toggle("differs", Boolean(this.differs[place]));
    return shown;
  }

  moveByKey(event) {
    const tokens = this.list.children;
    const here = Number(document.activeElement.dataset.place ?? -1);
    const places = {
      ArrowRight: here + 1,
      ArrowDown: here + 1,
      ArrowLeft: here - 1,
      ArrowUp: here - 1,
      Home: 0,
      End: tokens.length - 1,
    };
    const token = tokens[places[event.key]];
    if (!token) return;
    event.preventDefault();
    token.focus();
  }
}

/** Where tokens are cut: a normalized text has tokens that share a character, so the start of the next one counts, too. */
function cutsOf({ spans }) {
  return spans.map(([start, end], place) => {
    const nextStart = spans[place + 1]?.[0];
    return `${start} ${end} ${nextStart}`;
  });
}

/** Inserts a long pasted text at once; browsers take a minute for a few hundred kilobytes of lines. */
function pasteLong(event, input) {
  const pasted = event.clipboardData.getData("text/plain");
  if (pasted.length < LARGE / 10) return;
  event.preventDefault();
  input.setRangeText(pasted, input.selectionStart, input.selectionEnd, "end");
  input.dispatchEvent(new Event("input"));
}
