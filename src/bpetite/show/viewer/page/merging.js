// The second view: the merges of a pretoken, one step at a time, as encoding applies them.

/** Starts the view; returns a function that shows the pretoken that holds a token of a text. */
function startMerging() {
  const input = byId("merging-text");
  const model = byId("merging-model");
  const words = byId("merging-words");
  const rows = byId("merging-states");
  let chosen; // nothing while the field is empty

  const go = playerIn(byId("merging-player"), "Step of merging", (step) => {
    [...rows.children].forEach((row, place) => {
      row.hidden = place > step;
      row.classList.toggle("now", place === step);
    });
    byId("merging-sentence").replaceChildren(...sentenceOf(chosen, step));
  });

  function choose(pretoken) {
    chosen = pretoken;
    for (const word of words.children) word.ariaPressed = word.pretoken === pretoken;
    const { states = [], merges = [] } = pretoken ?? {};
    rows.replaceChildren(...states.map((_, step) => stateOf(pretoken, step)));
    go(0, merges.length);
  }

  function wordOf(pretoken) {
    const word = button(chip(pretoken), () => choose(pretoken));
    return Object.assign(word, { className: "word", pretoken });
  }

  const replay = latestOnly(rows, async ({ text, token = null }) => {
    const answer = await ask("steps", { model: Number(model.value), text, token });
    const pretokens = answer.pretokens.map((pretoken) => ({ ...pretoken, tokens: answer.tokens }));
    if (token !== null) input.value = pretokens[0].text;
    words.replaceChildren(...pretokens.map(wordOf));
    const most = Math.max(...pretokens.map(({ merges }) => merges.length));
    choose(pretokens.find(({ merges }) => merges.length === most));
  });

  input.addEventListener("input", () => replay({ text: input.value }, 60));
  model.addEventListener("change", () => replay({ text: input.value }));
  replay({ text: input.value });

  return (place, text, token) => {
    model.value = place;
    location.hash = "merging";
    replay({ text, token });
  };
}

/** The tokens after a step, and between two of them the rank of their merge; the lowest is next. */
function stateOf({ tokens, states, ranks, merges }, step) {
  const ids = states[step];
  const [left, right] = merges[step]?.pair ?? [];
  const row = elementWith("li", { "data-ids": ids.join(" ") });
  ids.forEach((id, place) => {
    row.append(chip(tokens[id]));
    if (place === ids.length - 1) return;
    const rank = ranks[step][place];
    const isNext = id === left && ids[place + 1] === right;
    row.append(element(isNext ? "small.join.lowest" : "small.join", rank === null ? "–" : number(rank)));
  });
  return row;
}

function sentenceOf(pretoken, step) {
  if (!pretoken) return ["Type something to merge."];
  const { tokens, states, merges, note } = pretoken;
  const next = merges[step];
  if (next) {
    const [left, right] = next.pair.map((id) => chip(tokens[id]));
    const whole = chip(tokens[next.made]);
    const opening = "The lowest rank of a pair is " + number(next.rank) + ": ";
    return [opening, left, " and ", right, " become ", whole, `, id ${next.made}.`];
  }
  if (!states.length) return [note];
  const count = plural(states.at(-1).length, "token");
  return ["No two adjacent tokens can be merged any more: " + count + ". ", note];
}
