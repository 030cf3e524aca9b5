"""Packages of Debian 12 → texts in code, English and many languages, the same bytes on every machine.

    python -m bench.texts FOLDER [--large] [--only NAME ...]

Writes the texts of the table `bench/texts.toml`: code, english (manuals), multi (20 languages),
prose (mixed English) and world (about 500 languages), each as long as the table says; with --large,
the longer ones, which begin as the shorter ones do. Each document (a file, the translations in a
file, or a part of a book) ends in `<|endoftext|>`. The SHA-256 of all archives and texts are in
that table, and checked.

The archives, 0.7 GB (with --large, 1.1 GB), are kept in FOLDER/downloads. They come from the
machine's own Debian mirror or, if it is no Debian or its mirror dropped a version, from
snapshot.debian.org, which keeps all (not tried: it cannot be reached from where this was written).
Files that you put there yourself are taken as well. The disk needs twice the size of the longest
text besides.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

from bpetite._constants import END_OF_TEXT_TOKEN as SEPARATOR

SNAPSHOT = "https://snapshot.debian.org/archive/debian/20261101T000000Z/"
APT_HELPER = Path("/usr/lib/apt/apt-helper")

TABLE = Path(__file__).with_suffix(".toml")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch, write and check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", action="store_true", help="write the longer texts")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="write these texts alone"
    )
    options = parser.parse_args(arguments)
    table = tomllib.loads(TABLE.read_text("utf-8"))
    for name, text in table["texts"].items():
        if options.only and name not in options.only:
            continue
        path = options.folder / f"{name}.txt"
        size, expected = text["large" if options.large else "short"]
        if not (path.exists() and sha256(path) == expected):
            seen: set[bytes] = set()
            with whole(path, expected) as part, part.open("wb") as out:
                for files in (text["first"], text["then"]):
                    if out.tell() < size:
                        found = collect(
                            files, table["archives"], options.folder / "downloads", seen
                        )
                        append(divided(found, *text.get("part", ())), out, size)
        print(f"{path}  {path.stat().st_size:,} bytes  SHA-256 {expected}")


def append(found: Iterable[tuple[str, bytes]], out: IO[bytes], size: int) -> None:
    """Append documents in the order of their keys, until the file has so many bytes."""
    with tempfile.TemporaryFile(dir=Path(out.name).parent) as pool:
        places = [(key, pool.tell(), pool.write(document)) for key, document in found]
        for _, start, length in sorted(places):
            if out.tell() >= size:
                break
            pool.seek(start)
            out.write(pool.read(length))


def divided(
    found: Iterable[tuple[str, bytes]], least: int = 0, end: str = ""
) -> Iterator[tuple[str, bytes]]:
    """Yield documents, the longer ones in parts that end at the first `end` behind `least` bytes."""
    for key, document in found:
        start = number = 0
        while end and (place := document.find(end.encode(), start + least)) >= 0:
            yield part_key(key, number), document[start : place + 1] + SEPARATOR.encode()
            start, number = place + len(end), number + 1
        if document[start:] != SEPARATOR.encode():
            yield part_key(key, number), document[start:]


def part_key(key: str, number: int) -> str:
    """Return the key of a part; that of the first is the key of the document."""
    return hashlib.sha256(f"{key}/{number}".encode()).hexdigest() if number else key


@contextmanager
def whole(path: Path, expected: str) -> Iterator[Path]:
    """Give a place for a file, which gets its name if it is the expected one; else leave nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        yield part
        check(part, path.name, expected)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def collect(
    files: dict[str, str], archives: dict[str, list[str]], downloads: Path, seen: set[bytes]
) -> Iterator[tuple[str, bytes]]:
    """Yield the documents that were not seen yet, each with the hash of its name."""
    for archive, pattern in files.items():
        print(f"reading {archive}", flush=True)
        for name, document in documents(fetched(archives[archive], downloads), re.compile(pattern)):
            digest = hashlib.sha256(document).digest()
            if digest not in seen:
                seen.add(digest)
                key = hashlib.sha256(f"{archive}/{name}".encode()).hexdigest()
                yield key, document + SEPARATOR.encode()


def documents(archive: Path, pattern: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and texts of the files whose names match, without those that are not text in UTF-8."""
    with archive.open("rb") as file:
        if archive.suffix == ".deb":
            to_data(file)
        with tarfile.open(fileobj=file, mode="r|*") as members:
            for member in members:
                content = (
                    members.extractfile(member)
                    if member.isfile() and pattern.search(member.name)
                    else None
                )
                text = plain(member.name, content.read()) if content else ""
                if text.strip() and "\0" not in text and SEPARATOR not in text:
                    yield member.name, text.encode()


def to_data(package: IO[bytes]) -> None:
    """Go to the files of a Debian package, which is an archive of three archives."""
    package.seek(len(b"!<arch>\n"))
    while not (header := package.read(60)).startswith(b"data.tar"):
        size = int(header[48:58])
        package.seek(size + size % 2, 1)


PAGE_BREAK = re.compile(r"\n+[^\n]*\[Page \w+\] *\n+(\f\n*(RFC [^\n]*\n+)?)?")
TRANSLATION = re.compile(r'^msgstr(?:\[\d+\])? ((?:"(?:[^"\\\n]|\\.)*"\n?)+)', re.MULTILINE)
ESCAPE = re.compile(r'"\n?|\\(.)')
TAG = re.compile("<[^<>]+>")
NOT_SHOWN = re.compile("(?is)<!--.*?-->|<(footer|head|header|info|script|style)[ >].*?</\\1>")
NEW_LINE = re.compile(
    r"(?i)<(/?(div|dd|dl|dt|h\d|item|li|note|ol|p|section|steps|table|td|th|title|tr|ul)|br)\b[^<>]*>"
)
EMPTY_LINES = re.compile(r"\s*\n\s*\n\s*")


def plain(name: str, content: bytes) -> str:
    """Return what a file says, or nothing if it is no text: of translations in .po and .json, these alone."""
    if name.endswith((".gz", ".dz")):
        content = gzip.decompress(content)
        name = name.rpartition(".")[0]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    words_of = {".po": translations, ".json": messages, ".html": page, ".page": page}
    return words_of.get(Path(name).suffix, without_page_breaks)(text)


def without_page_breaks(text: str) -> str:
    """Return a text without the heads and feet of the pages of an RFC."""
    return PAGE_BREAK.sub("\n\n", text)


def translations(text: str) -> str:
    """Return the translations of a .po file."""
    found = TRANSLATION.findall(text)[1:]  # the first is about the file
    said = (
        ESCAPE.sub(lambda it: {"n": "\n", "t": "\t", None: ""}.get(it[1], it[1]), one)
        for one in found
    )
    return joined(said)


def messages(text: str) -> str:
    """Return the messages of a JSON file, which are its values."""
    return joined(value for value in json.loads(text).values() if isinstance(value, str))


def joined(lines: Iterable[str]) -> str:
    """Return what has words, without tags."""
    return "\n".join(filter(None, (TAG.sub("", one).strip() for one in lines)))


def page(text: str) -> str:
    """Return what a page of HTML or Mallard shows."""
    in_lines = NEW_LINE.sub("\n", NOT_SHOWN.sub("", text))
    shown = html.unescape(TAG.sub("", in_lines))
    return EMPTY_LINES.sub("\n\n", shown).strip() + "\n"


def fetched(archive: Sequence[str], downloads: Path) -> Path:
    """Return the file with an archive, which is downloaded if it is not there."""
    place, expected = archive
    path = downloads / place.rsplit("/", 1)[-1]
    if path.exists():
        check(path, str(path), expected)
        return path
    with whole(path, expected) as part:
        if not any(download(f"{mirror}pool/{quote(place)}", part) for mirror in mirrors()):
            raise SystemExit(
                f"texts: {path.name} cannot be downloaded: get it elsewhere, put it into {downloads}"
            )
    return path


def mirrors() -> list[str]:
    """Return this machine's own mirrors, if it is a Debian, and the archive of all versions."""
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian"]
    own = (
        subprocess.run(targets, capture_output=True, text=True).stdout
        if APT_HELPER.exists()
        else ""
    )
    return [*dict.fromkeys(own.split()), SNAPSHOT]


def download(url: str, path: Path) -> bool:
    """Write what is at an address into a file, if it can be had; by apt, if that is there."""
    if APT_HELPER.exists():
        return not subprocess.run(
            [APT_HELPER, "download-file", url, path], capture_output=True
        ).returncode
    try:
        with urllib.request.urlopen(url) as answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except OSError:
        return False
    return True


def check(path: Path, name: str, expected: str) -> None:
    """Raise SystemExit if a file is not the expected one."""
    found = sha256(path)
    if found != expected:
        raise SystemExit(f"texts: {name} has the SHA-256 {found}, not {expected}")


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
