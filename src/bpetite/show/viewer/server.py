"""Tokenizers in, HTTP on 127.0.0.1 out.

Only this machine is served: the socket is bound to 127.0.0.1, a request must name it as its `Host`
(so that no other host name can be redirected to it), and requests from pages of other sites are
refused. The page's own content security policy forbids it to load or send anything elsewhere.

    GET  /SECRET/      → the page
    POST /SECRET/ask   → {"question": "encode", "model": 0, "text": "hello"} → the answer in JSON
    GET  /ONCE/        → a redirection to the page, the first time only

Other users of the machine can reach the port, but do not know the secret. They can see the address
that a browser is started with, in the list of processes: so it is one that works once.
"""

import json
import secrets
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bpetite._internal.arguments import UnknownTokenError
from bpetite.show.viewer.answers import Model, answer
from bpetite.show.viewer.page import document, policy

ADDRESS = "127.0.0.1"

LARGEST_BODY = 32 * 1024 * 1024
"""A longer question is refused."""

_SECRET_BYTES = 16
"""Nobody guesses so many random bytes."""


class Viewer(ThreadingHTTPServer):
    """Serves the page for some tokenizers; port 0 takes any free one.

    Call `serve_forever()`; `url` is where the page is.
    """

    daemon_threads = True

    unused: list[str]
    """The paths that lead to the page once."""

    def __init__(self, models: Sequence[Model], port: int = 0) -> None:
        self.models = models
        self.page = document()
        self.root = f"/{secrets.token_urlsafe(_SECRET_BYTES)}/"
        self.unused = []
        self.headers = {
            "Content-Security-Policy": f"{policy()}; frame-ancestors 'none'",
            "Cache-Control": "no-store",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        super().__init__((ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        """Where the page is."""
        return self._address(self.root)

    def url_for_once(self) -> str:
        """Return an address that leads to the page once, for a command that other users can see."""
        path = f"/{secrets.token_urlsafe(_SECRET_BYTES)}/"
        self.unused.append(path)
        return self._address(path)

    def _address(self, path: str) -> str:
        return f"http://{ADDRESS}:{self.server_port}{path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnected or timed out; report any other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Refused(Exception):
    """A request that is answered with an error: its status and its message."""


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    protocol_version = "HTTP/1.1"
    server_version = "bpetite"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Serve the page."""
        self._respond("", lambda: ("text/html", self.server.page))

    def do_POST(self) -> None:
        """Answer a question of the page."""
        self._respond("ask", lambda: ("application/json", self._answer()))

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal quiet."""

    def _respond(self, path: str, find: Callable[[], tuple[str, bytes]]) -> None:
        try:
            self._check_origin()
            if self._is_first_use():
                self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", Location=self.server.root)
                return
            self._check_secret()
            if self.path != self.server.root + path:
                raise _Refused(HTTPStatus.NOT_FOUND, f"there is no {self.path}")
            self._send(HTTPStatus.OK, *find())
        except _Refused as refused:
            self.close_connection = True  # an unread body must not be taken for the next request
            status, message = refused.args
            self._send(status, "text/plain", message.encode("utf-8"))

    def _check_origin(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if hosts not in ([f"{name}:{self.server.server_port}"] for name in (ADDRESS, "localhost")):
            raise _Refused(HTTPStatus.FORBIDDEN, "this page is only served to this machine")
        if self.headers.get("Origin") not in (None, f"http://{hosts[0]}"):
            raise _Refused(HTTPStatus.FORBIDDEN, "requests from pages of other sites are refused")

    def _is_first_use(self) -> bool:
        """Whether this is the first request of an address that works once."""
        try:
            self.server.unused.remove(self.path)  # in one step: of two threads, one succeeds
        except ValueError:
            return False
        return True

    def _check_secret(self) -> None:
        root = self.server.root.encode()
        begin = self.path.encode("utf-8", "surrogateescape")[: len(root)]
        if not secrets.compare_digest(begin, root):
            raise _Refused(
                HTTPStatus.FORBIDDEN, "this is not the address that bpetite view has printed"
            )

    def _answer(self) -> bytes:
        """Answer in JSON; what has no answer (a wrong pattern, say) gets the reason."""
        try:
            answered = answer(self.server.models, json.loads(self._body()))
        except UnknownTokenError as error:
            answered = {"error": str(error)}
        except KeyError as error:
            answered = {"error": f"there is no token {error.args[0]}"}
        except (ValueError, RecursionError) as error:
            answered = {"error": str(error)}
        return json.dumps(answered, separators=(",", ":")).encode("ascii")

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "the length of the question must be given")
        if int(length) > LARGEST_BODY:
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"it has more than {LARGEST_BODY:,} bytes"
            )
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionAbortedError(
                "the client closed the connection before the end of the question"
            )
        return body

    def _send(self, status: HTTPStatus, content_type: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**self.server.headers, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
