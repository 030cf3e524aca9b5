// The second view: the merges of a pretoken, one step at a time, as encoding applies them.

import { steps, stepsAt } from "./api.js";
import { chip, fromHex, labelOf } from "./bytes.js";
import { byId, element, number, plural } from "./dom.js";
import { latestOnly } from "./latest.js";
import { Player } from "./player.js";

/** Starts the view; returns a function that shows the pretoken at a byte offset of a text. */
export function startMerging(failed, open) {
  const input = byId("merging-text");
  const model = () => byId("merging-model").value || "0";
  let pretokens = [];
  let chosen = 0;

  const player = new Player(byId("merging-player"), "Step of merging", (step) => drawStep(pretokens[chosen], step, player));
  const choose = (place) => {
    chosen = place;
    drawWords(pretokens, chosen, choose);
    drawTable(pretokens[chosen], player);
    player.reset(pretokens[chosen]?.steps?.length ?? 0);
  };
  const replay = latestOnly(byId("merging-stage"), async (ask) => {
    ({ pretokens } = await ask());
    const longest = pretokens.reduce((best, pretoken, place) =>
      ((pretoken.steps?.length ?? -1) > (pretokens[best].steps?.length ?? -1) ? place : best), 0);
    choose(longest);
  }, failed);

  const replayInput = (delay) => replay(() => steps(model(), input.value), delay);
  input.addEventListener("input", () => replayInput(60));
  byId("merging-model").addEventListener("change", () => replayInput(0));
  replayInput(0);

  return (place, text, at) => {
    byId("merging-model").value = String(place);
    open();
    replay(async () => {
      const answer = await stepsAt(place, text, at);
      input.value = new TextDecoder("utf-8", { ignoreBOM: true }).decode(fromHex(answer.pretokens[0].bytes));
      return answer;
    });
  };
}

function drawWords(pretokens, chosen, choose) {
  byId("merging-words").replaceChildren(...pretokens.map((pretoken, place) =>
    element("button.word", { type: "button", "aria-pressed": String(place === chosen), onclick: () => choose(place) }, chip(pretoken.bytes))));
}

function drawTable(pretoken, player) {
  const body = byId("merging-steps").tBodies[0];
  byId("merging-steps").hidden = !pretoken?.steps?.length;
  body.replaceChildren(...(pretoken?.steps ?? []).map((step, place) => {
    const bytes = (id) => chip(pretoken.tokens[id]);
    return element("tr", { "data-step": place + 1, "data-ids": step.ids.join(" "), "data-rank": step.rank, onclick: () => player.go(place + 1) },
      element("td", {}, element("button.link", { type: "button" }, String(place + 1))),
      element("td", {}, number(step.rank)),
      element("td", {}, bytes(step.pair[0]), " + ", bytes(step.pair[1])),
      element("td", {}, String(step.made)),
      element("td", {}, ...step.ids.map(bytes)));
  }));
}

function drawStep(pretoken, step, player) {
  for (const row of byId("merging-steps").tBodies[0].rows) row.classList.toggle("now", Number(row.dataset.step) === step);
  const stage = byId("merging-stage");
  const sentence = byId("merging-sentence");
  player.say(pretoken?.steps ? `${step} of ${pretoken.steps.length}` : "");
  if (!pretoken?.steps) {
    stage.replaceChildren();
    sentence.textContent = !pretoken ? "Type something to merge."
      : "special" in pretoken ? `A special token: its text becomes id ${pretoken.special} without any merge.`
        : `This pretoken is too long to be shown step by step (more than ${pretoken.too_long} bytes).`;
    return;
  }
  const ids = step === 0 ? pretoken.start : pretoken.steps[step - 1].ids;
  const next = pretoken.steps[step];
  stage.dataset.ids = ids.join(" ");
  stage.replaceChildren(...stageOf(pretoken, ids, pretoken.ranks[step], next?.pair));
  sentence.textContent = sentenceOf(pretoken, ids, next);
}

function stageOf(pretoken, ids, ranks, pair) {
  const nodes = [];
  for (let place = 0; place < ids.length; place++) {
    const joins = Boolean(pair) && ids[place] === pair[0] && ids[place + 1] === pair[1];
    nodes.push(element("span.stage-token", {}, chip(pretoken.tokens[ids[place]]), element("small", {}, String(ids[place]))));
    if (place < ids.length - 1) {
      const rank = ranks[place];
      nodes.push(element(`span.join${joins ? ".lowest" : ""}`, { title: rank === null ? "no merge" : `rank ${rank}` }, rank === null ? "–" : number(rank)));
    }
  }
  return nodes;
}

function sentenceOf(pretoken, ids, next) {
  const name = (id) => `“${labelOf(fromHex(pretoken.tokens[id]))}”`;
  if (next) {
    return `The lowest rank of a pair is ${number(next.rank)}: ${name(next.pair[0])} and ${name(next.pair[1])} become ${name(next.made)}, id ${next.made}.`;
  }
  const end = `No two adjacent tokens can be merged any more: ${plural(ids.length, "token")}.`;
  return pretoken.whole ? `${end} But with this vocabulary, a pretoken that is a token is not merged: id ${pretoken.whole.join(" ")}.` : end;
}
