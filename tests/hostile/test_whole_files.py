"""Files that replace others: whatever writes one keeps the permissions, and errors name what failed."""

import contextlib
import errno
import gzip
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from bpetite import Counts, Tokenizer, cs336
from bpetite._internal.files import write_all, write_whole
from bpetite.cli import run
from bpetite.corpus.manifest import Journal

CORPUS = "the cat sat on the mat, the bat sat on the hat\n" * 20

posix = pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")


def command(*arguments: object) -> None:
    assert run(list(map(str, arguments))) == 0


def convert(kind: str, model: Path, out: Path) -> None:
    command("convert", model, out, "--to", kind, "--force")


WRITERS: dict[str, Callable[[Path, Path], object]] = {
    "save": lambda model, out: Tokenizer.load(model).save(out, overwrite=True),
    "to_tiktoken": lambda model, out: Tokenizer.load(model).to_tiktoken(out, overwrite=True),
    "to_huggingface": lambda model, out: Tokenizer.load(model).to_huggingface(out, overwrite=True),
    "save_folder": lambda model, out: Tokenizer.load(model).save_folder(out, overwrite=True),
    "to_gpt2": lambda model, out: Tokenizer.load(model).to_gpt2(
        out / "vocab.json", out / "merges.txt", overwrite=True
    ),
    "cs336.save": lambda model, out: cs336.save(
        {byte: bytes([byte]) for byte in range(256)},
        [],
        out / "vocab.json",
        out / "merges.txt",
        overwrite=True,
    ),
    "save_original": lambda model, out: Tokenizer.load(
        model.with_name("tokenizer.json")
    ).save_original(out, overwrite=True),
    "Counts.save": lambda model, out: Counts.from_iterator([CORPUS]).save(out, overwrite=True),
    "train": lambda model, out: command(
        "train",
        "--input",
        model.with_name("c.txt"),
        "--vocab-size",
        270,
        "--output",
        out,
        "--force",
    ),
    "count": lambda model, out: command(
        "count", "--input", model.with_name("c.txt"), "--output", out, "--force"
    ),
    "merge-counts": lambda model, out: command(
        "merge-counts", "--counts", model.with_name("counts"), "--output", out, "--force"
    ),
    "report": lambda model, out: command(
        "report", model, "--input", model.with_name("c.txt"), "--output", out, "--force"
    ),
    **{
        f"convert to {kind}": partial(convert, kind)
        for kind in ("bpetite", "tiktoken", "huggingface", "gpt2")
    },
}
"""What writes over files that exist."""

FOLDERS = {"save_folder", "to_gpt2", "cs336.save", "convert to gpt2", "convert to huggingface"}
"""Those that write several files into a folder."""


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    (folder / "c.txt").write_text(CORPUS)
    tok = Tokenizer.train(CORPUS, 270)
    tok.save(folder / "tok.json")
    tok.to_huggingface(folder / "tokenizer.json")
    Counts.from_iterator([CORPUS]).save(folder / "counts")
    return folder / "tok.json"


@posix
@pytest.mark.parametrize("writer", WRITERS)
def test_a_replaced_file_keeps_its_permissions_and_a_new_one_follows_the_umask(
    model: Path, tmp_path: Path, writer: str
) -> None:
    out = tmp_path / "out"
    if writer in FOLDERS:
        out.mkdir()

    def modes() -> set[int]:
        written = list(out.iterdir()) if out.is_dir() else [out]
        assert written
        return {stat.S_IMODE(path.stat().st_mode) for path in written}

    with umask(0o027):
        WRITERS[writer](model, out)
    assert modes() == {0o640}
    for mode in (0o600, 0o444, 0o666):
        for path in list(out.iterdir()) if out.is_dir() else [out]:
            path.chmod(mode)
        WRITERS[writer](model, out)
        assert modes() == {mode}


@posix
def test_a_private_file_is_private_while_it_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("old")
    (tmp_path / "key").chmod(0o600)
    with umask(0), write_whole(tmp_path / "key", overwrite=True) as file:
        file.write(b"new")
        file.flush()
        [part] = [path for path in tmp_path.iterdir() if path.name != "key"]
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_what_fails_while_a_file_is_written_keeps_its_own_name(tmp_path: Path) -> None:
    """Errors with a name, without one, and without a number."""
    for error in (
        FileNotFoundError(2, "No such file", "corpus.txt"),
        ConnectionResetError(104, "Connection reset by peer"),
        gzip.BadGzipFile("not a gzipped file"),
    ):
        with pytest.raises(type(error)) as caught, write_whole(tmp_path / "out"):
            raise error
        assert caught.value is error
        assert str(tmp_path) not in str(error)
    assert list(tmp_path.iterdir()) == []


def without_hard_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*names: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


def test_a_file_that_appears_meanwhile_is_not_replaced_on_any_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for has_links in (True, False):
        if not has_links:
            without_hard_links(monkeypatch)
        path = tmp_path / f"with links {has_links}"

        def write_late(path: Path = path) -> None:
            with write_whole(path) as file:
                file.write(b"ours")
                path.write_bytes(b"theirs")

        with pytest.raises(FileExistsError, match="exists already"):
            write_late()
        assert path.read_bytes() == b"theirs"
        write_all({tmp_path / f"new {has_links}": b"ours"})
        assert (tmp_path / f"new {has_links}").read_bytes() == b"ours"
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(
    ("number", "continues"),
    [(errno.EWOULDBLOCK, False), (errno.EIO, False), (errno.ENOSYS, True), (errno.ENOLCK, True)],
)
def test_a_lock_that_fails_says_why(
    number: int, continues: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    if continues:
        with pytest.warns(RuntimeWarning, match="this file system cannot lock files"):
            Journal(tmp_path).close()
        return
    with pytest.raises((OSError, ValueError)) as refused:
        Journal(tmp_path)
    is_other_process = number == errno.EWOULDBLOCK
    assert ("another process is writing to it" in str(refused.value)) == is_other_process
    assert str(tmp_path) in str(refused.value)
    assert (os.strerror(number) in str(refused.value)) != is_other_process


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_errors_of_writing_name_the_file_and_not_its_temporary_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk at each moment: when the file is created, written, brought to the disk, and renamed."""
    real_open = os.open

    def full(path: str, *arguments: int, **more: int) -> int:
        return real_open("/dev/full" if str(path).endswith(".part") else path, os.O_WRONLY)

    def fails(*arguments: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    def write(size: int) -> None:
        write_all({tmp_path / "out": b"x" * size})

    for name, replacement, size in (
        ("open", fails, 1),
        ("open", full, 1),
        ("open", full, 1 << 20),
        ("fsync", fails, 1),
        ("link", lambda *names: fails(), 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, replacement)
            if name == "link":
                patch.setattr(os, "replace", fails)
            with pytest.raises(OSError, match="No space left on device") as caught:
                write(size)
        assert caught.value.filename == str(tmp_path / "out"), name
    assert list(tmp_path.iterdir()) == []
