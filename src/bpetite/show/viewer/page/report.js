// The report: what texts say about a tokenizer, in tables, bars and lines. The numbers come with the page.

const WIDTH = 720;
const HEIGHT = 300;
const LEFT = 64;
const RIGHT = 704;
const TOP = 14;
const BOTTOM = 254;

function showReport(report) {
  const [first] = report.sizes;
  const share = (100 * report.unused_share).toFixed(1);
  const shownUnused = report.unused > report.unused_shown.length ? ` The table shows the first ${report.unused_shown.length}.` : "";
  byId("report").append(
    element("h1", {}, report.name),
    factsOf(report.facts),
    section("sources", "Compression by source", "How much text one token stands for in each source. More is denser.",
      tableOf(["source", "bytes", "characters", "tokens", "bytes per token"],
        report.sources.map((source) => [source.name, source.bytes, source.characters, source.tokens, source.bytes_per_token]), 4)),
    report.compared.length ? comparison(report.compared) : "",
    section("sizes", "Bytes per token by vocabulary size",
      "What every smaller vocabulary, cut from this one, would have given. Where the line flattens, more tokens buy little.",
      linePlot({ label: "vocabulary size", low: first[0], logarithmic: true }, { label: "bytes per token", low: 0 },
        [{ points: report.sizes.map(([size, , ratio]) => [size, ratio]) }]),
      folded(tableOf(["vocabulary size", "tokens", "bytes per token"], report.sizes))),
    section("lengths", "Token lengths", "How long the tokens are.", tableOf(["bytes in a token", "uses", "tokens"], report.lengths.map(([length, tokens, uses]) => [length, uses, tokens]), 2)),
    section("frequencies", "How often tokens are used", "The most used first, both axes logarithmic.",
      linePlot({ label: "place by use", low: 1, logarithmic: true }, { label: "uses", low: 1, logarithmic: true }, [{ points: report.frequencies }]),
      folded(tableOf(["token", "id", "uses"], report.most_used.map(([token, id, uses]) => [chip(token), id, uses])),
        tableOf(["place", "uses"], report.frequencies))),
    section("unused", "Unused tokens", `${plural(report.unused, "token")} (${share} %) ${report.unused === 1 ? "was" : "were"} never used on this text.${shownUnused}`,
      folded(tableOf(["token", "id"], report.unused_shown.map(([token, id]) => [chip(token), id])))),
    report.growth.length ? section("growth", "How tokens grow", "How long the tokens are that merges make, from the first merge to the last.",
      linePlot({ label: "rank", low: 0 }, { label: "bytes", low: 0 }, [
        { name: "mean length", points: report.growth.map(([rank, mean]) => [rank, mean]) },
        { name: "longest so far", points: report.growth.map(([rank, , longest]) => [rank, longest]) },
      ]),
      folded(tableOf(["up to rank", "mean length", "longest so far"], report.growth))) : "",
  );
}

const section = (name, heading, about, ...parts) =>
  element("article.measure", { "data-name": name }, element("h2", {}, heading), element("p.soft", {}, about), ...parts);

const folded = (...tables) => element("details", {}, element("summary", {}, "Numbers"), ...tables);

/** A row for each source, and three columns for each tokenizer. */
function comparison(rows) {
  const names = [...new Set(rows.map((row) => row.tokenizer))];
  const bySource = Map.groupBy(rows, (row) => row.source);
  return section("compared", "Beside other tokenizers", `How many tokens each tokenizer needs; the ratio is to ${names[0]}. Less is denser.`,
    tableOf(["source", ...names.flatMap((name) => [`${name}: tokens`, "bytes per token", "ratio"])],
      [...bySource].map(([source, found]) => [source, ...found.flatMap((row) => [row.tokens, row.bytes_per_token, row.tokens_to_first])])));
}

/** A table, with a bar beside each number of the column `drawn`. */
function tableOf(heads, rows, drawn = -1) {
  const most = Math.max(...rows.map((row) => row[drawn])) || 1;
  const cell = (value) => (typeof value === "number" ? (Number.isInteger(value) ? number(value) : value.toFixed(4)) : value);
  const body = rows.map((row) => tableRow([...row.map(cell), ...(drawn < 0 ? [] : [barOf(row[drawn] / most)])]));
  return element("div.sideways", {}, element("table.grid.numbers", {},
    element("thead", {}, tableRow([...heads, ...(drawn < 0 ? [] : [""])], "th")), element("tbody", {}, ...body)));
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Draws lines over two axes `{ label, low, logarithmic }`; the highest values decide where the axes end. */
function linePlot(x, y, lines) {
  const points = lines.flatMap((line) => line.points);
  x.high = Math.max(x.low + 1, ...points.map(([value]) => value));
  y.high = 1.05 * Math.max(y.low + 1, ...points.map(([, value]) => value));
  const across = (value) => LEFT + shareOf(x, value) * (RIGHT - LEFT);
  const down = (value) => BOTTOM - shareOf(y, value) * (BOTTOM - TOP);
  const text = (kind, place, ...words) => svg("text", { class: kind, ...place }, ...words);
  return element("div.sideways", {}, svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
    svg("title", {}, `${y.label} against ${x.label}`),
    ...ticksOf(y).flatMap((tick) => [
      svg("line", { class: "rule", x1: LEFT, x2: RIGHT, y1: down(tick), y2: down(tick) }),
      text("y", { x: LEFT - 8, y: down(tick) + 4 }, short(tick)),
    ]),
    ...ticksOf(x).map((tick) => text("x", { x: across(tick), y: BOTTOM + 18 }, short(tick))),
    text("x", { x: (LEFT + RIGHT) / 2, y: HEIGHT - 6 }, x.label),
    text("x", { transform: `translate(14 ${(TOP + BOTTOM) / 2}) rotate(-90)` }, y.label),
    ...lines.flatMap(({ name = "", points }, place) => [
      svg("polyline", { class: `line l${place}`, points: points.map(([px, py]) => `${across(px)},${down(py)}`).join(" ") }),
      text(`legend l${place}`, { x: LEFT + 14, y: TOP + 16 + 20 * place }, name),
    ])));
}

/** The place of a value on an axis, from 0 to 1. */
function shareOf({ low, high, logarithmic }, value) {
  return logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** Round values on an axis: powers of ten, or steps of 1, 2 or 5 times a power of ten. */
function ticksOf({ low, high, logarithmic }) {
  const power = Math.floor(Math.log10(high));
  if (logarithmic && high >= 100 * low) {
    return Array.from({ length: power + 1 }, (_, place) => 10 ** place).filter((tick) => tick >= low);
  }
  const step = [0.1, 0.2, 0.5, 1, 2].map((factor) => factor * 10 ** power).find((wide) => (high - low) / wide <= 8);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, place) => (first + place) * step);
}

const short = (value) => Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 }).format(value);
