// A slider over a number of steps, with buttons: first, back, play, forward, last.

import { element } from "./dom.js";

const PAUSE = 900;

export class Player {
  constructor(holder, name, changed) {
    this.changed = changed;
    this.timer = 0;
    this.slider = element("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": name,
      oninput: () => { this.stop(); this.changed(this.step); } });
    this.playing = element("button.round.play", { type: "button", onclick: () => (this.timer ? this.stop() : this.play()) });
    this.place = element("output.place");
    const button = (label, text, step) =>
      element("button.round", { type: "button", "aria-label": label, title: label, onclick: () => this.go(step()) }, text);
    holder.replaceChildren(
      button("First step", "«", () => 0),
      button("Previous step", "‹", () => this.step - 1),
      this.playing,
      button("Next step", "›", () => this.step + 1),
      button("Last step", "»", () => this.last),
      this.slider, this.place,
    );
    this.stop();
  }

  get step() { return Number(this.slider.value); }
  get last() { return Number(this.slider.max); }

  /** Starts again with this many steps, at step `at`. */
  reset(last, at = 0) {
    this.stop();
    this.slider.max = last;
    this.slider.value = at;
    this.announce();
  }

  go(step) {
    this.stop();
    this.moveTo(step);
  }

  play() {
    if (this.step === this.last) this.moveTo(0);
    this.playing.textContent = "Pause";
    this.playing.setAttribute("aria-pressed", "true");
    this.timer = setInterval(() => {
      this.moveTo(this.step + 1);
      if (this.step === this.last) this.stop();
    }, PAUSE);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.playing.textContent = "Play";
    this.playing.setAttribute("aria-pressed", "false");
  }

  moveTo(step) {
    this.slider.value = Math.max(0, Math.min(this.last, step));
    this.announce();
  }

  announce() {
    this.changed(this.step);
  }

  /** Shows the number of the step; the view that draws the step calls this. */
  say(text) {
    this.place.textContent = text;
  }
}
