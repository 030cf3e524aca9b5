// A token's bytes → visible text, with marks for what is invisible.

const strictly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UNSEEN = /[\p{C}\p{Z}]/u;
const COMBINING = /^\p{M}/u;
const MARKS = { " ": ["·", "space"], "\n": ["↵", "newline"], "\t": ["→", "tab"] };

const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));

const hexOf = (byte) => byte.toString(16).padStart(2, "0");

const spacedHex = (bytes) => Array.from(bytes, hexOf).join(" ");

/** Decodes bytes, or returns null if they are not whole characters. */
function textOf(bytes) {
  try {
    return strictly.decode(bytes);
  } catch {
    return null;
  }
}

/** Yields each character, and each byte that is not part of one as a number. */
function* charactersOf(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + (bytes[at] >= 0xc0) + (bytes[at] >= 0xe0) + (bytes[at] >= 0xf0);
    const character = textOf(bytes.subarray(at, at + length));
    yield character ?? bytes[at];
    at += character === null ? 1 : length;
  }
}

/** Returns the mark of an invisible character or a byte, `[text, kind]`; null for others. */
function markOf(character) {
  if (typeof character === "number") return [hexOf(character), "byte"];
  if (character in MARKS) return MARKS[character];
  if (!UNSEEN.test(character)) return null;
  const code = character.codePointAt(0);
  return [code < 128 ? hexOf(code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`, "code"];
}

/** Divides a token into runs of text and marks of invisible characters: `{ text, mark }`. */
function visible(bytes) {
  const runs = [];
  for (const character of charactersOf(bytes)) {
    const marked = markOf(character);
    if (marked) runs.push({ text: marked[0], mark: marked[1] });
    else if (runs.length && runs.at(-1).mark === null) runs.at(-1).text += character;
    else runs.push({ text: !runs.length && COMBINING.test(character) ? `◌${character}` : character, mark: null });
  }
  return runs;
}

/** The visible text of a token as a plain string. */
const labelOf = (hex) => visible(fromHex(hex)).map(({ text }) => text).join("");

/** Draws a token: `tokenOf("chip.made", bytes)`; its newlines break the line where the style lets them. */
function tokenOf(kind, bytes) {
  return element(`bdi.${kind}`, {}, ...visible(bytes).flatMap(({ text, mark }) => {
    if (mark === null) return [text];
    const shown = element(`span.mark.${mark}`, {}, text);
    return mark === "newline" ? [shown, "\n"] : [shown];
  }));
}

/** Draws a token as a small box, with its bytes as the title. */
function chip(hex, kind = "chip") {
  const made = tokenOf(kind, fromHex(hex));
  made.title = spacedHex(fromHex(hex));
  return made;
}
