"""The viewer's server, as whoever can reach it meets it."""

import http.client
import json
import socket
import struct
import threading
import unicodedata
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.show.viewer.answers import Model
from bpetite.show.viewer.server import LARGEST_BODY, Viewer
from viewing import running


def ask(
    viewer: Viewer, path: str, text: str | bytes | None = None, method: str = "", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server_port, timeout=60)
    body = text.encode("utf-8") if isinstance(text, str) else text
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method or ("GET" if body is None else "POST"), path, body, names)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, response.headers, content


def answer(viewer: Viewer, path: str, text: str | None = None) -> Any:
    status, _, content = ask(viewer, path, text)
    assert status == 200, content
    return json.loads(content)


def test_it_listens_on_the_loopback_address_alone(viewer: Viewer) -> None:
    assert viewer.socket.getsockname()[0] == "127.0.0.1"
    assert viewer.url == f"http://127.0.0.1:{viewer.server_port}/"


def test_a_foreign_host_is_refused(viewer: Viewer) -> None:
    port = viewer.server_port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1.nip.io:{port}",
        "",
    ):
        assert ask(viewer, "/", Host=host)[0] == 403
        assert ask(viewer, "/api/about", Host=host)[0] == 403
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert ask(viewer, "/", Host=host)[0] == 200


def test_another_sites_page_is_refused(viewer: Viewer) -> None:
    for origin in (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{viewer.server_port}",
        "http://127.0.0.1:1",
    ):
        assert ask(viewer, "/api/encode", "text", Origin=origin)[0] == 403
    own = f"http://127.0.0.1:{viewer.server_port}"
    assert ask(viewer, "/api/encode", "text", Origin=own)[0] == 200


def test_every_answer_forbids_what_the_page_does_not_need(viewer: Viewer) -> None:
    for path in ("/", "/main.js", "/api/about", "/nothing"):
        headers = ask(viewer, path)[1]
        policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers
        assert "Python" not in headers["Server"]


def test_only_the_pages_files_are_served(viewer: Viewer) -> None:
    for path in (
        "/../server.py",
        "/%2e%2e/server.py",
        "/page/../../__init__.py",
        "//etc/passwd",
        "/style.css/",
        "/nul%00",
    ):
        assert ask(viewer, path)[0] == 404
    assert ask(viewer, "/")[2] == ask(viewer, "/index.html")[2]


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("/api/token?id=999999", None, "there is no token 999999"),
        ("/api/token?id=x", None, "invalid literal"),
        ("/api/token?model=7&id=1", None, "there is no model 7"),
        ("/api/vocabulary?by=colour&query=red", None, "by text, bytes or id"),
        ("/api/vocabulary?by=bytes&query=zz", None, "hexadecimal"),
        ("/api/vocabulary?by=id&query=x", None, "not an id"),
        ("/api/lessons?pattern=(", "a", "pattern"),
        ("/api/lessons", "a" * 100_001, "at most 100,000 bytes"),
        ("/api/difference?dialect=mine", '["a", "a b"]', "dialect"),
        ("/api/difference", '["a", "a b c"]', "two tokens and one space"),
        ("/api/difference", '["' + "a" * 100_001 + '", ""]', "at most 100,000 bytes"),
        ("/api/steps?at=9", "a", "ends before byte 9"),
    ],
)
def test_a_question_without_an_answer_is_told_why(
    viewer: Viewer, path: str, text: str | None, words: str
) -> None:
    assert words in answer(viewer, path, text)["error"]


def test_a_request_that_makes_no_sense_is_refused(viewer: Viewer) -> None:
    assert ask(viewer, "/api/encode", b"\xff")[0] == 400
    for body in ("", "[", "{}", "[1, 2]", '["a"]', '["a", "b", "c"]'):
        assert ask(viewer, "/api/difference", body)[0] == 400
    assert ask(viewer, "/api/nothing", "a")[0] == 404
    assert ask(viewer, "/api/nothing")[0] == 404


def test_a_text_that_is_too_long_is_refused_before_it_is_read(viewer: Viewer) -> None:
    with socket.create_connection(("127.0.0.1", viewer.server_port), timeout=60) as connection:
        host, length = f"127.0.0.1:{viewer.server_port}", LARGEST_BODY + 1
        head = f"POST /api/encode HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(100)


def test_a_client_that_hangs_up_is_forgotten_silently(
    small: Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = b"the tokens " * 50_000
    with running(("small", small)) as viewer:
        before = set(threading.enumerate())
        head = f"POST /api/encode HTTP/1.1\r\nHost: 127.0.0.1:{viewer.server_port}\r\n"
        whole = f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text
        for sent in (whole, whole[:-1], whole[: len(head)], whole[: len(head) // 2], b""):
            for reset in (True, False):
                hang_up_after(viewer, sent, reset)
        assert ask(viewer, "/api/about")[0] == 200  # so all before it have threads now
        for thread in set(threading.enumerate()) - before:
            thread.join(60)
            assert not thread.is_alive()
    assert capsys.readouterr() == ("", "")


def hang_up_after(viewer: Viewer, sent: bytes, reset: bool) -> None:
    """Send something and close the connection, with a reset or properly."""
    with socket.create_connection(("127.0.0.1", viewer.server_port), timeout=60) as connection:
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(sent)


def test_a_fault_of_the_server_is_not_silent(
    small: Tokenizer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Model) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(Model, "rules", broken)
    with running(("small", small)) as viewer, pytest.raises(http.client.RemoteDisconnected):
        ask(viewer, "/api/about")
    assert "RuntimeError: broken" in capsys.readouterr().err


def test_other_methods_are_refused(viewer: Viewer) -> None:
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert ask(viewer, "/", method=method)[0] == 501


def test_encoding_gives_the_tokenizers_ids_and_where_they_end(
    pair: Viewer, small: Tokenizer, other: Tokenizer
) -> None:
    text = "the naïve 東京 tokens<|endoftext|>\x00\u202e"
    for number, tokenizer in enumerate((small, other)):
        found = answer(pair, f"/api/encode?model={number}", text)
        assert found["ids"] == tokenizer.encode(text)
        spans = tokenizer.encode_with_offsets(text, unit="bytes")[1]
        assert found["ends"] == [end for _, end in spans]


def test_where_text_is_normalized_the_normalized_text_is_told(small: Tokenizer) -> None:
    composing = Tokenizer(replace(small.vocabulary, normalization="NFC"))
    with running(("composing", composing)) as viewer:
        found = answer(viewer, "/api/encode", "cafe\u0301")
        plain = answer(viewer, "/api/encode", "café")
    assert found["text"] == "café"
    assert found["ends"][-1] == len("café".encode())
    assert found["source_ends"][-1] == len("cafe\u0301".encode())
    assert set(plain) == {"ids", "ends"}


@given(
    text=st.text(st.sampled_from("ae\u0301\u0323\u0338é\u1100\u1161\u11a8\u0958\u0344Å日 <|>"), max_size=12)
)
def test_places_in_normalized_text_are_those_of_the_source(small: Tokenizer, text: str) -> None:
    text = text.replace("<", "<|endoftext|>")
    composing = Tokenizer(replace(small.vocabulary, normalization="NFC"))
    found = Model("composing", composing).encode(text)
    if "text" not in found:
        assert found["ids"] == small.encode(text)
        return
    source, spelled = text.encode(), found["text"].encode()
    assert found["text"] == composing.decode(found["ids"])
    for end, place in zip(found["ends"], found["source_ends"], strict=True):
        if place is not None:
            parts = [part.decode("utf-8", "replace") for part in (source[:place], spelled[:end])]
            assert unicodedata.normalize("NFC", parts[0]) == parts[1]
    assert found["source_ends"][-1] == len(source)


def test_the_pretoken_at_an_offset_is_the_one_that_is_replayed(viewer: Viewer) -> None:
    text = "the tokens<|endoftext|>naïve"
    found = [
        bytes.fromhex(answer(viewer, f"/api/steps?at={at}", text)["pretokens"][0]["bytes"])
        for at in (0, 4, 12, 25)
    ]
    assert found == [b"the", b" tokens", b"<|endoftext|>", "naïve".encode()]


def test_search_finds_by_text_by_bytes_and_by_id(viewer: Viewer, small: Tokenizer) -> None:
    tokens = {**small.vocabulary.tokens, small.special_tokens["<|endoftext|>"]: b"<|endoftext|>"}

    def found(by: str, query: str) -> list[int]:
        rows: list[int] = []
        while True:
            page = answer(viewer, f"/api/vocabulary?by={by}&query={quote(query)}&first={len(rows)}")
            rows += [row["id"] for row in page["rows"]]
            if len(rows) == page["total"]:
                return rows

    assert found("text", "") == sorted(tokens)
    assert found("text", "en") == sorted(i for i, token in tokens.items() if b"en" in token)
    assert found("text", "<|end") == [small.special_tokens["<|endoftext|>"]]
    assert found("bytes", "c3 af") == sorted(i for i, token in tokens.items() if b"\xc3\xaf" in token)
    assert found("id", "258") == [258]
    assert found("id", "97 - 99") == [97, 98, 99]
    assert found("text", "no such token") == []
