// Work whose result comes later: one run at a time, the latest wins, and the page says that it is busy.

/**
 * Returns a function that runs `work` with its latest argument, one run at a time, and reports failures.
 * Called with a delay in milliseconds, it waits until it was not called again for so long.
 * From the call until the latest result is shown, `region` is `aria-busy`.
 */
export function latestOnly(region, work, failed) {
  let timer = 0;
  let waiting = null;
  let running = false;

  async function run(argument) {
    timer = 0;
    waiting = { argument };
    if (running) return;
    running = true;
    while (waiting) {
      const next = waiting;
      waiting = null;
      try {
        await work(next.argument);
      } catch (error) {
        failed(error);
      }
    }
    running = false;
    if (!timer) region.removeAttribute("aria-busy");
  }

  return (argument, delay = 0) => {
    region.setAttribute("aria-busy", "true");
    clearTimeout(timer);
    waiting = null;
    if (delay) timer = setTimeout(run, delay, argument);
    else run(argument);
  };
}
