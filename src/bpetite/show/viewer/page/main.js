// Starts the page: asks for the models, then starts the four views.

import { about } from "./api.js";
import { byId, element, number } from "./dom.js";
import { startMerging } from "./merging_view.js";
import { startTokens } from "./tokens_view.js";
import { startTraining } from "./training_view.js";
import { startVocabulary } from "./vocabulary_view.js";

const VIEWS = ["tokens", "merging", "training", "vocabulary"];

function failed(error) {
  byId("failure").textContent = error.message;
  byId("failure").hidden = false;
}

function open(name) {
  const wanted = VIEWS.includes(name) ? name : VIEWS[0];
  for (const view of VIEWS) {
    const tab = byId(`tab-${view}`);
    byId(view).hidden = view !== wanted;
    tab.setAttribute("aria-selected", String(view === wanted));
    tab.tabIndex = view === wanted ? 0 : -1;
  }
}

function startTabs() {
  for (const [place, view] of VIEWS.entries()) {
    const tab = byId(`tab-${view}`);
    tab.addEventListener("click", () => { location.hash = view; });
    tab.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      const next = VIEWS[(place + move + VIEWS.length) % VIEWS.length];
      location.hash = next;
      byId(`tab-${next}`).focus();
    });
  }
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  open(location.hash.slice(1));
}

function showModels(models) {
  byId("models").append(...models.map((model) => element("li", { title: `fingerprint ${model.fingerprint}` },
    element("b", {}, model.name),
    ` ${number(model.vocab_size)} tokens · ${model.dialect} · ${model.pattern_name ?? "own pattern"}`)));
  document.title = `${models.map((model) => model.name).join(" and ")} · bpetite`;
}

function fillModelChoices(models) {
  for (const name of ["merging", "vocabulary"]) {
    byId(`${name}-model`).append(...models.map((model, place) => element("option", { value: place }, model.name)));
    byId(`${name}-model-label`).hidden = models.length < 2;
  }
}

async function start() {
  startTabs();
  const { models, patterns, dialects } = await about();
  showModels(models);
  fillModelChoices(models);
  const watchPretoken = startMerging(failed, () => { location.hash = "merging"; });
  startTokens(models, watchPretoken, failed);
  startTraining(patterns, dialects);
  startVocabulary(models, failed);
}

start().catch(failed).finally(() => document.querySelector("main").removeAttribute("aria-busy"));
