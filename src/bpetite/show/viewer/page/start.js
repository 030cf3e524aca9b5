// Starts the page: asks what there is to show, then starts the views, or shows the report.

/** Shows the view that the address names, or the first. */
function openView() {
  const links = [...document.querySelectorAll("nav a")];
  const wanted = links.find((link) => link.hash === location.hash) ?? links[0];
  for (const link of links) {
    byId(link.hash.slice(1)).hidden = link !== wanted;
    link.setAttribute("aria-current", link === wanted ? "page" : "false");
  }
}

function showModels(models) {
  byId("models").append(...models.map((model) => element("li", { title: `fingerprint ${model.fingerprint}` },
    element("b", {}, model.name),
    ` ${plural(model.vocab_size, "token")} · ${model.dialect} dialect · ${model.pattern_name ?? "own"} pattern`)));
  for (const select of [byId("merging-model"), byId("vocabulary-model")]) {
    select.append(...models.map((model, place) => element("option", { value: place }, model.name)));
    select.parentElement.hidden = models.length < 2;
  }
  document.title = `${models.map((model) => model.name).join(", ")} · bpetite`;
}

async function start() {
  const report = JSON.parse(byId("inside").textContent); // null in the viewer
  if (report) {
    document.querySelector("nav").hidden = true;
    document.title = `${report.name} · bpetite report`;
    showReport(report);
    return;
  }
  addEventListener("hashchange", openView);
  openView();
  const { models, patterns, dialects } = await ask("about");
  showModels(models);
  startTokens(models, startMerging());
  startTraining(patterns, dialects);
  startVocabulary(models);
}

start().catch(tellFailure).finally(() => document.querySelector("main").removeAttribute("aria-busy"));
