"""Names of files in, their parts out; and a name here ↔ the same in files and results, in every locale.

A name is bytes, which Python decodes by the locale. Files hold it decoded as UTF-8; a byte that is
not UTF-8 becomes a lone surrogate, as in Python itself where the locale is UTF-8, and an escape
such as `\\udcff` in JSON.
"""

import os


def last_part(path: str) -> str:
    """Return the name of a file or folder without the folders before it.

    >>> last_part("model/tokenizer.json"), last_part("model/")
    ('tokenizer.json', 'model')
    """
    return os.path.basename(path.rstrip("".join(_separators())))


def is_folder_name(path: str) -> bool:
    """Whether a path is written like that of a folder.

    >>> is_folder_name("model/"), is_folder_name("model/tokenizer.json")
    (True, False)
    """
    return path.endswith(_separators())


def is_folder(path: str) -> bool:
    """Whether a path is that of a folder, or written like one: nothing is written to it as to a file.

    >>> is_folder("new/"), is_folder("new"), is_folder(os.curdir)
    (True, False, True)
    """
    return is_folder_name(path) or os.path.isdir(path)


def _separators() -> tuple[str, ...]:
    return (os.path.sep,) if os.path.altsep is None else (os.path.sep, os.path.altsep)


def recorded(name: str) -> str:
    """Return a name as it stands in files."""
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:  # the name of no file here, such as a URL
        return name
    return encoded.decode("utf-8", "surrogateescape")


def local(name: str) -> str:
    """Return a recorded name as this process opens it."""
    return os.fsdecode(name.encode("utf-8", "surrogateescape"))
