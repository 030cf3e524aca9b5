// A slider over a number of steps, with buttons: first, back, play, forward, last.

const PAUSE = 900;

class Player {
  /** `changed(step)` draws a step; the player itself shows "WORD 3 of 9". */
  constructor(holder, { label, word }, changed) {
    this.changed = changed;
    this.word = word;
    this.slider = element("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": label, oninput: () => this.go(this.step) });
    this.playing = element("button.round.play", { type: "button", onclick: () => (this.timer ? this.stop() : this.play()) });
    this.place = element("output.place");
    const button = (name, sign, step) =>
      element("button.round", { type: "button", "aria-label": name, title: name, onclick: () => this.go(step()) }, sign);
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
    this.slider.max = last;
    this.go(at);
  }

  go(step) {
    this.stop();
    this.move(step);
  }

  move(step) {
    this.slider.value = step; // a slider keeps its value within its range
    this.place.textContent = `${this.word}${this.step} of ${this.last}`;
    this.changed(this.step);
  }

  play() {
    if (this.step === this.last) this.move(0);
    this.timer = setInterval(() => {
      this.move(this.step + 1);
      if (this.step === this.last) this.stop();
    }, PAUSE);
    this.show("Pause");
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.show("Play");
  }

  show(action) {
    this.playing.textContent = action;
    this.playing.setAttribute("aria-pressed", String(action === "Pause"));
  }
}
