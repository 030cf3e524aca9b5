"""What mkdocs calls while it builds the site: adds files to it, and links to GitHub what is not in docs/."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
ADDED = {
    "demo.html": PROJECT / "build" / "demo.html",  # `make site` has it written by `bpetite report`
    "iframe-worker.js": HERE / "iframe-worker.js",
    "pages.css": HERE / "pages.css",
}
_TARGET = re.compile(r"(?<=\]\()[^)#:]+")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the files that are not in docs/."""
    for name, path in ADDED.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Replace links out of docs/, which work on GitHub, with addresses there."""
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent

    def address(link: re.Match[str]) -> str:
        target = (folder / link[0]).resolve()
        if target.is_relative_to(docs):
            return link[0]
        return config.extra["source"] + target.relative_to(PROJECT).as_posix()

    return _TARGET.sub(address, markdown)
