"""A browser and a running viewer for the tests of the page: fixtures, loaded by `conftest.py`.

The tests need Chromium, which `make test-slow` installs if it can. Without it they fail and say
what to do; `BPETITE_BROWSER=none` leaves them out, and pytest counts them as deselected.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite.show.viewer.answers import Model
from bpetite.show.viewer.server import Viewer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CORPUS = (
    "the lowest of the low, the newest of the new: tokens, tokenizers and tokenization; don't 12345 naïve "
    "def encode(text):\n\treturn [token for token in text]\n"
    * 3
    + "こんにちは世界 привет мир 👋🏽 عربى "
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("BPETITE_BROWSER") != "none":
        return
    left_out = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def chromium_path() -> str:
    """The path of Chromium; a test that needs it fails if it is missing."""
    chosen = os.environ.get("BPETITE_BROWSER")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = chosen or next(filter(None, map(shutil.which, names)), None)
    if not found:
        pytest.fail(
            "Chromium is not installed. Install it (on Debian, as root: make browser), or name one with "
            "BPETITE_BROWSER=/path, or leave these tests out with BPETITE_BROWSER=none.",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def small() -> Tokenizer:
    """A tokenizer in the default dialect."""
    return Tokenizer.train(CORPUS, 360)


@pytest.fixture(scope="session")
def other() -> Tokenizer:
    """A tokenizer that differs from it in everything."""
    return Tokenizer.train_from_iterator(
        [CORPUS],
        330,
        dialect="cs336",
        pattern="cl100k",
        special_tokens=["<|endoftext|>", "<b>&amp;</b>"],
    )


@contextmanager
def running(*models: tuple[str, Tokenizer]) -> Iterator[Viewer]:
    """Serve models while the block runs."""
    with Viewer([Model(name, tokenizer) for name, tokenizer in models]) as viewer:
        thread = threading.Thread(target=viewer.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield viewer
        finally:
            viewer.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def viewer(small: Tokenizer) -> Iterator[Viewer]:
    """A viewer of one model."""
    with running(("small.json", small)) as viewer:
        yield viewer


@pytest.fixture(scope="session")
def pair(small: Tokenizer, other: Tokenizer) -> Iterator[Viewer]:
    """A viewer of two models."""
    with running(("small.json", small), ("other.json", other)) as viewer:
        yield viewer


@contextmanager
def watched_page(browser: Browser, viewer: Viewer, **options: Any) -> Iterator[Page]:
    """Open a page that must do nothing wrong: no error, no dialog, no request to another machine."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(120_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("console", lambda message: wrong.append(f"console: {message.type}: {message.text}"))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert wrong == []
    assert [address for address in asked if not address.startswith(viewer.url)] == []


@pytest.fixture
def page(browser: Browser, viewer: Viewer) -> Iterator[Page]:
    """The page of one model."""
    with watched_page(browser, viewer) as page:
        open_view(page, viewer, "tokens")
        yield page


def open_view(page: Page, viewer: Viewer, view: str) -> None:
    """Open one of the four views, and wait until it shows something."""
    page.goto(f"{viewer.url}#{view}")
    page.locator(f"#{view}").wait_for()
    settled(page)


def settled(page: Page) -> None:
    """Wait until the page shows the answers to everything that was done to it.

    It is marked as busy from the event on (in `latestOnly`), so an old answer is never taken for
    the new one.
    """
    page.wait_for_function("() => !document.querySelector('[aria-busy]')")
