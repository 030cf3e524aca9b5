"""What the pages name exists: files, folders, commands, targets of make, and names of the code."""

import importlib
import pydoc
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from bpetite.cli import COMMANDS

PROJECT = Path(__file__).parents[2]
GENERATED = {"benchmarks.md", "models.md"}
"""Pages that programs write, which name what others call theirs."""

PAGES = [
    PROJECT / "README.md",
    PROJECT / "ARCHITECTURE.md",
    PROJECT / "CONTRIBUTING.md",
    PROJECT / "SECURITY.md",
    *(page for page in sorted((PROJECT / "docs").rglob("*.md")) if page.name not in GENERATED),
]
IDS = [str(page.relative_to(PROJECT)) for page in PAGES]

MAPS = {"ARCHITECTURE.md", "CONTRIBUTING.md"}
"""Pages on which each folder is one of this project; on others it may be a user's."""

OF_OTHERS = {
    "tokenizers.Tokenizer": {"get_vocab"},
    "tokenizers.normalizers": {"Nmt", "BertNormalizer", "Precompiled"},
    "tokenizers.pre_tokenizers": {"Whitespace"},
    "tokenizers.models": {"Unigram", "WordPiece", "WordLevel"},
}
"""Names of other libraries that pages give without the library; they are looked up there."""

OF_SYSTEMS = {
    "O_DIRECT",
    "TMPDIR",
    "__cause__",
    "fallocate",
    "mremap",
    "nmt_nfkc",  # a rule of SentencePiece
    "tiny_aya",  # a pattern of llama.cpp
}
"""Names of operating systems, of Python itself and of programs that cannot be imported."""

SOURCE_ENDINGS = (".py", ".pyi", ".rs", ".js", ".html", ".css", ".toml", ".yml", ".sh")


@cache
def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    if not names:  # an unpacked archive has no history
        names = [str(path.relative_to(PROJECT)) for path in PROJECT.rglob("*") if path.is_file()]
    return [name for name in names if name and (PROJECT / name).exists()]


@cache
def words_of_the_code() -> frozenset[str]:
    """Return the words of the product, the benchmarks, the tools and the build; tests may name anything."""
    words: set[str] = set()
    for name in tracked():
        is_source = name.endswith(SOURCE_ENDINGS) or name in ("Makefile", ".ci/run")
        if is_source and not name.startswith("tests/"):
            words.update(re.findall(r"\w+", (PROJECT / name).read_text("utf-8")))
    return frozenset(words)


@cache
def is_known(name: str) -> bool:
    """Whether the code has all parts of a dotted name, or another library has the name."""
    parts = re.split(r"\.|::", name)
    words = words_of_the_code()
    if all(part in words or part in OF_SYSTEMS for part in parts):
        return True
    if any(name in names for names in OF_OTHERS.values()):
        return True
    try:
        module = importlib.import_module(parts[0])
    except ImportError:
        return False
    return hasattr(module, parts[1]) if len(parts) > 1 else True


def test_names_of_other_libraries_are_theirs() -> None:
    for owner, names in OF_OTHERS.items():
        assert [name for name in names if pydoc.locate(f"{owner}.{name}") is None] == []


def spans(page: Path) -> list[str]:
    """What stands in backticks within a line, without blocks of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return list(dict.fromkeys(re.findall(r"`([^`\n]+)`", text)))


def commands(page: Path) -> Iterator[str]:
    """Lines that a user may type: in blocks, and what stands in backticks."""
    text = page.read_text("utf-8")
    for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"^    (.+)$", text, flags=re.MULTILINE)
    yield from spans(page)


def is_file_of_ours(span: str) -> bool:
    """Whether a span names a file of source code or a page: data files in examples are the users'."""
    return bool(re.fullmatch(r"[\w./*{},-]*\w[\w.*{},-]*\.(py|pyi|rs|md|toml|yml|sh|js|tsv)", span))


def exists(span: str, page: Path) -> bool:
    """Whether a file or folder of this name, or one that ends so, is in the tree."""
    beside = str((page.parent / span).resolve().relative_to(PROJECT)) if ".." in span else span
    pattern = beside.rstrip("/")
    folders = {str(parent) for name in tracked() for parent in Path(name).parents}
    candidates = folders if span.endswith("/") else tracked()
    return any(fnmatch(name, pattern) or fnmatch(name, f"*/{pattern}") for name in candidates)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    files = [span for span in spans(page) if is_file_of_ours(span)]
    if page.name in MAPS:
        files += [span for span in spans(page) if re.fullmatch(r"[\w./-]+/", span)]
    assert [span for span in files if not exists(span, page)] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_name_of_code_that_a_page_uses_exists(page: Path) -> None:
    """A name has no spaces: `Sink`, `with_ids`, `Stages::sections`, `Tokenizer.load("x.json")`."""
    missing = []
    for span in spans(page):
        called = re.sub(r"\(.*\)$", "", span)
        if not re.fullmatch(r"[A-Za-z_]\w*((\.|::)[A-Za-z_]\w*)*", called) or is_file_of_ours(span):
            continue
        is_plain_word = called == span and re.fullmatch(r"[a-z]+", called)
        if not is_plain_word and not is_known(called):
            missing.append(span)
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    )
    for line in commands(page):
        if match := re.match(r"bpetite ([a-z][a-z-]+)\b(?!\.)", line):
            assert match[1] in COMMANDS, line
        if match := re.match(r"make ([a-z-]+)", line):
            assert match[1] in targets, line
        if match := re.search(r"python -m (bench|fuzz|bpetite)((?:\.\w+)*)", line):
            module = PROJECT / Path(
                match[1] if match[1] != "bpetite" else "src/bpetite", *match[2].split(".")[1:]
            )
            assert module.with_suffix(".py").exists() or (module / "__main__.py").exists(), line


def test_the_site_has_each_page_once_in_its_navigation() -> None:
    navigation = (PROJECT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    docs = PROJECT / "docs"
    pages = [page.relative_to(docs).as_posix() for page in docs.rglob("*.md")]
    assert sorted(re.findall(r": (\S+\.md)$", navigation, flags=re.MULTILINE)) == sorted(pages)


FIGURES = [
    # page, words around the figure, file, the line of the code, and how its value is written
    (
        "docs/encoding.md",
        "for {} entries a token",
        "rust/src/encode/cache.rs",
        "const PER_TOKEN: usize = {};",
    ),
    (
        "docs/encoding.md",
        "at most 1/{} of the memory of the machine",
        "rust/src/encode/cache.rs",
        "PART_OF_MACHINE: usize = {};",
    ),
    (
        "docs/encoding.md",
        "at least {} MiB and at most 1 GiB",
        "rust/src/encode/cache.rs",
        "LEAST_MEMORY: usize = {} << 20;",
    ),
    (
        "docs/encoding.md",
        "({} MiB on macOS and Windows)",
        "rust/src/encode/cache.rs",
        "USUAL_MEMORY: usize = {} << 20;",
    ),
    (
        "docs/encoding.md",
        "more than {} bytes are not cached",
        "rust/src/encode/cache.rs",
        "LONGEST: usize = {};",
    ),
    (
        "SECURITY.md",
        "The last {} MB of memory",
        "rust/src/memory/mod.rs",
        "const SPARE: usize = {} << 20;",
    ),
    (
        "docs/reliability.md",
        "leaves {} MB free",
        "rust/src/memory/mod.rs",
        "const SPARE: usize = {} << 20;",
    ),
    (
        "docs/scale.md",
        "is allowed {} MB",
        "src/bpetite/reading/memory_limit.py",
        "_OF_THREAD = {} << 20",
    ),
    (
        "docs/scale.md",
        "encoder's cache\nthen takes {} MiB",
        "src/bpetite/reading/memory_limit.py",
        "CACHE = {} << 20",
    ),
]


@pytest.mark.parametrize(
    ("page", "words", "file", "line"), FIGURES, ids=[row[1] for row in FIGURES]
)
def test_figures_on_pages_are_those_of_the_code(
    page: str, words: str, file: str, line: str
) -> None:
    found = re.search(
        re.escape(words).replace(r"\{\}", r"(\d+)"), (PROJECT / page).read_text("utf-8")
    )
    there = re.search(
        re.escape(line).replace(r"\{\}", r"(\d+)"), (PROJECT / file).read_text("utf-8")
    )
    assert found is not None
    assert there is not None
    megabytes = int(there[1]) * 1.048576 if words.endswith("{} MB") else int(there[1])
    assert int(found[1]) == int(megabytes)


def test_sizes_on_pages_are_those_of_the_code() -> None:
    from bpetite._internal import files
    from bpetite.reading.options import Reading

    security = (PROJECT / "SECURITY.md").read_text("utf-8")
    syntax = (PROJECT / "rust/src/pretokenize/syntax/mod.rs").read_text("utf-8")
    vocabulary = (PROJECT / "rust/src/vocabulary/check.rs").read_text("utf-8")
    assert "8,192 bytes" in security
    assert "const MOST_BYTES: usize = 1 << 13;" in syntax
    assert "2²⁸ bytes together" in security
    assert "const MOST_BYTES: usize = 1 << 28;" in vocabulary
    assert "more than 2³⁰ bytes" in security
    assert files.MOST_READ == 2**30
    assert "`--max-document` (1 GiB" in (PROJECT / "docs/scale.md").read_text("utf-8")
    assert Reading.max_document == 2**30
