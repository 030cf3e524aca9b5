"""`normalizer`, `pre_tokenizer` and `decoder` of a `tokenizer.json` whose merges begin with characters, in;
the steps before merging and after decoding, out.

Such files replace spaces by U+2581, in a normalizer or in `Metaspace`; here, they remain spaces.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bpetite._internal.json import Json
from bpetite.formats.huggingface_steps import THEN, expressions_of, normalization_of, steps_of, types_of
from bpetite.normalization import Step
from bpetite.vocabulary import MARK

_PUTS_SPACES = frozenset(["Replace", "Prepend", "Space first"])

_TO_SPACES: Step = ("Replace", MARK, " ")


@dataclass(frozen=True)
class Before:
    """The steps that are applied to a text."""

    has_marks: bool
    """Whether spaces are replaced by U+2581."""
    normalization: tuple[Step, ...]
    pattern: str | None
    """The pattern, if the file has one."""
    puts_space: bool
    drops_space: bool | Literal["all"]


def is_of_characters(document: Any) -> bool:
    """Whether nothing spells a text as bytes, or loses text, so that tokens may be read as characters."""
    steps = [
        *steps_of(document.get("pre_tokenizer"), "pretokenizers"),
        *steps_of(document.get("normalizer"), "normalizers"),
    ]
    not_these = {"ByteLevel", "Whitespace", "WhitespaceSplit", "BertPreTokenizer"}
    return types_of(steps).isdisjoint(not_these) and all(isinstance(step, dict) for step in steps)


def before_of_characters(document: Any, decoder: Sequence[Any], *, falls_back: bool = True) -> Before:
    """Read these parts of a file; an error names the place.

    `falls_back` says whether bytes spell a character without a token, so that the decoder must join them.
    """
    steps = steps_of(document.get("normalizer"), "normalizers")
    normalization: list[Step] = []
    has_marks = False
    for step in steps:
        if has_marks and not _is(step, type="Prepend", prepend=MARK):
            raise ValueError("normalizer: a step after the one that replaces spaces is not supported")
        if _is(step, type="Replace", pattern={"String": " "}, content=MARK):
            has_marks = True
            normalization.append(_TO_SPACES)
        elif has_marks:
            normalization.append(("Prepend", " "))
        else:
            normalization += normalization_of(step)
    cuts: list[str] = []
    puts_space, split_at = False, None
    for number, step in enumerate(steps_of(document.get("pre_tokenizer"), "pretokenizers")):
        kind, place = (step.get("type") if isinstance(step, dict) else None, f"pre_tokenizer[{number}]")
        if has_marks and _is(step, type="Split", pattern={"String": " "}) and not step.get("invert"):
            continue  # No spaces are left.
        if kind == "Metaspace":
            scheme = _scheme(step, place)
            if cuts and scheme != "never":
                raise ValueError(f"{place}: Metaspace after other steps would insert spaces within the text")
            if not has_marks:
                normalization.append(_TO_SPACES)
            has_marks = True
            puts_space = scheme == "always"
            if scheme == "first":
                normalization.append(("Space first",))
            if step.get("split", True):
                cuts.append(" ?[^ ]+| ")
        elif kind in ("Digits", "Punctuation", "FixedLength", "Split"):
            cuts += expressions_of(step, place)
            split_at = place if kind == "Split" and not _is_without_spaces(step) else split_at
        else:
            where = "model.byte_fallback is on" if falls_back else "tokens are made of characters"
            raise ValueError(f"{place}: {kind!r:.80} is not supported where {where}")
    if split_at and has_marks:
        raise ValueError(f"{split_at}: a pattern is not supported where spaces are spelled U+2581")
    drops_space = _check_decoder(decoder, has_marks=has_marks, falls_back=falls_back)
    return Before(has_marks, tuple(normalization), THEN.join(cuts) or None, puts_space, drops_space)


def special_pieces(
    specials: Collection[str], flags: Mapping[str, Collection[str]], before: Before
) -> tuple[set[str], set[str]]:
    """Return the added tokens that are also pieces of the model.

    Those of U+2581 are: runs of spaces become them, while the character itself in a text is the added token.
    All others are cut out of a text before merging, so no merge ever involves them.
    """
    if any(
        step[0] not in _PUTS_SPACES or (step[0] == "Replace" and step != _TO_SPACES)
        for step in before.normalization
    ):
        return set(), set()
    plain = {text for text in specials if not flags.get(text)}
    marks = {text for text in plain if before.has_marks and set(text) == {MARK}}
    return marks, {text for text in plain if " " not in text and not (before.has_marks and MARK in text)}


def _scheme(step: Json, place: str) -> str:
    """Return when `Metaspace` inserts a space before a text."""
    if step.get("replacement", MARK) != MARK:
        raise ValueError(f"{place}.replacement is {step['replacement']!r:.80}; only U+2581 can be read")
    scheme = step.get("prepend_scheme")
    if scheme is None:
        scheme = "always" if step.get("add_prefix_space", True) else "never"
    if scheme not in ("always", "first", "never"):
        raise ValueError(f"{place}.prepend_scheme is {scheme!r:.80}")
    return str(scheme)


def _is(step: Any, **fields: object) -> bool:
    """Whether a step has these fields, whatever else."""
    return isinstance(step, dict) and all(step.get(name) == value for name, value in fields.items())


def _is_without_spaces(step: Json) -> bool:
    """Whether a step searches a text without spaces, so that it does not matter how they are spelled."""
    pattern = step.get("pattern")
    text = pattern.get("String") if isinstance(pattern, dict) and len(pattern) == 1 else None
    return isinstance(text, str) and not {" ", MARK} & set(text)


def _check_decoder(decoder: Sequence[Json], *, has_marks: bool, falls_back: bool) -> bool | Literal["all"]:
    """Refuse a decoder that does not restore the text; return which spaces at the beginning it removes."""
    if not decoder:
        return False
    left: list[str] = []
    writes_spaces = False
    drops_space: bool | Literal["all"] = False
    for step in decoder:
        kind = step.get("type") if isinstance(step, dict) else None
        if _is(step, type="Replace", pattern={"String": MARK}, content=" "):
            writes_spaces = True
        elif kind == "Metaspace":
            writes_spaces = True
            drops_space = "all" if _scheme(step, "decoder") != "never" else False
        elif _is(step, type="Strip", content=" ", start=1, stop=0):
            drops_space = True
        elif kind in ("ByteFallback", "Fuse"):
            left.append(str(kind))
        else:
            raise ValueError(f"decoder: {kind!r:.80} does not simply join tokens")
    if (falls_back and "ByteFallback" not in left) or writes_spaces != has_marks:
        raise ValueError("decoder: it does not restore the text of the tokens")
    return drops_space
