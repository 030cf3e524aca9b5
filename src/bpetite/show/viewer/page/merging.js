// The second view: the merges of a pretoken, one step at a time, as encoding applies them.

/** Starts the view; returns a function that shows the pretoken at a byte offset of a text. */
function startMerging() {
  const input = byId("merging-text");
  const model = () => Number(byId("merging-model").value);
  let pretokens = [];
  let chosen = 0;

  const player = new Player(byId("merging-player"), { label: "Step of merging", word: "" }, (step) => drawStep(pretokens[chosen], step));
  const choose = (place) => {
    chosen = place;
    drawWords(pretokens, chosen, choose);
    drawTable(pretokens[chosen], player);
    player.reset(stepsOf(pretokens[chosen]).length);
  };
  const replay = latestOnly(byId("merging-stage"), async ({ text, at }) => {
    ({ pretokens } = await ask("steps", { model: model(), text, at }));
    if (at !== null) input.value = new TextDecoder("utf-8", { ignoreBOM: true }).decode(fromHex(pretokens[0].bytes));
    const most = Math.max(...pretokens.map((pretoken) => stepsOf(pretoken).length));
    choose(pretokens.findIndex((pretoken) => stepsOf(pretoken).length === most));
  });

  const replayInput = (delay) => replay({ text: input.value, at: null }, delay);
  input.addEventListener("input", () => replayInput(60));
  byId("merging-model").addEventListener("change", () => replayInput(0));
  replayInput(0);

  return (place, text, at) => {
    byId("merging-model").value = String(place);
    location.hash = "merging";
    replay({ text, at });
  };
}

const stepsOf = (pretoken) => pretoken?.steps ?? [];

function drawWords(pretokens, chosen, choose) {
  byId("merging-words").replaceChildren(...pretokens.map((pretoken, place) =>
    element("button.word", { type: "button", "aria-pressed": String(place === chosen), onclick: () => choose(place) }, chip(pretoken.bytes))));
}

function drawTable(pretoken, player) {
  byId("merging-steps").hidden = !stepsOf(pretoken).length;
  byId("merging-steps").tBodies[0].replaceChildren(...stepsOf(pretoken).map((step, place) => {
    const token = (id) => chip(pretoken.tokens[id]);
    const row = tableRow([
      element("button.link", { type: "button" }, String(place + 1)),
      number(step.rank),
      element("span", {}, token(step.pair[0]), " + ", token(step.pair[1])),
      String(step.made),
      element("span", {}, ...step.ids.map(token)),
    ]);
    Object.assign(row.dataset, { step: place + 1, ids: step.ids.join(" "), rank: step.rank });
    row.addEventListener("click", () => player.go(place + 1));
    return row;
  }));
}

function drawStep(pretoken, step) {
  for (const row of byId("merging-steps").tBodies[0].rows) row.classList.toggle("now", Number(row.dataset.step) === step);
  const ids = !pretoken?.steps ? [] : step === 0 ? pretoken.start : pretoken.steps[step - 1].ids;
  const next = stepsOf(pretoken)[step];
  byId("merging-stage").dataset.ids = ids.join(" ");
  byId("merging-stage").replaceChildren(...stageOf(pretoken, ids, step, next?.pair ?? []));
  byId("merging-sentence").textContent = sentenceOf(pretoken, ids, next);
}

/** The tokens, and between two of them the rank of their merge. */
function stageOf(pretoken, ids, step, [left, right]) {
  return ids.flatMap((id, place) => {
    const token = element("span.stage-token", {}, chip(pretoken.tokens[id]), element("small", {}, String(id)));
    if (place === ids.length - 1) return [token];
    const rank = pretoken.ranks[step][place];
    const joins = id === left && ids[place + 1] === right;
    return [token, element(`span.join${joins ? ".lowest" : ""}`, { title: rank === null ? "no merge" : "rank" }, rank === null ? "–" : number(rank))];
  });
}

function sentenceOf(pretoken, ids, next) {
  if (!pretoken) return "Type something to merge.";
  if ("special" in pretoken) return `A special token: its text becomes id ${pretoken.special} without any merge.`;
  if (!pretoken.steps) return `This pretoken is too long to be shown step by step (more than ${pretoken.too_long} bytes).`;
  const name = (id) => `“${labelOf(pretoken.tokens[id])}”`;
  if (next) {
    return `The lowest rank of a pair is ${number(next.rank)}: ${name(next.pair[0])} and ${name(next.pair[1])} become ${name(next.made)}, id ${next.made}.`;
  }
  const end = `No two adjacent tokens can be merged any more: ${plural(ids.length, "token")}.`;
  return pretoken.whole ? `${end} But with this vocabulary, a pretoken that is a token is not merged: id ${pretoken.whole.join(" ")}.` : end;
}
