// A slider over a number of steps, with buttons: back, play, forward.

const PAUSE = 900;

/**
 * Puts a player into `holder`; `changed(step)` draws a step, the player itself shows "3 of 9 merges". Returns
 * `go(step, last)`, which stops playing and goes to a step, perhaps of another number of steps.
 */
function playerIn(holder, label, changed) {
  let timer = 0;
  const range = { type: "range", min: 0, max: 0, value: 0 };
  const slider = elementWith("input", { ...range, "aria-label": label, oninput: () => go(here()) });
  const play = button("Play", playOrPause, { className: "play" });
  const place = element("output.soft");
  const mover = (title, sign, by) => button(sign, () => go(here() + by), { "aria-label": title, title });
  holder.replaceChildren(mover("Previous step", "‹", -1), play, mover("Next step", "›", 1), slider, place);

  const here = () => Number(slider.value);
  const atEnd = () => slider.value === slider.max;

  function show(step) {
    slider.value = step; // a slider keeps its value within its range
    place.textContent = `${number(here())} of ${plural(Number(slider.max), "merge")}`;
    changed(here());
  }

  function go(step, last = slider.max) {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
    slider.max = last;
    show(step);
  }

  function playOrPause() {
    if (timer) {
      go(here());
      return;
    }
    if (atEnd()) show(0);
    timer = setInterval(() => {
      show(here() + 1);
      if (atEnd()) go(here());
    }, PAUSE);
    play.textContent = "Pause";
  }

  return go;
}
