// Plots: lines and columns over axes with round marks.

const SVG = "http://www.w3.org/2000/svg";

/** The class that colours a series. */
const colourOf = (place) => `s${place % 8}`;

/** Draws columns `{ middle, width, used, unused }`, the unused part on the used one. */
function columnPlot(x, label, columns) {
  const heights = columns.map(({ used, unused }) => used + unused);
  const y = upToMark({ label, low: 0, high: Math.max(1, ...heights) });
  const shapes = columns.flatMap(({ middle, width, used, unused }) => {
    const left = 100 * shareOf(x, middle - 0.4 * width);
    const right = 100 * shareOf(x, middle + 0.4 * width);
    const rectangle = (kind, from, to) => drawing("rect", {
      class: kind,
      x: left,
      width: right - left,
      y: 100 * (1 - shareOf(y, to)),
      height: 100 * shareOf(y, to - from),
    });
    return [rectangle("s0", 0, used), rectangle("unused", used, used + unused)];
  });
  return plot(x, y, shapes);
}

/** Draws lines of points, a dot at the end of each. */
function linePlot(across, upwards, lines) {
  const points = lines.flat();
  const right = Math.max(across.low + 1, ...points.map(([value]) => value));
  const top = Math.max(upwards.low + 1, ...points.map(([, value]) => value));
  const x = { ...across, high: right };
  const y = upToMark({ ...upwards, high: top });
  const placeOf = ([px, py]) => {
    const down = 1 - shareOf(y, py);
    return `${100 * shareOf(x, px)},${100 * down}`;
  };
  const polyline = (kind, line) => drawing("polyline", { class: kind, points: line.map(placeOf).join(" ") });
  const shapes = [];
  lines.forEach((line, place) => {
    if (!line.length) return;
    const end = line.at(-1);
    const dot = polyline(`dot ${colourOf(place)}`, [end, end]); // a line without length has round ends only
    shapes.push(dot, polyline(colourOf(place), line));
  });
  return plot(x, y, shapes.reverse()); // the first line is drawn last, over the others
}

/**
 * A plot with axes `{ label, low, high, logarithmic }`. The shapes are stretched to the width of the page;
 * labels are texts around them, which keep their size.
 */
function plot(x, y, shapes) {
  const marksAlong = (axis, kind, side) => marksOf(axis).map((value) => {
    const style = `${side}: ${100 * shareOf(axis, value)}%`;
    return elementWith(`span.${kind}`, { style }, short(value));
  });
  const picture = drawing("svg", {
    viewBox: "0 0 100 100",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": y.label + " by " + x.label,
  });
  picture.append(...shapes);
  return element("figure.plot",
    element("p", y.label),
    element("div", ...marksAlong(y, "across", "bottom"), ...marksAlong(x, "below", "left"), picture),
    element("figcaption", x.label));
}

function drawing(kind, attributes) {
  const shape = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
  return shape;
}

/** Round values along an axis. */
function marksOf({ low, high, logarithmic }) {
  if (logarithmic) {
    const powers = powersOf(low, high).filter((value) => value >= low && value <= high);
    if (powers.length > 1) return powers;
  }
  const step = stepOf(low, high);
  const marks = [];
  for (let times = Math.ceil(low / step); times * step <= high; times++) {
    marks.push(times * step);
  }
  return marks;
}

/** Marks of a logarithmic axis that reach the highest value. */
function powersOf(low, high) {
  const steps = high / low > 3000 ? [1] : [1, 3];
  const powers = [];
  for (let power = 1; (powers.at(-1) ?? 0) < high; power *= 10) {
    powers.push(...steps.map((times) => times * power));
  }
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
  if (logarithmic) {
    const powers = powersOf(low, high);
    return { ...axis, high: powers.find((power) => power >= high) };
  }
  const step = stepOf(low, high);
  const steps = Math.ceil(high / step - 1e-9); // a quotient of fractions may exceed the whole number that it means
  return { ...axis, high: step * steps };
}

/** The place of a value on an axis, from 0 to 1. */
function shareOf({ low, high, logarithmic }, value) {
  if (logarithmic) return Math.log(value / low) / Math.log(high / low);
  return (value - low) / (high - low);
}

const COMPACT = { notation: "compact", maximumFractionDigits: 1 };

const short = (value) => value.toLocaleString("en-US", COMPACT).replace("K", "k");
