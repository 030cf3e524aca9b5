"""The texts of the benchmarks: made of archives, checked, and never half-written."""

import gzip
import hashlib
import io
import json
import tarfile
import tomllib
from pathlib import Path

import pytest
from bench import texts

PO = r"""
msgid ""
msgstr ""
"Language: de\n"

#: a.ui
msgid "Save"
msgstr "Speichern"

msgid "Close"
msgstr ""

msgid "Say \"<b>yes</b>\"\n"
msgstr ""
"Sag \"<b>ja</b>\"\n"
"oder C:\\neu"

msgid "file"
msgid_plural "files"
msgstr[0] "Datei"
msgstr[1] "Dateien"
"""
JSON = '{"@metadata": {"authors": ["A"]}, "save": "Lagre <b>$1</b>", "empty": "", "close": "Lukk"}'
HTML = """<html><HEAD><title>Not shown</title></HEAD><body><!-- <p>nor</p> this -->
<script>nor(this)</script><h1>One &amp; two</h1><p>It is
<em>here</em>.</p><ul><li>first</li><li>second</li></ul></body></html>"""
RFC = "   One.\n\n\nKing      [Page 1]\n\f\nRFC 9  Words  May 1991\n\n\n   Two.\n\n\nKing      [Page 2]\n\f\n"
FILES = {
    "x/a.c": b"int a;\n",
    "x/again.c": b"int a;\n",
    "x/latin.c": b"// \xe9\n",
    "x/nul.c": b"\0",
    "x/empty.c": b"\n",
    "x/separator.c": b"<|endoftext|>",
    "x/left.out": b"left out",
    "x/de.po": PO.encode(),
    "x/nb.json": JSON.encode(),
    "x/page.html": HTML.encode(),
    "x/rfc9.txt.gz": gzip.compress(RFC.encode()),
}
WORDS = {
    "int a;\n": "x/a.c",
    'Speichern\nSag "ja"\noder C:\\neu\nDatei\nDateien': "x/de.po",
    "Lagre $1\nLukk": "x/nb.json",
    "One & two\n\nIt is\nhere.\n\nfirst\n\nsecond\n": "x/page.html",
    "   One.\n\n   Two.\n\n": "x/rfc9.txt.gz",
}


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:xz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("x/link.c")
        link.type, link.linkname = tarfile.SYMTYPE, "a.c"
        archive.addfile(link)
    return made.getvalue()


def package(data: bytes) -> bytes:
    parts = {"debian-binary": b"2.0", "data.tar.xz": data}
    return b"!<arch>\n" + b"".join(
        f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        + content
        + b"\n" * (len(content) % 2)
        for name, content in parts.items()
    )


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def made_of(documents: list[str]) -> bytes:
    return "".join(f"{document}<|endoftext|>" for document in documents).encode()


END = b"<|endoftext|>"
FIRST, THEN = packed(FILES), package(packed({"y/a.c": b"int a;\n", "y/b.c": b"int b;\n"}))
IN_ORDER = [*sorted(WORDS, key=lambda said: digest(f"first/{WORDS[said]}".encode())), "int b;\n"]
WHOLE = made_of(IN_ORDER)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the downloads, for a table with one text."""
    (tmp_path / "texts" / "downloads").mkdir(parents=True)
    (tmp_path / "texts" / "downloads" / "first.tar.xz").write_bytes(FIRST)
    (tmp_path / "texts" / "downloads" / "then.deb").write_bytes(THEN)
    tables(tmp_path, monkeypatch, digest(WHOLE))
    return tmp_path / "texts"


def tables(folder: Path, monkeypatch: pytest.MonkeyPatch, large: str) -> None:
    short = made_of(IN_ORDER[:1])
    path = folder / "table.toml"
    monkeypatch.setattr(texts, "TABLE", path)
    path.write_text(f"""
[archives]
first = ["main/first.tar.xz", "{digest(FIRST)}"]
then = ["main/then.deb", "{digest(THEN)}"]
[texts.one]
short = [{len(short)}, "{digest(short)}"]
large = [{len(WHOLE)}, "{large}"]
[texts.one.first]
first = {json.dumps(r"[.](c|html|json|po|txt[.]gz)$")}
[texts.one.then]
then = {json.dumps(r"[.]c$")}
""")


def test_a_text_has_each_document_once_in_the_order_of_hashed_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts.main([str(folder), "--large"])
    assert (folder / "one.txt").read_bytes() == WHOLE
    assert f"{len(WHOLE)} bytes  SHA-256 {digest(WHOLE)}" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {"downloads", "one.txt"}


def test_the_short_text_is_the_beginning_of_the_large_one(folder: Path) -> None:
    texts.main([str(folder)])
    assert (folder / "one.txt").read_bytes() == made_of(IN_ORDER[:1])


def test_a_text_is_made_alone(folder: Path) -> None:
    texts.main([str(folder), "--only", "none"])
    assert {path.name for path in folder.iterdir()} == {"downloads"}
    texts.main([str(folder), "--only", "one"])
    assert {path.name for path in folder.iterdir()} == {"downloads", "one.txt"}


def test_a_long_document_is_divided_and_its_parts_are_mixed_with_others() -> None:
    book = b"first part\n\nsecond part\n\nthe rest\n"
    documents = [("a", book + END), ("b", b"short\n" + END)]
    parts = list(texts.divided(documents, 6, "\n\n"))
    assert [part.removesuffix(END) for _, part in parts] == [
        b"first part\n",
        b"second part\n",
        b"the rest\n",
        b"short\n",
    ]
    keys = [key for key, _ in parts]
    assert (keys[0], keys[3], len({*keys})) == ("a", "b", 4)
    assert list(texts.divided(documents)) == documents


def test_a_part_that_ends_with_its_document_leaves_no_empty_one() -> None:
    assert [part for _, part in texts.divided([("a", b"line\nline\n" + END)], 3, "\n")] == [
        b"line\n" + END,
        b"line\n" + END,
    ]


def test_a_text_that_is_there_is_not_made_again(folder: Path) -> None:
    texts.main([str(folder)])
    (folder / "downloads" / "first.tar.xz").unlink()
    texts.main([str(folder)])


def test_another_archive_is_an_error_with_both_hashes(folder: Path) -> None:
    archive = folder / "downloads" / "first.tar.xz"
    archive.write_bytes(b"other")
    message = f"texts: {archive} has the SHA-256 {digest(b'other')}, not {digest(FIRST)}"
    with pytest.raises(SystemExit, match=message):
        texts.main([str(folder)])
    assert [path.name for path in folder.iterdir()] == ["downloads"]


def test_another_text_is_an_error_with_both_hashes_and_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts.main([str(folder)])
    tables(folder.parent, monkeypatch, "0" * 64)
    with pytest.raises(
        SystemExit, match=f"one.txt has the SHA-256 {digest(WHOLE)}, not {'0' * 64}"
    ):
        texts.main([str(folder), "--large"])
    assert (folder / "one.txt").read_bytes() == made_of(IN_ORDER[:1])
    assert {path.name for path in folder.iterdir()} == {"downloads", "one.txt"}


def test_what_is_missing_is_downloaded_from_the_first_mirror_that_has_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def download(url: str, path: Path) -> bool:
        asked.append(url)
        path.write_bytes(FIRST if url.startswith("http://second") else b"half")
        return url.startswith("http://second")

    monkeypatch.setattr(texts, "mirrors", lambda: ["http://first/", "http://second/"])
    monkeypatch.setattr(texts, "download", download)
    (folder / "downloads" / "first.tar.xz").unlink()
    texts.main([str(folder), "--large"])
    assert (folder / "one.txt").read_bytes() == WHOLE
    assert asked == ["http://first/pool/main/first.tar.xz", "http://second/pool/main/first.tar.xz"]


def test_what_nobody_has_is_an_error_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "mirrors", lambda: ["http://first/"])
    monkeypatch.setattr(texts, "download", lambda url, path: not path.write_bytes(b"half"))
    (folder / "downloads" / "first.tar.xz").unlink()
    with pytest.raises(SystemExit, match=r"texts: first.tar.xz cannot be downloaded"):
        texts.main([str(folder)])
    assert [path.name for path in (folder / "downloads").iterdir()] == ["then.deb"]


def test_without_apt_an_address_is_read_by_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "APT_HELPER", tmp_path / "none")
    (tmp_path / "there").write_bytes(b"content")
    assert texts.download((tmp_path / "there").as_uri(), tmp_path / "read")
    assert (tmp_path / "read").read_bytes() == b"content"
    assert not texts.download((tmp_path / "gone").as_uri(), tmp_path / "read")
    assert texts.mirrors() == [texts.SNAPSHOT]


def test_the_table_is_whole() -> None:
    table = tomllib.loads(texts.TABLE.read_text("utf-8"))
    hashes = [sha256 for _, sha256 in table["archives"].values()]
    for text in table["texts"].values():
        assert {*text["first"], *text["then"]} <= {*table["archives"]}
        hashes += [text["short"][1], text["large"][1]]
        assert 29_000_000 <= text["short"][0] <= text["large"][0]
    assert all(len(bytes.fromhex(sha256)) == 32 for sha256 in hashes)
