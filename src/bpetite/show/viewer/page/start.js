// Starts the page: asks what there is to show, then starts the views, or shows the report.

/** Shows the view that the address names, or the first. */
function openView() {
  const links = [...document.querySelectorAll("nav a")];
  const wanted = links.find((link) => link.hash === location.hash) ?? links[0];
  for (const link of links) {
    byId(link.hash.slice(1)).hidden = link !== wanted;
    link.ariaCurrent = link === wanted ? "page" : "false";
  }
}

function showModels(models) {
  for (const { name, fingerprint, vocab_size, dialect, pattern_name } of models) {
    const about = ` ${plural(vocab_size, "token")} · ${dialect} dialect · ${pattern_name ?? "own"} pattern`;
    const title = "fingerprint " + fingerprint;
    byId("models").append(elementWith("li", { title }, element("b", name), about));
  }
  const names = models.map(({ name }) => name);
  for (const select of [byId("merging-model"), byId("vocabulary-model")]) {
    select.append(...names.map((name, value) => elementWith("option", { value }, name)));
    select.parentElement.hidden = models.length < 2;
  }
  document.title = names.join(", ") + " · bpetite";
}

async function start() {
  const report = JSON.parse(byId("inside").textContent); // null in the viewer
  if (report) {
    document.querySelector("nav").hidden = true;
    document.title = report.name + " · bpetite report";
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

start()
  .catch(tellFailure)
  .finally(() => {
    document.querySelector("main").ariaBusy = null;
  });
