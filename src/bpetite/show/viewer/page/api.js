// Requests → answers of the server. If it refuses a request, the Error has its message.

async function ask(path, parameters = {}, text) {
  const query = new URLSearchParams(parameters);
  const request = text === undefined ? {} : { method: "POST", body: text };
  const response = await fetch(`/api/${path}?${query}`, request);
  if (!response.ok) throw new Error(await response.text());
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

export const about = () => ask("about");
export const encode = (model, text) => ask("encode", { model }, text);
export const token = (model, id) => ask("token", { model, id });
export const steps = (model, text) => ask("steps", { model }, text);
export const stepsAt = (model, text, at) => ask("steps", { model, at }, text);
export const vocabulary = (model, by, query, first) => ask("vocabulary", { model, by, query, first });
export const lessons = (corpus, pattern, special) => ask("lessons", { pattern, special }, corpus);
export const difference = (corpus, merges, dialect, pattern, special) =>
  ask("difference", { dialect, pattern, special }, JSON.stringify([corpus, merges]));
