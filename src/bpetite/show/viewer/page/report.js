// The report: what texts say about a tokenizer, in plots, bars and tables. The numbers come with the page.

const HEADS = ["tokens", "bytes per token", "chars per token", "tokens per word"];
const PERCENT = { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 };

const percent = (share) => share.toLocaleString("en-US", PERCENT);

function showReport(report) {
  const bySource = [...Map.groupBy(report.rows, (row) => row.source)];
  const totals = bySource.at(-1)[1];
  const [total] = totals; // the tokenizer that the report is about comes first
  const names = totals.map((row) => row.tokenizer);
  const sources = plural(Math.max(bySource.length - 1, 1), "source"); // the last of several is their total
  const about = [
    report.made.date,
    "bpetite " + report.made.version,
    `${plural(total.bytes, "byte")} of text in ${sources}`,
  ];
  byId("report").hidden = false;
  byId("report").append(
    element("h1", report.name),
    element("p.soft", about.join(" · ")),
    element("pre.card", report.made.command),
    headline(total),
    factsOf(report.facts),
    sourcesSection(bySource, names),
    sizesSection(report, totals, names),
    lengthsSection(report.lengths),
    frequenciesSection(report, names),
    unusedSection(report, 1 - total.vocabulary_used),
  );
}

function headline(row) {
  const figures = [
    [row.characters_per_token.toFixed(2), "characters per token"],
    [row.bytes_per_token.toFixed(2), "bytes per token"],
    [row.tokens_per_word.toFixed(2), "tokens per word"],
    [percent(row.vocabulary_used), "of the vocabulary used"],
  ];
  const items = figures.map(([figure, unit]) => element("li", element("b", figure), ` ${unit}`));
  return element("ul.headline", ...items);
}

function sourcesSection(bySource, names) {
  const tables = bySource.map(([source, rows]) => sourceTable(source, rows));
  let about = "Longer bars are denser. Characters compare languages; bytes do not, as UTF-8 has one for a letter of English, but two or three for others.";
  if (bySource.length > 1) {
    about += " In brackets: how many times as many tokens a character takes as in " + bySource[0][0] + ".";
    tables.push(...names.map((name, place) => relativeTable(name, bySource, place)));
  }
  return section("sources", "Compression by source", about, bars(bySource), folded(...tables));
}

function sizesSection({ curves, vocab_sizes: sizes }, totals, names) {
  const heads = ["vocabulary size", ...HEADS.slice(0, 3)];
  const cellsOf = (row) => [row.vocab_size, row.tokens, ...perToken(row)];
  const drawnCurves = curves.filter(([, rows]) => rows.length);
  const tables = drawnCurves.map(([name, rows]) => named(name, tableOf(heads, rows.map(cellsOf))));
  return section(
    "sizes",
    "Characters per token by vocabulary size",
    "What smaller vocabularies, cut from these by leaving out their last merges, would have given. Where a line flattens, more tokens buy little.",
    legend(names),
    sizesPlot(curves, sizes, totals),
    folded(...tables),
  );
}

function lengthsSection(rows) {
  const usual = usualLength(rows);
  const longest = rows.at(-1)?.[0] ?? 1;
  let about = "How many tokens have each length.";
  if (usual < longest) {
    about += " The plot ends at " + plural(usual, "byte");
    about += ", which 99% of the tokens have at most; the longest has " + number(longest) + ".";
  }
  return section(
    "lengths",
    "Token lengths",
    about,
    legend(["used", "not used"], ["s0", "unused"]),
    lengthsPlot(rows, usual),
    folded(tableOf(["bytes in a token", "tokens", "not used", "uses"], rows)),
  );
}

function frequenciesSection(report, names) {
  const x = { label: "place by use", low: 1, logarithmic: true };
  const y = { label: "uses", low: 1, logarithmic: true };
  const lines = report.frequencies.map(([, points]) => points);
  const mostUsed = report.most_used.map(([token, id, uses]) => [chip(token), String(id), uses]);
  return section(
    "frequencies",
    "How often tokens are used",
    "The most used first, both axes logarithmic.",
    legend(names),
    linePlot(x, y, lines),
    folded(tableOf(["token", "id", "uses"], mostUsed), tableOf(["place", "uses"], lines[0])),
  );
}

function unusedSection({ unused, unused_by_rank: parts, unused_shown: longest }, share) {
  const items = longest.map(([token, id]) => element("li", chip(token), element("small", id)));
  const summary = "The " + number(longest.length) + " longest of them, with their ids";
  return section(
    "unused",
    "Unused tokens",
    `${plural(unused, "token")} (${percent(share)}) never used in these texts.`,
    parts.length ? unusedPlot(parts) : "",
    element("details", element("summary.soft", summary), element("ul.listed", ...items)),
  );
}

const section = (name, heading, about, ...parts) =>
  elementWith("article.numbers", { "data-name": name }, element("h2", heading), element("p.soft", about), ...parts);

const folded = (...tables) => element("details", element("summary.soft", "Numbers"), ...tables);

const named = (name, table) => element("div", element("h3", name), table);

/** Says which colour is whose; a single name needs no legend. */
function legend(names, colours = names.map((_, place) => colourOf(place))) {
  if (names.length < 2) return "";
  const items = names.map((name, place) => element("li", element(`span.swatch.${colours[place]}`), name));
  return element("ul.legend", ...items);
}

/** What a source is called; all of them together have no name. */
const nameOf = (source) => source ?? "total";

/** The cells of a row about a token; rows of smaller vocabularies do not count words. */
function perToken(row) {
  const ratios = [row.bytes_per_token, row.characters_per_token];
  if ("tokens_per_word" in row) ratios.push(row.tokens_per_word);
  return ratios.map((ratio) => ratio.toFixed(3));
}

/** How many times as many tokens a character of a source takes as in the first source, by the same tokenizer. */
function relativeTo(first, row) {
  const times = first.characters_per_token / (row.characters_per_token || 1);
  return times.toFixed(2) + "×";
}

/** The numbers of all sources by one tokenizer, relative to the first source. */
function relativeTable(name, bySource, place) {
  const [firstSource, firstRows] = bySource[0];
  const cells = bySource.slice(0, -1).map(([source, rows]) => {
    const row = rows[place];
    return [source, row.characters_per_token.toFixed(3), relativeTo(firstRows[place], row)];
  });
  const heading = name + ": tokens for each character, relative to " + firstSource;
  return named(heading, tableOf(["source", "chars per token", "relative"], cells));
}

/** The numbers of a source, a row for each tokenizer. */
function sourceTable(source, rows) {
  const { bytes, characters, words } = rows[0];
  const sizes = [plural(bytes, "byte"), plural(characters, "character"), plural(words, "word")];
  const heading = nameOf(source) + ": " + sizes.join(", ");
  const cells = rows.map((row) => {
    const ratio = row.tokens_to_first.toFixed(2) + "×";
    return [row.tokenizer, row.tokens, ...perToken(row), ratio];
  });
  return named(heading, tableOf(["tokenizer", ...HEADS, "ratio"], cells));
}

/** A bar for each source and tokenizer. */
function bars(bySource) {
  const chart = element("div.bars");
  const [, firstRows] = bySource[0];
  const allRows = bySource.flatMap(([, rows]) => rows);
  const most = Math.max(...allRows.map((row) => row.characters_per_token)) || 1;
  const severalNames = firstRows.length > 1;
  for (const [source, rows] of bySource) {
    if (severalNames) chart.append(element("h3", nameOf(source)));
    rows.forEach((row, place) => {
      const density = row.characters_per_token;
      const style = `width: ${(100 * density) / most}%`;
      const relative = bySource.length > 1 ? ` (${relativeTo(firstRows[place], row)})` : "";
      chart.append(
        element("span", severalNames ? row.tokenizer : nameOf(source)),
        element("span", elementWith(`span.${colourOf(place)}`, { style })),
        element("span", density.toFixed(2) + relative),
      );
    });
  }
  return chart;
}

/** A line for each tokenizer, which ends at its own size; a vocabulary without smaller ones is a dot. */
function sizesPlot(curves, sizes, totals) {
  const lines = curves.map(([, rows], place) => {
    if (!rows.length) return [[sizes[place], totals[place].characters_per_token]];
    return rows.map((row) => [row.vocab_size, row.characters_per_token]);
  });
  const low = Math.min(...lines.map(([[size]]) => size));
  const x = { label: "vocabulary size", low, logarithmic: true };
  const y = { label: "characters per token", low: 0 };
  return linePlot(x, y, lines);
}

/** The shortest length that 99% of the tokens have at most. */
function usualLength(rows) {
  const all = rows.reduce((sum, [, tokens]) => sum + tokens, 0);
  let sum = 0;
  for (const [length, tokens] of rows) {
    sum += tokens;
    if (sum >= 0.99 * all) return length;
  }
  return 1;
}

function lengthsPlot(rows, usual) {
  const usualRows = rows.filter(([length]) => length <= usual);
  const columns = usualRows.map(([length, tokens, unused]) => {
    const used = tokens - unused;
    return { middle: length, width: 1, used, unused };
  });
  const x = { label: "bytes in a token", low: 0.5, high: usual + 0.5 };
  return columnPlot(x, "tokens", columns);
}

function unusedPlot(parts) {
  const columns = parts.map(([first, last, unused]) => {
    const width = last - first + 1;
    return { middle: first + width / 2, width, used: 0, unused };
  });
  const x = { label: "rank of the merge", low: 0, high: parts.at(-1)[1] + 1 };
  const label = "unused tokens among each " + plural(parts[0][1] + 1, "merge");
  return columnPlot(x, label, columns);
}
