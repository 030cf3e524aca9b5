// The report: what texts say about a tokenizer, in plots, bars and tables. The numbers come with the page.

const SVG = "http://www.w3.org/2000/svg";
const PERCENT = { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 };
const percent = (share) => share.toLocaleString("en-US", PERCENT);
const HEADS = ["tokens", "bytes per token", "chars per token", "tokens per word"];
const perToken = (row) => [row.bytes_per_token, row.characters_per_token, row.tokens_per_word ?? []].flat().map((value) => value.toFixed(3));

function showReport(report) {
  const total = report.rows.findLast((row) => row.tokenizer === report.name);
  const bySource = [...Map.groupBy(report.rows, (row) => row.source)];
  const names = bySource[0][1].map((row) => row.tokenizer);
  const several = bySource.length > 1;
  const tokenRows = (rows) => rows.map(([token, id, ...uses]) => [chip(token), String(id), ...uses]);
  byId("report").hidden = false;
  byId("report").append(
    element("h1", {}, report.name),
    element("p.soft", {}, `${report.made.date} · bpetite ${report.made.version} · ${plural(total.bytes, "byte")} of text in ${plural(Math.max(bySource.length - 1, 1), "source")}`),
    element("pre.card", {}, report.made.command),
    headline(total),
    factsOf(report.facts),
    section("sources", "Compression by source",
      "Longer bars are denser. Characters compare languages; bytes do not, as UTF-8 has one for a letter of English, but two or three for others." +
        (several ? ` In brackets: how many times as many tokens a character takes as in ${bySource[0][0]}.` : ""),
      bars(bySource, names),
      folded(...bySource.map(([source, rows]) => sourceTable(source, rows)), ...(several ? names.map((name, place) => relativeTable(name, bySource, place)) : []))),
    section("sizes", "Characters per token by vocabulary size",
      "What smaller vocabularies, cut from these by leaving out their last merges, would have given. Where a line flattens, more tokens buy little.",
      legend(names), sizesPlot(report.curves, report.vocab_sizes, bySource.at(-1)[1]),
      folded(...report.curves.filter(([, rows]) => rows.length).map(([name, rows]) =>
        named(name, tableOf(["vocabulary size", ...HEADS.slice(0, 3)], rows.map(({ vocab_size, tokens, ...each }) => [vocab_size, tokens, ...perToken(each)])))))),
    section("lengths", "Token lengths", lengthsCaption(report.lengths),
      legend(["used", "not used"], ["s0", "unused"]), lengthsPlot(report.lengths),
      folded(tableOf(["bytes in a token", "tokens", "not used", "uses"], report.lengths))),
    section("frequencies", "How often tokens are used", "The most used first, both axes logarithmic.",
      legend(names),
      linePlot({ label: "place by use", low: 1, logarithmic: true }, { label: "uses", low: 1, logarithmic: true }, report.frequencies.map(([, points]) => points)),
      folded(tableOf(["token", "id", "uses"], tokenRows(report.most_used)), tableOf(["place", "uses"], report.frequencies[0][1]))),
    section("unused", "Unused tokens",
      `${plural(report.unused, "token")} (${percent(1 - total.vocabulary_used)}) never used in these texts.`,
      report.unused_by_rank.length ? unusedPlot(report.unused_by_rank) : "",
      element("details", {}, element("summary.soft", {}, `The ${number(report.unused_shown.length)} longest of them, with their ids`),
        element("ul.listed", {}, ...report.unused_shown.map(([token, id]) => element("li", {}, chip(token), element("small", {}, String(id))))))),
  );
}

const section = (name, heading, about, ...parts) =>
  element("article.numbers", { "data-name": name }, element("h2", {}, heading), element("p.soft", {}, about), ...parts);

const folded = (...tables) => element("details", {}, element("summary.soft", {}, "Numbers"), ...tables);

const named = (name, table) => element("div", {}, element("h3", {}, name), table);

const headline = (row) =>
  element("ul.headline", {}, ...[[row.characters_per_token.toFixed(2), "characters per token"], [row.bytes_per_token.toFixed(2), "bytes per token"],
    [row.tokens_per_word.toFixed(2), "tokens per word"], [percent(row.vocabulary_used), "of the vocabulary used"]]
    .map(([value, of]) => element("li", {}, element("b", {}, value), ` ${of}`)));

/** Says which colour is whose; one alone needs no legend. */
const legend = (names, colours = names.map((_, place) => colour(place))) =>
  names.length < 2 ? "" : element("ul.legend", {}, ...names.map((name, place) => element("li", {}, element(`span.swatch.${colours[place]}`), name)));

const colour = (place) => `s${place % 8}`;

/** What a source is called; all of them together have no name. */
const nameOf = (source) => source ?? "total";

/** How many times as many tokens a character of a source takes as one of the first source, by the same tokenizer. */
const toFirst = (row, first) => first.characters_per_token / (row.characters_per_token || 1);

/** The numbers of all sources by one tokenizer, relative to the first source. */
function relativeTable(name, bySource, place) {
  const first = bySource[0][1][place];
  const cells = bySource.slice(0, -1).map(([source, rows]) => [source, rows[place].characters_per_token.toFixed(3), `${toFirst(rows[place], first).toFixed(2)}×`]);
  return named(`${name}: tokens for each character, relative to ${bySource[0][0]}`, tableOf(["source", "chars per token", "relative"], cells));
}

/** The numbers of a source, a row for each tokenizer. */
function sourceTable(source, rows) {
  const size = `${nameOf(source)}: ${plural(rows[0].bytes, "byte")}, ${plural(rows[0].characters, "character")}, ${plural(rows[0].words, "word")}`;
  return named(size, tableOf(["tokenizer", ...HEADS, "ratio"], rows.map((row) => [row.tokenizer, row.tokens, ...perToken(row), `${row.tokens_to_first.toFixed(2)}×`])));
}

/** A bar for each source and tokenizer. */
function bars(bySource, names) {
  const most = Math.max(...bySource.flatMap(([, rows]) => rows.map((row) => row.characters_per_token))) || 1;
  const many = names.length > 1;
  const relative = (row, place) => (bySource.length > 1 ? ` (${toFirst(row, bySource[0][1][place]).toFixed(2)}×)` : "");
  return element("div.bars", {}, ...bySource.flatMap(([source, rows]) => [
    many ? element("h3", {}, nameOf(source)) : "",
    ...rows.flatMap((row, place) => [
      element("span", {}, many ? row.tokenizer : nameOf(source)),
      element("span", {}, element(`span.${colour(place)}`, { style: `width: ${(100 * row.characters_per_token) / most}%` })),
      element("span", {}, row.characters_per_token.toFixed(2) + relative(row, place)),
    ]),
  ]));
}

/** A line for each tokenizer, which ends at its own size; a vocabulary without smaller ones is a dot. */
function sizesPlot(curves, sizes, totals) {
  const lines = curves.map(([, rows], place) => {
    const itself = { vocab_size: sizes[place], ...totals[place] };
    return (rows.length ? rows : [itself]).map((row) => [row.vocab_size, row.characters_per_token]);
  });
  const low = Math.min(...lines.map(([[size]]) => size));
  return linePlot({ label: "vocabulary size", low, logarithmic: true }, { label: "characters per token", low: 0 }, lines);
}

/** The shortest length that 99% of the tokens have at most. */
function usualLength(rows) {
  const all = rows.reduce((sum, [, tokens]) => sum + tokens, 0);
  let sum = 0;
  return rows.find(([, tokens]) => (sum += tokens) >= 0.99 * all)?.[0] ?? 1;
}

function lengthsCaption(rows) {
  const [usual, longest] = [usualLength(rows), rows.at(-1)?.[0] ?? 1];
  const cut = usual < longest ? ` The plot ends at ${plural(usual, "byte")}, which 99% of the tokens have at most; the longest has ${number(longest)}.` : "";
  return `How many tokens have each length.${cut}`;
}

function lengthsPlot(rows) {
  const usual = usualLength(rows);
  const columns = rows.filter(([length]) => length <= usual).map(([length, tokens, unused]) => [length, 1, tokens - unused, unused]);
  return columnPlot({ label: "bytes in a token", low: 0.5, high: usual + 0.5 }, "tokens", columns);
}

function unusedPlot(parts) {
  const columns = parts.map(([first, last, unused]) => [(first + last + 1) / 2, last - first + 1, 0, unused]);
  return columnPlot({ label: "rank of the merge", low: 0, high: parts.at(-1)[1] + 1 },
    `unused tokens among each ${plural(parts[0][1] + 1, "merge")}`, columns);
}

/** Draws columns `[middle, width, below, above]`, two values on each other. */
function columnPlot(x, label, columns) {
  const y = upToMark({ label, low: 0, high: Math.max(1, ...columns.map(([, , below, above]) => below + above)) });
  const rectangle = (middle, width, from, to, kind) => {
    const left = 100 * shareOf(x, middle - 0.4 * width);
    return drawing("rect", { class: kind, x: left, width: 100 * shareOf(x, middle + 0.4 * width) - left, y: 100 * (1 - shareOf(y, to)), height: 100 * shareOf(y, to - from) });
  };
  return plot(x, y, columns.flatMap(([middle, width, below, above]) => [
    rectangle(middle, width, 0, below, "s0"), rectangle(middle, width, below, below + above, "unused")]));
}

/** Draws lines of points, a dot at the end of each. */
function linePlot(x, upwards, lines) {
  x.high = Math.max(x.low + 1, ...lines.flat().map(([value]) => value));
  const y = upToMark({ ...upwards, high: Math.max(upwards.low + 1, ...lines.flat().map(([, value]) => value)) });
  const points = (line) => line.map(([px, py]) => `${100 * shareOf(x, px)},${100 * (1 - shareOf(y, py))}`).join(" ");
  return plot(x, y, lines.flatMap((line, place) => !line.length ? [] : [
    drawing("polyline", { class: `dot ${colour(place)}`, points: points([line.at(-1), line.at(-1)]) }),
    drawing("polyline", { class: colour(place), points: points(line) })]).reverse());
}

/**
 * A plot with axes `{ label, low, high, logarithmic }`. The shapes are stretched to the width of the page;
 * labels are texts around them, which keep their size.
 */
function plot(x, y, shapes) {
  const mark = (kind, side, axis) => (value) => element(`span.${kind}`, { style: `${side}: ${100 * shareOf(axis, value)}%` }, short(value));
  const drawn = drawing("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": `${y.label} by ${x.label}` });
  drawn.append(...shapes);
  return element("figure.plot", {},
    element("p", {}, y.label),
    element("div", {}, ...marksOf(y).map(mark("across", "bottom", y)), ...marksOf(x).map(mark("below", "left", x)), drawn),
    element("figcaption", {}, x.label));
}

function drawing(kind, attributes) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Round values along an axis. */
function marksOf({ low, high, logarithmic }) {
  const found = logarithmic ? powersOf(low, high).filter((value) => value >= low && value <= high) : [];
  if (found.length > 1) return found;
  const step = stepOf(low, high);
  return Array.from({ length: 7 }, (_, place) => (Math.ceil(low / step) + place) * step).filter((value) => value <= high);
}

/** Marks of a logarithmic axis that reach the highest value. */
function powersOf(low, high) {
  const steps = high / low > 3000 ? [1] : [1, 3];
  const powers = [];
  for (let power = 1; (powers.at(-1) ?? 0) < high; power *= 10) powers.push(...steps.map((times) => times * power));
  return powers;
}

/** The distance of round marks, about five. */
function stepOf(low, high) {
  const rough = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  return unit * [1, 2, 5, 10].find((times) => times * unit >= rough);
}

/** The same axis up to the first mark that no value exceeds, so that the top of the plot has a mark. */
function upToMark(axis) {
  const { low, high, logarithmic } = axis;
  const step = stepOf(low, high);
  const top = logarithmic ? powersOf(low, high).find((value) => value >= high) : step * Math.ceil(high / step - 1e-9);
  return { ...axis, high: top };
}

/** The place of a value on an axis, from 0 to 1. */
function shareOf({ low, high, logarithmic }, value) {
  return logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

const short = (value) => value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 }).replace("K", "k");
