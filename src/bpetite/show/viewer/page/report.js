// The report: what texts say about a tokenizer, in tables, bars and lines. The numbers come with the page.

const SVG = "http://www.w3.org/2000/svg";

function showReport(report) {
  const share = (100 * report.unused_share).toFixed(1);
  const size = { label: "vocabulary size", low: report.sizes[0]?.vocab_size, logarithmic: true };
  const tokenRows = (rows) => rows.map(([token, id, ...uses]) => [chip(token), String(id), ...uses]);
  byId("report").hidden = false;
  byId("report").append(
    element("h1", {}, report.name),
    factsOf(report.facts),
    section("sources", "Compression by source", "How much text one token stands for in each source. More is denser.",
      withBars(["source", "bytes", "characters", "tokens", "bytes per token"],
        report.sources.map((source) => [source.name, source.bytes, source.characters, source.tokens, source.bytes_per_token]), 4)),
    report.compared.length ? comparison(report.compared) : "",
    !report.sizes.length ? "" : section("sizes", "Bytes per token by vocabulary size",
      "What every smaller vocabulary, cut from this one, would have given. Where the line flattens, more tokens buy little.",
      linePlot(size, { label: "bytes per token", low: 0 }, report.sizes.map((row) => [row.vocab_size, row.bytes_per_token])),
      folded(tableOf(["vocabulary size", "tokens", "bytes per token", "characters per token"], report.sizes.map(Object.values)))),
    section("lengths", "Token lengths", "How long the tokens are.",
      withBars(["bytes in a token", "uses", "tokens"], report.lengths.map(([length, tokens, uses]) => [length, uses, tokens]), 2)),
    section("frequencies", "How often tokens are used", "The most used first, both axes logarithmic.",
      linePlot({ label: "place by use", low: 1, logarithmic: true }, { label: "uses", low: 1, logarithmic: true }, report.frequencies),
      folded(tableOf(["token", "id", "uses"], tokenRows(report.most_used)), tableOf(["place", "uses"], report.frequencies))),
    section("unused", "Unused tokens",
      `${plural(report.unused, "token")} (${share} %) never used on this text; the table shows up to ${report.unused_shown.length}.`,
      folded(tableOf(["token", "id"], tokenRows(report.unused_shown)))),
  );
}

const section = (name, heading, about, ...parts) =>
  element("article.numbers", { "data-name": name }, element("h2", {}, heading), element("p.soft", {}, about), ...parts);

const folded = (...tables) => element("details", {}, element("summary.soft", {}, "Numbers"), ...tables);

/** A row for each source, and three columns for each tokenizer. */
function comparison(rows) {
  const names = [...new Set(rows.map((row) => row.tokenizer))];
  const bySource = Map.groupBy(rows, (row) => row.source);
  return section("compared", "Beside other tokenizers", `How many tokens each tokenizer needs; the ratio is to ${names[0]}. Less is denser.`,
    tableOf(["source", ...names.flatMap((name) => [`${name}: tokens`, "bytes per token", "ratio"])],
      [...bySource].map(([source, found]) => [source, ...found.flatMap((row) => [row.tokens, row.bytes_per_token, row.tokens_to_first])])));
}

/** A table, with a bar beside each number of a column. */
function withBars(heads, rows, column) {
  const max = Math.max(...rows.map((row) => row[column])) || 1;
  return tableOf([...heads, ""], rows.map((row) => [...row, element("progress", { value: row[column], max })]));
}

/**
 * Draws a line over two axes `{ label, low, logarithmic }`. They end at the highest values; what they
 * reach from and to stands below, and all numbers in the tables.
 */
function linePlot(x, y, points) {
  x.high = Math.max(x.low + 1, ...points.map(([value]) => value));
  y.high = Math.max(y.low + 1, ...points.map(([, value]) => value));
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.map(([px, py]) => `${720 * shareOf(x, px)},${240 * (1 - shareOf(y, py))}`).join(" "));
  const plot = document.createElementNS(SVG, "svg");
  plot.setAttribute("viewBox", "0 0 720 240");
  plot.append(line);
  const reach = ({ label, low, high }) => `${label}, from ${short(low)} to ${short(high)}`;
  return element("figure", {}, plot, element("figcaption.soft", {}, `Upwards: ${reach(y)}. To the right: ${reach(x)}.`));
}

/** The place of a value on an axis, from 0 to 1. */
function shareOf({ low, high, logarithmic }, value) {
  return logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

const short = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 2 });
