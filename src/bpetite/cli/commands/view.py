"""View one or more tokenizers in a browser. The address of the page is secret.

examples:
  bpetite view tok.json
  bpetite view tok.json other.json --port 8000 --no-browser
  bpetite view tok.json gpt2/
"""

import contextlib
import webbrowser
from threading import Thread

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_models
from bpetite.cli.output import printed, write


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command, "; several are shown side by side")
    add = command.add_argument
    add(
        "--port",
        type=shared.number,
        default=0,
        metavar="N",
        help="the port (default: any free port)",
    )
    add("--no-browser", action="store_true", help="print the address only")


def run(options: shared.Options) -> shared.Result:
    """Serve the page until Ctrl-C; the address is the one line on stdout."""
    from bpetite.show.viewer.answers import Model
    from bpetite.show.viewer.server import Viewer

    if not 0 <= options.port <= 65535:
        raise ValueError(f"--port must be between 0 and 65535, not {options.port}")
    models = [Model(name, tokenizer) for name, tokenizer in read_models(options).items()]
    try:
        viewer = Viewer(models, options.port)
    except OSError as error:
        raise OSError(
            f"port {options.port} cannot be used: {error.strerror}; try another --port"
        ) from None
    with viewer:
        address: shared.Result = {"url": viewer.url} if options.json else [viewer.url]
        write(printed(address))
        options.progress.say("Served to this machine only, at this secret address; Ctrl-C ends it.")
        if not options.no_browser:
            # A browser in the foreground, such as w3m, returns only when it is closed, and needs the
            # page until then.
            url = viewer.url_for_once()
            Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):
            viewer.serve_forever()
    return []
