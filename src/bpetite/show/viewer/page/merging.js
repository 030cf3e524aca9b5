// The second view: the merges of a pretoken, one step at a time, as encoding applies them.

/** Starts the view; returns a function that shows the pretoken that holds a token of a text. */
function startMerging() {
  const input = byId("merging-text");
  const model = byId("merging-model");
  let pretoken = null;

  const go = playerIn(byId("merging-player"), "Step of merging", (step) => {
    [...byId("merging-states").children].forEach((row, place) => {
      row.hidden = place > step;
      row.classList.toggle("now", place === step);
    });
    byId("merging-sentence").replaceChildren(...sentenceOf(pretoken, step));
  });

  function choose(chosen) {
    pretoken = chosen;
    for (const word of byId("merging-words").children) word.setAttribute("aria-pressed", String(word.pretoken === chosen));
    byId("merging-states").replaceChildren(...(chosen?.states ?? []).map((_, step) => stateOf(chosen, step)));
    go(0, chosen?.merges.length ?? 0);
  }

  const replay = latestOnly(byId("merging-states"), async ({ text, token = null }) => {
    const { pretokens, tokens } = await ask("steps", { model: Number(model.value), text, token });
    const found = pretokens.map((one) => ({ ...one, tokens }));
    if (token !== null) input.value = found[0].text;
    byId("merging-words").replaceChildren(...found.map((one) =>
      Object.assign(button(chip(one), () => choose(one)), { className: "word", pretoken: one })));
    const most = Math.max(...found.map(({ merges }) => merges.length));
    choose(found.find(({ merges }) => merges.length === most));
  });

  input.addEventListener("input", () => replay({ text: input.value }, 60));
  model.addEventListener("change", () => replay({ text: input.value }));
  replay({ text: input.value });

  return (place, text, token) => {
    model.value = String(place);
    location.hash = "merging";
    replay({ text, token });
  };
}

/** The tokens after a step, and between two of them the rank of their merge; the lowest is next. */
function stateOf({ tokens, states, ranks, merges }, step) {
  const ids = states[step];
  const [left, right] = merges[step]?.pair ?? [];
  const joinAfter = (place) => {
    const isNext = ids[place] === left && ids[place + 1] === right;
    return element(`small.join${isNext ? ".lowest" : ""}`, {}, ranks[step][place] === null ? "–" : number(ranks[step][place]));
  };
  return element("li", { "data-ids": ids.join(" ") }, ...ids.flatMap((id, place) =>
    place === ids.length - 1 ? [chip(tokens[id])] : [chip(tokens[id]), joinAfter(place)]));
}

function sentenceOf(pretoken, step) {
  if (!pretoken) return ["Type something to merge."];
  const { tokens, states, merges, note } = pretoken;
  const next = merges[step];
  if (next) {
    const [left, right, made] = [...next.pair, next.made].map((id) => chip(tokens[id]));
    return [`The lowest rank of a pair is ${number(next.rank)}: `, left, " and ", right, " become ", made, `, id ${next.made}.`];
  }
  const end = states.length ? `No two adjacent tokens can be merged any more: ${plural(states.at(-1).length, "token")}. ` : "";
  return [end, note];
}
