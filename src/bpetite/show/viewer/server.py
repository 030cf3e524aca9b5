"""Tokenizers in, HTTP on 127.0.0.1 out.

Only this machine is served: the socket is bound to 127.0.0.1, a request must name it as its `Host` (so that
no other host name can be redirected to it), and requests from pages of other sites are refused. The page's
own content security policy forbids it to load or send anything elsewhere.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bpetite.show.viewer.answers import Answer, Model, about, difference, lessons

ADDRESS = "127.0.0.1"

LARGEST_BODY = 32 * 1024 * 1024
"""A longer text is refused."""

_CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Viewer(ThreadingHTTPServer):
    """Serves the page for some tokenizers; port 0 takes any free one.

    Call `serve_forever()`; `url` is where the page is.
    """

    daemon_threads = True

    def __init__(self, tokenizers: Sequence[Model], port: int = 0) -> None:
        self.models = list(tokenizers)
        self.pages = _page_files()
        super().__init__((ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnected or timed out; report any other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def own_hosts(self) -> set[str]:
        """The values of `Host` that mean this server."""
        return {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}


def _page_files() -> dict[str, tuple[str, bytes]]:
    """Read the page's files once; nothing else is served, so no path is ever built from a request."""
    found = {}
    for file in files("bpetite.show.viewer").joinpath("page").iterdir():
        ending = file.name[file.name.rfind(".") :]
        if ending in _CONTENT_TYPES:
            found["/" + file.name] = (_CONTENT_TYPES[ending], file.read_bytes())
    found["/"] = found["/index.html"]
    return found


class _Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    protocol_version = "HTTP/1.1"
    server_version = "bpetite"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Serve the page's files, and answer the questions without a text."""
        self._respond(self._get)

    def do_POST(self) -> None:
        """Answer the questions about a text, which is the body."""
        self._respond(self._post)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal quiet."""

    def _respond(self, find: Callable[[str, dict[str, str]], tuple[str, bytes]]) -> None:
        try:
            self._check_origin()
            address = urlsplit(self.path)
            query = parse_qs(address.query, keep_blank_values=True)
            content_type, body = find(address.path, {name: values[0] for name, values in query.items()})
            self._send(HTTPStatus.OK, content_type, body)
        except _Refused as refused:
            self.close_connection = True  # an unread body must not be taken for the next request
            self._send(refused.status, "text/plain; charset=utf-8", str(refused).encode("utf-8"))

    def _check_origin(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.server.own_hosts():
            raise _Refused(HTTPStatus.FORBIDDEN, "this page is only served to this machine")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") != hosts[0]:
            raise _Refused(HTTPStatus.FORBIDDEN, "requests from pages of other sites are refused")

    def _get(self, path: str, query: dict[str, str]) -> tuple[str, bytes]:
        if path in self.server.pages:
            return self.server.pages[path]
        if path == "/api/about":
            return _json(lambda: about(self.server.models))
        if path == "/api/token":
            return _json(lambda: self._model(query).token(int(query.get("id", ""))))
        if path == "/api/vocabulary":
            by, sought, first = query.get("by", "text"), query.get("query", ""), query.get("first", "0")
            return _json(lambda: self._model(query).vocabulary(by, sought, int(first)))
        raise _Refused(HTTPStatus.NOT_FOUND, f"there is no {path}")

    def _post(self, path: str, query: dict[str, str]) -> tuple[str, bytes]:
        text = self._text()
        if path == "/api/encode":
            return _json(lambda: self._model(query).encode(text))
        if path == "/api/steps":
            at = query.get("at")
            return _json(lambda: self._model(query).steps(text, None if at is None else int(at)))
        pattern, special = query.get("pattern", "gpt2"), query.get("special", "")
        specials = [special] if special else []
        if path == "/api/lessons":
            return _json(lambda: lessons(text, pattern, specials))
        if path == "/api/difference":
            corpus, merges = _two_texts(text)
            dialect = query.get("dialect", "cs336")
            return _json(lambda: difference(corpus, merges, dialect, pattern, specials))
        raise _Refused(HTTPStatus.NOT_FOUND, f"there is no {path}")

    def _text(self) -> str:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "the text's length must be given")
        if int(length) > LARGEST_BODY:
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the text has more than {LARGEST_BODY:,} bytes"
            )
        content = self.rfile.read(int(length))
        if len(content) < int(length):
            raise ConnectionAbortedError("the client closed the connection before the end of the text")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise _Refused(HTTPStatus.BAD_REQUEST, "the text must be UTF-8") from None

    def _model(self, query: dict[str, str]) -> Model:
        number = query.get("model", "0")
        if number not in map(str, range(len(self.server.models))):
            raise ValueError(f"there is no model {number}")
        return self.server.models[int(number)]

    def _send(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _two_texts(body: str) -> tuple[str, str]:
    """Read the two texts of a body that holds them in a list of JSON."""
    try:
        first, second = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        first = second = None
    if not (isinstance(first, str) and isinstance(second, str)):
        raise _Refused(HTTPStatus.BAD_REQUEST, "the body must be a JSON list of two texts")
    return first, second


def _json(answer: Callable[[], Answer]) -> tuple[str, bytes]:
    """Answer in JSON; where a person has asked what has no answer (a wrong pattern, say), with the reason."""
    try:
        answered = answer()
    except KeyError as error:
        answered = {"error": f"there is no token {error.args[0]}"}
    except ValueError as error:
        answered = {"error": str(error)}
    return "application/json", json.dumps(answered, separators=(",", ":")).encode("ascii")
