// A slider over a number of steps, with buttons: back, play, forward.

const PAUSE = 900;

class Player {
  /** `changed(step)` draws a step; the player itself shows "3 of 9". */
  constructor(holder, label, changed) {
    this.changed = changed;
    this.slider = element("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": label, oninput: () => this.go(this.step) });
    this.playing = button("Play", () => (this.timer ? this.stop() : this.play()), { className: "play" });
    this.place = element("output.soft");
    const move = (name, sign, by) => button(sign, () => this.go(this.step + by), { "aria-label": name, title: name });
    holder.replaceChildren(move("Previous step", "‹", -1), this.playing, move("Next step", "›", 1), this.slider, this.place);
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
    this.place.textContent = `${this.step} of ${this.last}`;
    this.changed(this.step);
  }

  play() {
    if (this.step === this.last) this.move(0);
    this.timer = setInterval(() => {
      this.move(this.step + 1);
      if (this.step === this.last) this.stop();
    }, PAUSE);
    this.playing.textContent = "Pause";
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.playing.textContent = "Play";
  }
}
