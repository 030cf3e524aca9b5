// Creates all elements of the page. Text only ever becomes a text node, never HTML.

/** Makes an element: `element("p.note", { title: "x" }, "text", child)`. */
export function element(kind, properties = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const byId = (id) => document.getElementById(id);

export const number = (value) => value.toLocaleString("en-US");

/** A number with its noun: `plural(1, "token")` is "1 token". */
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
