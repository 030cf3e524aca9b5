"""The viewer's server, as whoever can reach it meets it."""

import http.client
import json
import re
import socket
import struct
import threading
from dataclasses import replace
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite.show.viewer.answers import Model
from bpetite.show.viewer.page import document
from bpetite.show.viewer.server import LARGEST_BODY, Viewer
from bpetite.vocabulary import Vocabulary
from viewing import running


def ask(
    viewer: Viewer, path: str, text: str | bytes | None = None, method: str = "", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server_port, timeout=60)
    body = text.encode("utf-8") if isinstance(text, str) else text
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    inside = viewer.root + path.removeprefix("/")
    connection.request(method or ("GET" if body is None else "POST"), inside, body, names)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, response.headers, content


def question(name: str, **given: Any) -> str:
    return json.dumps({"question": name, **given})


def answer(viewer: Viewer, name: str, **given: Any) -> Any:
    status, _, content = ask(viewer, "/ask", question(name, **given))
    assert status == 200, content
    return json.loads(content)


LONG = {"corpus": "a" * 100_001, "pattern": "gpt2"}
DIFFERENCE = {"corpus": "a", "merges": "a b", "dialect": "cs336", "pattern": "gpt2", "special": ""}
FIND = {"model": 0, "by": "id", "query": "3", "sort": "id", "text": "", "first": 0}
ENCODE = question("encode", model=0, text="text")


def test_it_listens_on_the_loopback_address_alone(viewer: Viewer) -> None:
    assert viewer.socket.getsockname()[0] == "127.0.0.1"
    assert re.fullmatch(rf"http://127\.0\.0\.1:{viewer.server_port}/[\w-]{{22,}}/", viewer.url)


def status_of(viewer: Viewer, method: str, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server_port, timeout=60)
    connection.request(method, path, ENCODE if method == "POST" else None)
    status = connection.getresponse().status
    connection.close()
    return status


def test_without_the_secret_every_request_is_refused(viewer: Viewer) -> None:
    """Other users of the machine can reach the port."""
    secret = viewer.root.strip("/")
    other = ("x" if secret[0] != "x" else "y") + secret[1:]
    wrong = (
        "",
        other,
        secret[:-1],
        secret + "x",
        secret.swapcase(),
        "ask",
        f"?{secret}",
        "%00",
    )
    for path in wrong:
        for rest in ("", "/", "/ask"):
            for method in ("GET", "POST"):
                assert status_of(viewer, method, f"/{path}{rest}") == 403, (method, path, rest)
    assert (
        status_of(viewer, "GET", viewer.root)
        == status_of(viewer, "POST", f"{viewer.root}ask")
        == 200
    )


def test_every_viewer_has_a_secret_of_its_own(small: Tokenizer) -> None:
    with running(("small", small)) as viewer, running(("small", small)) as other_viewer:
        assert viewer.root != other_viewer.root
        assert status_of(viewer, "GET", other_viewer.root) == 403


def test_an_address_for_once_leads_to_the_page_once(viewer: Viewer) -> None:
    path = viewer.url_for_once().removeprefix(f"http://127.0.0.1:{viewer.server_port}")
    assert path != viewer.root
    assert status_of(viewer, "GET", f"{path}ask") == status_of(viewer, "GET", path[:-1]) == 403
    assert [status_of(viewer, "GET", path) for _ in range(3)] == [303, 403, 403]


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
        assert ask(viewer, "/ask", ENCODE, Host=host)[0] == 403
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert ask(viewer, "/", Host=host)[0] == 200


def test_another_sites_page_is_refused(viewer: Viewer) -> None:
    for origin in (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{viewer.server_port}",
        "http://127.0.0.1:1",
    ):
        assert ask(viewer, "/ask", ENCODE, Origin=origin)[0] == 403
    own = f"http://127.0.0.1:{viewer.server_port}"
    assert ask(viewer, "/ask", ENCODE, Origin=own)[0] == 200


def test_every_answer_forbids_what_the_page_does_not_need(viewer: Viewer) -> None:
    for path in ("/", "/ask", "/nothing"):
        headers = ask(viewer, path)[1]
        policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["connect-src"] == "'self'"
        assert re.fullmatch("'sha256-[A-Za-z0-9+/=]+'", policy["script-src"])
        assert re.fullmatch("'sha256-[A-Za-z0-9+/=]+'", policy["style-src"])
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers
        assert "Python" not in headers["Server"]


def test_only_the_page_is_served(viewer: Viewer) -> None:
    for path in (
        "/../server.py",
        "/%2e%2e/server.py",
        "/page/../../__init__.py",
        "//etc/passwd",
        "/style.css",
        "/index.html",
        "/nul%00",
    ):
        assert ask(viewer, path)[0] == 404
    assert ask(viewer, "/")[2] == document()


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        (
            "token",
            {"model": 0, "id": 999999},
            "unknown id 999999: the vocabulary has no such token",
        ),
        ("token", {"model": 7, "id": 1}, "there is no model 7"),
        ("vocabulary", {**FIND, "by": "colour", "query": "red"}, "by: must be text, bytes or id"),
        ("vocabulary", {**FIND, "by": "bytes", "query": "zz"}, "hexadecimal"),
        ("vocabulary", {**FIND, "query": "x"}, "not an id"),
        ("vocabulary", {**FIND, "sort": "colour"}, "sort: must be rank, id, length or uses"),
        ("lessons", {"corpus": "a", "pattern": "(", "special": "", "merges": 1}, "pattern"),
        ("lessons", {**LONG, "special": "", "merges": 1}, "at most 100,000 bytes"),
        ("difference", {**DIFFERENCE, "dialect": "mine"}, "dialect"),
        ("difference", {**DIFFERENCE, "merges": "a b c"}, "two tokens and one space"),
        ("difference", {**DIFFERENCE, **LONG}, "at most 100,000 bytes"),
        ("steps", {"model": 0, "text": "a", "token": 9}, "no such token"),
        ("encode", {"model": 0, "text": "\ud800"}, "surrogate"),
    ],
)
def test_a_question_without_an_answer_is_told_why(
    viewer: Viewer, name: str, given: dict[str, Any], words: str
) -> None:
    assert words in answer(viewer, name, **given)["error"]


def test_a_request_that_makes_no_sense_is_told_so(viewer: Viewer) -> None:
    nonsense: list[Any] = [
        *("", "[", "[1, 2]", "{}", b"\xff", "[" * 100_000),
        *('{"question": 1}', question("nothing"), question("rules", model=0)),
        *(question("encode", model=0), question("encode", model=0, text=1)),
        *(question("encode", model=0, text="a", more=1), question("token", model=0, id="x")),
        question(
            "difference", corpus="a", merges=["a b"], dialect="cs336", pattern="gpt2", special=""
        ),
    ]
    for body in nonsense:
        status, _, content = ask(viewer, "/ask", body)
        assert (status, list(json.loads(content))) == (200, ["error"]), body
    assert ask(viewer, "/nothing", "a")[0] == 404
    assert ask(viewer, "/ask")[0] == 404


def test_a_text_that_is_too_long_is_refused_before_it_is_read(viewer: Viewer) -> None:
    with socket.create_connection(("127.0.0.1", viewer.server_port), timeout=60) as connection:
        host, length = f"127.0.0.1:{viewer.server_port}", LARGEST_BODY + 1
        head = f"POST {viewer.root}ask HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(100)


def test_a_client_that_hangs_up_is_forgotten_silently(
    small: Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = question("encode", model=0, text="the tokens " * 50_000).encode()
    with running(("small", small)) as viewer:
        before = set(threading.enumerate())
        head = f"POST {viewer.root}ask HTTP/1.1\r\nHost: 127.0.0.1:{viewer.server_port}\r\n"
        whole = f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text
        for sent in (whole, whole[:-1], whole[: len(head)], whole[: len(head) // 2], b""):
            for reset in (True, False):
                hang_up_after(viewer, sent, reset)
        assert ask(viewer, "/ask", ENCODE)[0] == 200  # so all before it have threads now
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
        ask(viewer, "/ask", question("about"))
    assert "RuntimeError: broken" in capsys.readouterr().err


def test_other_methods_are_refused(viewer: Viewer) -> None:
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert ask(viewer, "/", method=method)[0] == 501


def test_encoding_gives_the_tokenizers_ids_and_their_places(
    pair: Viewer, small: Tokenizer, other: Tokenizer
) -> None:
    text = "the naïve 東京 tokens<|endoftext|>\x00\u202e"
    for number, tokenizer in enumerate((small, other)):
        found = answer(pair, "encode", model=number, text=text)
        assert found["ids"] == tokenizer.encode(text)
        assert [*map(tuple, found["spans"])] == tokenizer.encode_with_offsets(text, unit="bytes")[1]
        drawn = {
            int(token_id): bytes.fromhex(token["hex"])
            for token_id, token in found["tokens"].items()
        }
        assert drawn == {token_id: tokenizer.token_bytes(token_id) for token_id in found["ids"]}


def test_the_pretoken_that_holds_a_token_is_the_one_that_is_replayed(
    viewer: Viewer, small: Tokenizer
) -> None:
    text = "the tokens<|endoftext|>naïve"
    places = range(small.count(text))
    found = [
        answer(viewer, "steps", model=0, text=text, token=place)["pretokens"] for place in places
    ]
    pretokens = ["the", " tokens", "<|endoftext|>", "naïve"]
    expected = [pretoken for pretoken in pretokens for _ in range(small.count(pretoken))]
    assert [one["text"] for [one] in found] == expected


def test_of_a_normalized_text_too_the_pretoken_that_holds_a_token_is_found(
    small: Tokenizer,
) -> None:
    composing = Tokenizer(replace(small.vocabulary, normalization="NFC"))
    text = "cafe\u0301 tokens"
    with running(("composing", composing)) as viewer:
        last = answer(viewer, "steps", model=0, text=text, token=composing.count(text) - 1)
        first = answer(viewer, "steps", model=0, text=text, token=composing.count("cafe\u0301") - 1)
    assert [one["pretokens"][0]["text"] for one in (first, last)] == ["café", " tokens"]


def test_search_finds_by_text_by_bytes_and_by_id(viewer: Viewer, small: Tokenizer) -> None:
    tokens = {**small.vocabulary.tokens, small.special_tokens["<|endoftext|>"]: b"<|endoftext|>"}

    def found(by: str, query: str) -> list[int]:
        rows: list[int] = []
        while True:
            page = answer(
                viewer, "vocabulary", **{**FIND, "by": by, "query": query, "first": len(rows)}
            )
            rows += [row["id"] for row in page["rows"]]
            if len(rows) == page["total"]:
                return rows

    assert found("text", "") == sorted(tokens)
    assert found("text", "en") == sorted(i for i, token in tokens.items() if b"en" in token)
    assert found("text", "<|end") == [small.special_tokens["<|endoftext|>"]]
    assert found("bytes", "c3 af") == sorted(
        i for i, token in tokens.items() if b"\xc3\xaf" in token
    )
    assert found("id", "258") == [258]
    assert found("id", "97 - 99") == [97, 98, 99]
    assert found("text", "no such token") == []


def test_the_vocabulary_of_characters_opens_at_the_first_merge_of_two_of_them() -> None:
    """SentencePiece has characters where others have bytes, and tokens that only decoding gives."""
    tokens = {byte: bytes([byte]) for byte in range(256)} | {
        256: "é".encode(),
        257: "日".encode(),
        258: b"ab",
    }
    merges = [(195, 169), (400, 165), (97, 98)]
    vocabulary = Vocabulary(
        {**tokens, 400: "日".encode()[:2]},
        [(230, 151), *merges],
        merge_ids=[400, 256, 257, 258],
        irregular=True,
        provisional=[400],
        decode_only={300: b"never"},
    )
    found = Model("characters", Tokenizer(vocabulary)).vocabulary("text", "", "rank", "", 0)
    assert found["total"] == vocabulary.vocab_size == 260
    assert found["rows"][0]["id"] == 258
