"""`pre_tokenizer` and `normalizer` of a `tokenizer.json` in, a pattern and a normalization out, and back.

A step that loses text, or cuts it in a way that cannot be reproduced exactly, is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from bpetite._engine import covers_all_text
from bpetite._internal.json import Json
from bpetite.formats.shared.fields import flag, typed
from bpetite.formats.shared.oniguruma import from_oniguruma, to_oniguruma
from bpetite.formats.shared.sequences import single_pattern
from bpetite.normalization import Step
from bpetite.patterns import PATTERNS, pattern_steps

THEN, SPACE, BYTES = "(?then)", "(?space)", "(?bytes)"
"""The separator of a pattern's steps, and the two steps that are not expressions (see docs/artifact.md)."""


_PUNCTUATION = (
    "(?!["
    "\u061d\u09fd\u0a76\u0c77\u0c84\u1b4e\u1b4f\u1b7d-\u1b7f\u2e43-\u2e63\U00010d6e\U00010ead\U00010ed0"
    "\U00010f55-\U00010f59\U00010f86-\U00010f89\U000113d4-\U000113d8\U0001144b-\U0001144f"
    "\U0001145a-\U0001145d\U00011660-\U0001166c\U000116b9\U0001183b\U00011944-\U00011946\U000119e2"
    "\U00011a3f-\U00011a46\U00011a9a-\U00011aa2\U00011b00-\U00011b09\U00011be1\U00011c41-\U00011c45"
    "\U00011c70\U00011c71\U00011ef7\U00011ef8\U00011f43-\U00011f4f\U00011fff\U00012ff1\U00012ff2"
    "\U00016d6d-\U00016d6f\U00016e97-\U00016e9a\U00016fe2\U0001e5ff\U0001e95e\U0001e95f"
    "])[\u166d\U000111c9"
    r"\p{P}!-/:-@\[-`{-~]"
)
"""The punctuation of `tokenizers`: its tables are older, and lack the excluded characters."""


def steps_of(value: object, key: str) -> list[Any]:
    """Return the steps of a sequence; any other value is a single step, and None is no step.

    >>> steps_of({"type": "Sequence", "normalizers": [{"type": "NFC"}]}, "normalizers")
    [{'type': 'NFC'}]
    """
    if value is None:
        return []
    if isinstance(value, dict) and value.get("type") == "Sequence" and isinstance(value.get(key), list):
        return [inner for step in value[key] for inner in steps_of(step, key)]
    return [value]


def types_of(steps: Iterable[object]) -> set[str | None]:
    """Return the types of steps that are objects; None stands for a type that is no string.

    >>> types_of([{"type": "NFC"}, 5]), types_of([{"type": []}])
    ({'NFC'}, {None})
    """
    types = (step.get("type") for step in steps if isinstance(step, dict))
    return {kind if isinstance(kind, str) else None for kind in types}


# The pattern -----------------------------------------------------------------------------------------------


def pattern_of(pre_tokenizer: object) -> str:
    """Return the pattern that cuts text as a `pre_tokenizer` does; an error names the place in the file.

    >>> pattern_of({"type": "Sequence", "pretokenizers": [
    ...     {"type": "Digits", "individual_digits": True},
    ...     {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]})
    '\\\\p{N}'
    """
    expressions: list[str] = []
    bytes_from: int | None = None
    for index, value in enumerate(steps_of(pre_tokenizer, "pretokenizers")):
        place = f"pre_tokenizer[{index}]"
        step = typed(value, dict, place if index else "pre_tokenizer")
        if step.get("type") != "ByteLevel":
            expressions += expressions_of(step, place)
            continue
        if bytes_from is not None:
            raise ValueError(f"{place}: a second ByteLevel would replace bytes by characters twice")
        if flag(step, place, "add_prefix_space", default=True):
            expressions.append(SPACE)
        if flag(step, place, "use_regex", default=True):
            expressions.append(PATTERNS["gpt2"])
        bytes_from = len(expressions)
    if bytes_from is None:
        raise ValueError(
            "pre_tokenizer: there is no step ByteLevel, so the tokens are made of characters, not bytes"
        )
    before, behind = expressions[:bytes_from], expressions[bytes_from:]
    return _joined(before, [BYTES, *behind] if behind else [])


def _joined(before: list[str], behind: list[str]) -> str:
    if not before and not behind:
        return PATTERNS["none"]
    single = single_pattern([_with_escapes(expression) for expression in before]) if len(before) > 1 else None
    return THEN.join([single, *behind] if single else [*before, *behind])


def _with_escapes(expression: str) -> str:
    """Write line breaks in a pattern as escapes."""
    return expression.replace("\r", r"\r").replace("\n", r"\n")


def expressions_of(step: Json, place: str) -> list[str]:
    """Return the expressions for a step: one or none."""
    kind = step.get("type")
    if kind == "Digits":
        return [r"\p{N}" if flag(step, place, "individual_digits", default=False) else r"\p{N}+"]
    if kind == "Punctuation":
        return [_cutting(_PUNCTUATION, str(step.get("behavior", "Isolated")), place, invert=False)]
    if kind == "Split":
        return [_split(step, place)]
    if kind == "FixedLength" and type(length := step.get("length")) is int and 0 < length < 1000:
        return [rf"[\s\S]{{1,{length}}}"]
    if kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "CharDelimiterSplit"):
        raise ValueError(f"{place}: {kind} drops the text that it splits at; decoding cannot restore it")
    raise ValueError(f"{place}: {kind!r:.80} is not supported; Split, Digits, Punctuation and ByteLevel are")


def _split(step: Json, place: str) -> str:
    behavior = step.get("behavior")
    expression = _expression(step, place, cuts=behavior == "Isolated")
    return _cutting(expression, str(behavior), place, invert=flag(step, place, "invert"))


def _expression(step: Json, place: str, *, cuts: bool = False) -> str:
    """Read what a step searches, in our syntax; a pattern without an equivalent is refused."""
    source = typed(step.get("pattern"), dict, f"{place}.pattern")
    [(kind, written)] = source.items() if len(source) == 1 else [("", "")]
    if kind not in ("Regex", "String"):
        raise ValueError(f"{place}.pattern must be a Regex or a String")
    if not typed(written, str, f"{place}.pattern.{kind}"):
        raise ValueError(f"{place}.pattern.{kind} is empty")
    if kind == "String":
        return re.sub(r"[!-/:-@\[-^`{-~]", r"\\\g<0>", written)
    try:
        return from_oniguruma(written, cuts=cuts)
    except ValueError as reason:
        raise ValueError(f"{place}.pattern: {reason}") from None


def _cutting(expression: str, behavior: str, place: str, *, invert: bool) -> str:
    """Return a pattern that cuts as an expression with a `behavior` does.

    `invert` exchanges matches and gaps. It makes no difference where both are isolated or contiguous, and
    exchanges the two ways to merge a match with its neighbour.
    """
    once = f"(?>{expression})"
    gap = rf"(?:(?!{expression})[\s\S])*+"
    if behavior == "Isolated":
        return expression
    if behavior == "Contiguous":
        return f"(?:{once})++"
    if behavior in ("MergedWithPrevious", "MergedWithNext"):
        return once + gap if (behavior == "MergedWithNext") != invert else gap + once
    if behavior != "Removed":
        raise ValueError(f"{place}.behavior {behavior!r:.80} is not known")
    if not invert:
        raise ValueError(f"{place}: Removed drops what the pattern matches; Isolated would keep it")
    if not covers_all_text(expression):
        raise ValueError(
            f"{place}: Removed drops text that the pattern does not match; Isolated would keep it"
        )
    return expression


def pre_tokenizer_of(pattern: str) -> Json:
    """Return a `pre_tokenizer` that cuts text as a pattern does; a pattern without one is refused.

    >>> pre_tokenizer_of(PATTERNS["none"])["use_regex"]
    False
    """
    if pattern == PATTERNS["none"]:
        return _byte_level()
    steps = pattern_steps(pattern)
    bytes_from = steps.index(BYTES) if BYTES in steps else len(steps)
    before, behind = steps[:bytes_from], steps[bytes_from + 1 :]
    use_regex = before[-1:] == [PATTERNS["gpt2"]]
    before = before[: len(before) - use_regex]
    add_prefix_space = before[-1:] == [SPACE]
    before = before[: len(before) - add_prefix_space]
    if SPACE in before:
        raise ValueError("a tokenizer.json cannot put spaces into a text before it is cut by other patterns")
    byte_level = _byte_level(use_regex=use_regex, add_prefix_space=add_prefix_space)
    written = [*map(_written_split, before), byte_level, *map(_written_split, behind)]
    return written[0] if len(written) == 1 else {"type": "Sequence", "pretokenizers": written}


def _written_split(expression: str) -> Json:
    pattern = {"Regex": to_oniguruma(expression)}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def _byte_level(*, use_regex: bool = False, add_prefix_space: bool = False) -> Json:
    flags = {"add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}
    return {"type": "ByteLevel", **flags}


# The normalization -----------------------------------------------------------------------------------------


def normalization_of(normalizer: object) -> tuple[Step, ...]:
    """Return the steps of a `normalizer`.

    >>> normalization_of({"type": "Strip", "strip_left": True, "strip_right": False})
    (('Strip left',),)
    """
    steps = steps_of(normalizer, "normalizers")
    return tuple(read for step in steps for read in _normalization_step(typed(step, dict, "normalizer")))


def _normalization_step(step: Json) -> list[Step]:
    match step.get("type"):
        case "NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "StripAccents" as name:
            return [(name,)]
        case "Strip":
            sides = ("left", "right")
            return [
                (f"Strip {side}",)
                for side in sides
                if flag(step, "normalizer", f"strip_{side}", default=True)
            ]
        case "Prepend":
            prefix = typed(step.get("prepend"), str, "normalizer.prepend")
            return [("Prepend", prefix)] if prefix else []
        case "Replace":
            content = typed(step.get("content"), str, "normalizer.content")
            return [("Replace", _expression(step, "normalizer"), content)]
        case other:
            raise ValueError(
                f"normalizer: {other!r:.80} changes text in a way that only its own library can reproduce"
            )


def normalizer_of(normalization: Sequence[Step]) -> Json | None:
    """Return a `normalizer` with the steps of a normalization.

    >>> normalizer_of([("NFC",)])
    {'type': 'NFC'}
    """
    written = [_written_normalizer(*step) for step in normalization]
    if not written:
        return None
    return written[0] if len(written) == 1 else {"type": "Sequence", "normalizers": written}


def _written_normalizer(name: str, *arguments: str) -> Json:
    if name == "Prepend":
        return {"type": "Prepend", "prepend": arguments[0]}
    if name == "Replace":
        return {"type": "Replace", "pattern": {"Regex": to_oniguruma(arguments[0])}, "content": arguments[1]}
    if name.startswith("Strip "):
        return {"type": "Strip", "strip_left": name == "Strip left", "strip_right": name == "Strip right"}
    return {"type": name}
