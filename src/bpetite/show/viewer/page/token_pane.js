// An encoded text → coloured tokens. Only tokens near the visible part are drawn, so a megabyte is no problem.

import { nodesOf, spacedHex } from "./bytes.js";
import { element, number } from "./dom.js";

const COLOURS = 6;
const SHORTEST_BLOCK = 150;
const LONGEST_BLOCK = 1200;
const ROW_HEIGHT = 28;
const PAGE_MOVE = 40;
const NEWLINE = 10;

export class TokenPane {
  /** `pointed(place)` is called when a token is hovered or focused, with null when the pointer leaves. */
  constructor(name, pointed) {
    this.pointed = pointed;
    this.current = 0;
    this.body = element("div.tokens", { role: "group", "aria-label": `Tokens of ${name}` });
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => {
      if (entry.isIntersecting) this.fill(entry.target);
    }), { root: this.body, rootMargin: "800px" });
    this.body.addEventListener("pointerover", (event) => this.whenToken(event, (place) => pointed(place, false)));
    this.body.addEventListener("pointerleave", () => pointed(null, false));
    this.body.addEventListener("focusin", (event) => this.whenToken(event, (place) => this.choose(place)));
    this.body.addEventListener("click", (event) => this.whenToken(event, (place) => this.focus(place)));
    this.body.addEventListener("keydown", (event) => this.moveByKey(event));
  }

  /** Shows an encoding: `{ bytes, ids, ends, specials, differs }`, as `text`, `ids` or `table`. */
  show(encoding, mode) {
    this.encoding = encoding;
    this.mode = mode;
    this.current = Math.min(this.current, Math.max(0, encoding.ids.length - 1));
    this.observer.disconnect();
    this.body.dataset.mode = mode;
    this.body.dataset.count = encoding.ids.length;
    const blocks = blocksOf(encoding, mode).map(([first, end]) => this.block(first, end));
    const top = this.body.scrollTop;
    this.body.replaceChildren(...(mode === "table" ? [tableHead()] : []), ...blocks);
    this.body.scrollTop = top;
    this.blocks = blocks;
    if (blocks.length) this.fill(blocks[0]);
    blocks.forEach((block) => this.observer.observe(block));
  }

  block(first, end) {
    const made = element("div.block");
    made.first = first;
    made.end = end;
    const height = this.mode === "table" ? (end - first) * ROW_HEIGHT : this.guessHeight(first, end);
    made.style.containIntrinsicSize = `auto ${height}px`;
    made.style.minHeight = `${height}px`;
    return made;
  }

  /** Estimates the height of a block that is not drawn yet, for the scroll bar. */
  guessHeight(first, end) {
    const columns = Math.max(20, this.body.clientWidth / 10);
    const letters = this.start(end) - this.start(first) + (this.mode === "ids" ? (end - first) * 4 : 0);
    return Math.max(1, Math.round(letters / columns)) * ROW_HEIGHT;
  }

  start(place) {
    return place === 0 ? 0 : this.encoding.ends[place - 1];
  }

  bytesOf(place) {
    return this.encoding.bytes.subarray(this.start(place), this.encoding.ends[place]);
  }

  fill(block) {
    if (block.filled) return;
    block.filled = true;
    block.style.minHeight = "";
    const draw = { text: this.textToken, ids: this.idToken, table: this.tableRow }[this.mode];
    const tokens = [];
    for (let place = block.first; place < block.end; place++) {
      const token = draw.call(this, place);
      token.dataset.place = place;
      token.tabIndex = place === this.current ? 0 : -1;
      if (this.encoding.specials.has(this.encoding.ids[place])) token.classList.add("special");
      if (this.encoding.differs?.[place]) token.classList.add("differs");
      tokens.push(token);
    }
    block.append(...tokens);
  }

  textToken(place) {
    return element(`bdi.token.c${place % COLOURS}`, {}, ...nodesOf(this.bytesOf(place), true));
  }

  idToken(place) {
    return element(`span.token.id.c${place % COLOURS}`, {}, String(this.encoding.ids[place]));
  }

  tableRow(place) {
    const cell = (...content) => element("span", {}, ...content);
    return element("div.row", {},
      cell(number(place)), cell(String(this.encoding.ids[place])),
      cell(`${this.start(place)}–${this.encoding.ends[place]}`),
      cell(element(`bdi.token.c${place % COLOURS}`, {}, ...nodesOf(this.bytesOf(place)))),
      cell(spacedHex(this.bytesOf(place))));
  }

  whenToken(event, act) {
    const token = event.target.closest("[data-place]");
    if (token) act(Number(token.dataset.place));
  }

  /** Lets the tab key reach this token. */
  choose(place) {
    this.tokenAt(this.current)?.setAttribute("tabindex", "-1");
    this.current = place;
    this.tokenAt(place)?.setAttribute("tabindex", "0");
    this.pointed(place, true);
  }

  tokenAt(place) {
    return this.body.querySelector(`[data-place="${place}"]`);
  }

  focus(place) {
    const block = this.blocks.find((candidate) => candidate.first <= place && place < candidate.end);
    if (!block) return;
    this.fill(block);
    this.tokenAt(place).focus();
  }

  moveByKey(event) {
    const last = this.encoding.ids.length - 1;
    const targets = {
      ArrowRight: this.current + 1, ArrowDown: this.current + 1, ArrowLeft: this.current - 1, ArrowUp: this.current - 1,
      PageDown: this.current + PAGE_MOVE, PageUp: this.current - PAGE_MOVE, Home: 0, End: last,
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    this.focus(Math.max(0, Math.min(last, targets[event.key])));
  }
}

function tableHead() {
  const names = ["Place", "Id", "Byte offsets", "Token", "Bytes"];
  return element("div.row.head", { "aria-hidden": "true" }, ...names.map((name) => element("span", {}, name)));
}

/** Divides the tokens into blocks, which end at the end of a line if there is one. */
function blocksOf({ bytes, ids, ends }, mode) {
  const blocks = [];
  let first = 0;
  for (let place = 0; place < ids.length; place++) {
    const size = place + 1 - first;
    const endsLine = bytes[ends[place] - 1] === NEWLINE && mode === "text";
    if (size >= LONGEST_BLOCK || (size >= SHORTEST_BLOCK && (endsLine || mode === "table"))) {
      blocks.push([first, place + 1]);
      first = place + 1;
    }
  }
  if (first < ids.length) blocks.push([first, ids.length]);
  return blocks;
}
