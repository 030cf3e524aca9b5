// Starts the page: asks what there is to show, then starts the views, or shows the report.

const VIEWS = [...document.querySelectorAll("[role=tab]")].map((tab) => tab.id.slice("tab-".length));

function openView(name) {
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
    byId(`tab-${view}`).addEventListener("click", () => { location.hash = view; });
    byId(`tab-${view}`).addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      const next = VIEWS[(place + move + VIEWS.length) % VIEWS.length];
      location.hash = next;
      byId(`tab-${next}`).focus();
    });
  }
  addEventListener("hashchange", () => openView(location.hash.slice(1)));
  openView(location.hash.slice(1));
}

function showModels(models) {
  byId("models").append(...models.map((model) => element("li", { title: `fingerprint ${model.fingerprint}` },
    element("b", {}, model.name),
    ` ${number(model.vocab_size)} tokens · ${model.dialect} · ${model.pattern_name ?? "own pattern"}`)));
  for (const name of ["merging", "vocabulary"]) {
    byId(`${name}-model`).append(...models.map((model, place) => element("option", { value: place }, model.name)));
    byId(`${name}-model-label`).hidden = models.length < 2;
  }
  document.title = `${models.map((model) => model.name).join(" and ")} · bpetite`;
}

async function start() {
  if (inside) {
    byId("views").hidden = true;
    byId("tokens").hidden = true;
    byId("report").hidden = false;
    document.title = `${inside.name} · bpetite report`;
    showReport(inside);
    return;
  }
  startTabs();
  const { models, patterns, dialects } = await ask("about");
  showModels(models);
  startTokens(models, startMerging());
  startTraining(patterns, dialects);
  startVocabulary(models);
}

start().catch(tellFailure).finally(() => document.querySelector("main").removeAttribute("aria-busy"));
