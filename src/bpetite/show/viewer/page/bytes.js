// A token's bytes → visible text, with marks for what is invisible.

import { element } from "./dom.js";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UNSEEN = /[\p{C}\p{Z}]/u;
const COMBINING = /^\p{M}/u;

export function fromHex(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

export const hexOf = (byte) => byte.toString(16).padStart(2, "0");

export const spacedHex = (bytes) => Array.from(bytes, hexOf).join(" ");

/** Decodes bytes, or returns null if they are not whole characters. */
export function textOf(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** Divides a token into runs of text and marks of invisible characters: `{ text, mark }`. */
export function visible(bytes) {
  const runs = [];
  let plain = "";
  for (const character of charactersOf(bytes)) {
    const mark = markOf(character);
    if (mark === null) {
      const isFirst = !plain && !runs.length;
      plain += isFirst && COMBINING.test(character) ? `◌${character}` : character;
      continue;
    }
    if (plain) runs.push({ text: plain, mark: null });
    plain = "";
    runs.push(mark);
  }
  if (plain) runs.push({ text: plain, mark: null });
  return runs;
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

function markOf(character) {
  if (typeof character === "number") return { text: hexOf(character), mark: "byte" };
  if (character === " ") return { text: "·", mark: "space" };
  if (character === "\n") return { text: "↵", mark: "newline" };
  if (character === "\t") return { text: "→", mark: "tab" };
  if (!UNSEEN.test(character)) return null;
  const code = character.codePointAt(0);
  return { text: code < 128 ? hexOf(code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`, mark: "code" };
}

/** The nodes that show a token; `wrap` lets its newlines break the line. */
export function nodesOf(bytes, wrap = false) {
  return visible(bytes).flatMap(({ text, mark }) => {
    if (mark === null) return [document.createTextNode(text)];
    const shown = element(`span.mark.${mark}`, {}, text);
    return wrap && mark === "newline" ? [shown, document.createTextNode("\n")] : [shown];
  });
}

/** The visible text of a token as a plain string. */
export const labelOf = (bytes) => visible(bytes).map(({ text }) => text).join("");

/** A token as a small box. */
export function chip(hex, kind = "") {
  return element(`bdi.chip${kind && "." + kind}`, { title: spacedHex(fromHex(hex)) }, ...nodesOf(fromHex(hex)));
}
