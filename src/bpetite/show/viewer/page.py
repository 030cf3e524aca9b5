"""The page's parts in, one HTML document out: the viewer serves it, and a report is this document as a file.

The document holds its style, its scripts and (in a report) its numbers, so that it loads nothing.
Its content security policy names the hashes of the style and the script: nothing else ever runs.
"""

import base64
import hashlib
import json
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any

from bpetite.encoding.display import visible

SCRIPTS = (
    "parts",
    "player",
    "details",
    "tokens",
    "merging",
    "training",
    "vocabulary",
    "plots",
    "report",
    "start",
)
"""The scripts in the order in which they stand in the document."""


def document(report: dict[str, Any] | None = None) -> bytes:
    """Return the page; without a report, it asks the server for what it shows."""
    inside = json.dumps(report).replace("<", "\\u003c")  # no text may end the script
    html = (
        _read("index.html")
        .replace("/*style*/", _read("style.css"))
        .replace("/*script*/", _script())
    )
    return html.replace("/*policy*/", policy()).replace("/*answers*/", inside).encode("utf-8")


def policy() -> str:
    """Return the content security policy of the page."""
    return (
        f"default-src 'none'; script-src {_hash(_script())}; style-src {_hash(_read('style.css'))}; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


@cache
def _script() -> str:
    return "\n".join(_read(f"{name}.js") for name in SCRIPTS)


@cache
def _read(name: str) -> str:
    return files("bpetite.show.viewer").joinpath("page", name).read_text("utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def drawn(token: bytes, *, special: bool = False) -> dict[str, Any]:
    """Return what the page draws of a token: runs of text, between them what is invisible.

    >>> drawn(b"a b\\x00")
    {'runs': ['a', ' ', 'b', '<00>', ''], 'hex': '61 20 62 00', 'special': False}
    """
    runs = [""]
    for character in token.decode("utf-8", "surrogateescape"):
        shown = visible(character.encode("utf-8", "surrogateescape"))
        if shown != character or character.isspace():
            runs += [shown, ""]
        elif runs[-1] or not unicodedata.category(character).startswith("M"):
            runs[-1] += shown
        else:  # an accent needs something below it
            runs[-1] = f"◌{shown}"
    return {"runs": runs, "hex": token.hex(" "), "special": special}
