"""Reads the pattern and the normalization of a `tokenizer.json`, and writes them.

A step that loses text, or cuts it in a way that cannot be reproduced exactly, is refused with the
reason. Of files whose merges begin with characters, the `decoder` is read, too: they replace spaces
by U+2581, in a normalizer or in `Metaspace`; here, these remain spaces.
"""

import base64
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from bpetite._constants import BYTES, SPACE, Pattern
from bpetite._engine import avoids, covers_all_text, read_pattern, same_pattern
from bpetite._internal.json import Json, flag, typed
from bpetite.encoding.template import AnyTemplate, OtherTemplate, template_of
from bpetite.formats.shared.character_map import replaced_texts
from bpetite.formats.shared.printable import printable_or_text
from bpetite.normalization import MAPS, Step
from bpetite.patterns import CL100K, PATTERNS, SINGLE, checked_pattern, is_word, pattern_steps
from bpetite.vocabulary import MARK, DropsSpace

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
    if isinstance(value, dict) and value.get("type") == "Sequence":
        steps = value.get(key)
        if isinstance(steps, list):
            return [inner for step in steps for inner in steps_of(step, key)]
    return [value]


def types_of(steps: Iterable[object]) -> set[str | None]:
    """Return the types of steps that are objects; None stands for a type that is no string.

    >>> types_of([{"type": "NFC"}, 5]), types_of([{"type": []}])
    ({'NFC'}, {None})
    """
    types = (step.get("type") for step in steps if isinstance(step, dict))
    return {kind if isinstance(kind, str) else None for kind in types}


# The template
# ------------------------------------------------------------------------------------------

Outside = tuple[int, int, str]
"""A token that is not of a text: its id, its type and how it is spelled."""


def template_parts(processor: Json) -> list[Outside | int]:
    """Return the tokens that a processor puts around a text, and instead of the text the type that it gets.

    >>> template_parts({"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]})
    [(0, 0, '<s>'), 0, (2, 0, '</s>')]
    """
    kind = processor["type"]
    if kind == "ByteLevel":
        return [0]
    if kind in ("BertProcessing", "RobertaProcessing"):
        first, first_id = processor["cls"]
        last, last_id = processor["sep"]
        return [(first_id, 0, first), 0, (last_id, 0, last)]
    parts: list[Outside | int] = []
    if kind != "TemplateProcessing":
        return parts
    for part in processor["single"]:
        if "Sequence" not in part:
            special = part["SpecialToken"]
            token = processor["special_tokens"][special["id"]]
            types = [special["type_id"]] * len(token["ids"])
            parts += zip(token["ids"], types, token["tokens"], strict=True)
        elif part["Sequence"]["id"] == "A":
            parts.append(part["Sequence"]["type_id"])
        else:
            parts += [0, 0]  # A second text, which there is not, is no part of a template of ours.
    return parts


def template_in(post_processor: object, is_known: Callable[[object], bool]) -> AnyTemplate:
    """Return the template of a file's `post_processor`; the ids of its tokens must be known.

    >>> processor = {"type": "BertProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]}
    >>> template_in(processor, is_known={0, 2}.__contains__)
    Template(prefix=(0,), suffix=(2,))
    """
    steps = [step for step in steps_of(post_processor, "processors") if step is not None]
    templates = [step for step in steps if types_of([step]) != {"ByteLevel"}]
    if len(templates) > 1:
        return OtherTemplate(
            "post_processor has several templates, each for the texts of the one before"
        )
    if not templates:
        return None
    try:
        parts = template_parts(templates[0])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return OtherTemplate(
            f"post_processor is {templates[0]!r:.80}, which is not a template that is known"
        )
    texts = [place for place, part in enumerate(parts) if isinstance(part, int)]
    if len(texts) != 1:
        return OtherTemplate("post_processor does not put tokens around one text")
    ids = [part[0] for part in parts if not isinstance(part, int)]
    for token_id in ids:
        if not is_known(token_id):
            return OtherTemplate(
                f"post_processor puts id {token_id!r:.80} around a text, which no token has"
            )
    return template_of(ids[: texts[0]], ids[texts[0] :])


# The pattern
# -------------------------------------------------------------------------------------------


class Cuts(NamedTuple):
    """What a `pre_tokenizer` does to a text."""

    pattern: Pattern

    left_out: str | None = None
    """The characters that it removes, as a set."""


class _Cut(NamedTuple):
    """What a step does to pieces."""

    expressions: Sequence[str]

    left_out: str | None = None
    """The characters that it removes, as a set; the expressions keep them apart from others."""


def cuts_of(pre_tokenizer: object) -> Cuts:
    """Return how a `pre_tokenizer` cuts text; an error names the place in the file.

    >>> cuts_of({"type": "Sequence", "pretokenizers": [
    ...     {"type": "Digits", "individual_digits": True},
    ...     {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]}).pattern
    '\\\\p{N}'
    """
    expressions: list[str] = []
    left_out: str | None = None
    bytes_from: int | None = None
    for index, value in enumerate(steps_of(pre_tokenizer, "pretokenizers")):
        place = f"pre_tokenizer[{index}]"
        step = typed(value, dict, place if index else "pre_tokenizer")
        if step.get("type") != "ByteLevel":
            cut = cut_of(step, place)
            left_out = both_left_out(left_out, cut, place)
            expressions += cut.expressions
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
    if not expressions:
        return Cuts(PATTERNS["none"])
    before, behind = expressions[:bytes_from], expressions[bytes_from:]
    escaped = [written.replace("\r", r"\r").replace("\n", r"\n") for written in before]
    single = SINGLE.get(tuple(escaped))
    cuts = [single] if single else before
    if left_out is not None:
        _check_removed(left_out, expressions, behind)
    return Cuts(checked_pattern([*cuts, BYTES, *behind] if behind else cuts), left_out)


def _check_removed(left_out: str, expressions: Sequence[str], behind: Sequence[str]) -> None:
    """Refuse steps after which pieces are of removed characters that were not, or the reverse."""
    if behind:
        raise ValueError(
            "pre_tokenizer: a pattern for bytes is not supported after text is removed"
        )
    if SPACE in expressions and not covers_all_text(rf"{left_out}|\S"):
        raise ValueError(
            "pre_tokenizer: add_prefix_space is only supported after text is removed if that is all "
            "white space"
        )


def both_left_out(before: str | None, cut: _Cut, place: str) -> str | None:
    """Return what steps remove; two that remove different characters are refused."""
    if cut.left_out is None or before in (None, cut.left_out):
        return cut.left_out or before
    raise ValueError(
        f"{place} removes {cut.left_out!r:.80}, and a step before it {before!r:.80}: only one set of "
        "characters can be left out"
    )


_REMOVING = {
    "Whitespace": [r"\w+|[^\w\s]+"],
    "WhitespaceSplit": [r"\s+"],
    "BertPreTokenizer": [r"\s+", _PUNCTUATION],
}
"""The steps that remove white space, and how they cut what is left, in the syntax of Rust or ours."""


_DELIMITED = "CharDelimiterSplit"


def cut_of(step: Json, place: str) -> _Cut:
    """Return the expressions for a step, one or none, and the characters that it removes."""
    kind = step.get("type")
    if kind in _REMOVING:
        first, *others = _REMOVING[str(kind)]
        return _Cut([read_pattern(first, "rust"), *others], read_pattern(r"\s", "rust"))
    if kind == _DELIMITED:
        delimiter = typed(step.get("delimiter"), str, f"{place}.delimiter")
        if len(delimiter) != 1:
            raise ValueError(f"{place}.delimiter is {delimiter!r:.80}, not a character")
        return _removed(_escaped(delimiter), place, invert=False)
    if kind == "Split" and step.get("behavior") == "Removed":
        return _removed(_expression(step, place), place, invert=flag(step, place, "invert"))
    return _Cut(_expressions_of(step, place))


def _removed(expression: str, place: str, *, invert: bool) -> _Cut:
    """Return what removes the matches of an expression, or all text between them.

    What is removed must be known by its characters, because pieces are all that remains.
    """
    if invert and covers_all_text(expression):
        return _Cut([expression])
    if invert:
        white_space = read_pattern(r"\s", "rust")
        with suppress(ValueError):
            if covers_all_text(f"(?:{expression})|{white_space}") and avoids(
                expression, white_space
            ):
                return _Cut([expression], white_space)
    else:
        characters = expression.removesuffix("+")
        with suppress(ValueError):  # It is no set.
            avoids(characters, characters)
            return _Cut([expression], characters)
    removed = "all between its matches" if invert else "its matches"
    raise ValueError(
        f"{place}: Removed drops {removed}, which is only supported for runs of characters of a set; "
        "Isolated would keep them"
    )


def _expressions_of(step: Json, place: str) -> list[str]:
    """Return the expressions for a step that keeps all text."""
    kind = step.get("type")
    if kind == "Digits":
        return [r"\p{N}" if flag(step, place, "individual_digits", default=False) else r"\p{N}+"]
    if kind == "Punctuation":
        behavior = str(step.get("behavior", "Isolated"))
        return [_cutting(_PUNCTUATION, behavior, place, invert=False)]
    if kind == "Split":
        expression = _expression(step, place, cuts=step.get("behavior") == "Isolated")
        if is_word(expression):
            expression = (
                f"(?:{expression})"  # A word alone would be taken for the name of a pattern.
            )
        invert = flag(step, place, "invert")
        return [_cutting(expression, str(step.get("behavior")), place, invert=invert)]
    if kind == "FixedLength" and type(length := step.get("length")) is int and 0 < length < 1000:
        return [rf"[\s\S]{{1,{length}}}"]
    raise ValueError(
        f"{place}: {kind!r:.80} is not supported; Split, Digits, Punctuation and ByteLevel are"
    )


def _expression(step: Json, place: str, *, cuts: bool = False) -> str:
    """Read what a step searches, in our syntax; a pattern without an equivalent is refused."""
    source = typed(step.get("pattern"), dict, f"{place}.pattern")
    [(kind, written)] = source.items() if len(source) == 1 else [("", "")]
    if kind not in ("Regex", "String"):
        raise ValueError(f"{place}.pattern must be a Regex or a String")
    if not typed(written, str, f"{place}.pattern.{kind}"):
        raise ValueError(f"{place}.pattern.{kind} is empty")
    if kind == "String":
        return _escaped(written)
    try:
        return from_oniguruma(written, cuts=cuts)
    except ValueError as reason:
        raise ValueError(f"{place}.pattern: {reason}") from None


def _escaped(text: str) -> str:
    return re.sub(r"[!-/:-@\[-^`{-~]", r"\\\g<0>", text)


def _cutting(expression: str, behavior: str, place: str, *, invert: bool) -> str:
    """Return a pattern that cuts as an expression with a `behavior` does.

    `invert` exchanges matches and gaps. It makes no difference where both are isolated or
    contiguous, and exchanges the two ways to merge a match with its neighbour.
    """
    once = f"(?>{expression})"
    gap = rf"(?:(?!{expression})[\s\S])*+"
    if behavior == "Isolated":
        return expression
    if behavior == "Contiguous":
        return f"(?:{once})++"
    if behavior in ("MergedWithPrevious", "MergedWithNext"):
        return once + gap if (behavior == "MergedWithNext") != invert else gap + once
    raise ValueError(f"{place}.behavior {behavior!r:.80} is not known")


def pre_tokenizer_of(pattern: Pattern, left_out: str | None = None) -> Json:
    """Return a `pre_tokenizer` that cuts text as a pattern does; a pattern without one is refused.

    The first step removes what is `left_out`, a set of characters.

    >>> pre_tokenizer_of(PATTERNS["none"])["use_regex"]
    False
    """
    steps = [] if pattern == PATTERNS["none"] else [*pattern_steps(pattern)]
    bytes_from = steps.index(BYTES) if BYTES in steps else len(steps)
    before, behind = steps[:bytes_from], steps[bytes_from + 1 :]
    use_regex = before[-1:] == [PATTERNS["gpt2"]]
    before = before[: len(before) - use_regex]
    add_prefix_space = before[-1:] == [SPACE]
    before = before[: len(before) - add_prefix_space]
    if SPACE in before:
        raise ValueError(
            "a tokenizer.json cannot put spaces into a text before it is cut by other patterns"
        )
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }
    written = [*map(_written_split, before), byte_level, *map(_written_split, behind)]
    if left_out is not None:
        removing = {"Regex": to_oniguruma(f"{left_out}+")}
        written.insert(
            0, {"type": "Split", "pattern": removing, "behavior": "Removed", "invert": False}
        )
    return written[0] if len(written) == 1 else {"type": "Sequence", "pretokenizers": written}


def _written_split(expression: str) -> Json:
    pattern = {"Regex": to_oniguruma(expression)}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


# The normalization
# -------------------------------------------------------------------------------------


def normalization_of(normalizer: object, *, of_bytes: bool = False) -> tuple[Step, ...]:
    """Return the steps of a `normalizer`; `of_bytes` says that pretokens are spelled as bytes.

    >>> normalization_of({"type": "Strip", "strip_left": True, "strip_right": False})
    (('Strip left',),)
    """
    steps: list[Step] = []
    if of_bytes and _puts_spaces_around_han(normalizer):
        raise ValueError(_HAN_SPACES)
    for step in steps_of(normalizer, "normalizers"):
        steps += _normalization_step(typed(step, dict, "normalizer"))
    return tuple(steps)


def _normalization_step(step: Json) -> list[Step]:
    match step.get("type"):
        case "NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "StripAccents" as name:
            return [(name,)]
        case "Strip":
            is_stripped = partial(flag, step, "normalizer", default=True)
            return [
                (f"Strip {side}",) for side in ("left", "right") if is_stripped(f"strip_{side}")
            ]
        case "Prepend":
            prefix = typed(step.get("prepend"), str, "normalizer.prepend")
            return [("Prepend", prefix)] if prefix else []
        case "Replace":
            content = typed(step.get("content"), str, "normalizer.content")
            return [("Replace", _expression(step, "normalizer"), content)]
        case "BertNormalizer":
            return _bert_steps(step)
        case "Precompiled":
            written = typed(
                step.get("precompiled_charsmap"), str, "normalizer.precompiled_charsmap"
            )
            try:
                new_texts = replaced_texts(base64.b64decode(written, validate=True))
            except ValueError as reason:
                raise ValueError(f"normalizer.precompiled_charsmap: {reason}") from None
            found = [  # Only clusters of fewer than 6 bytes are looked up, and single characters.
                pair
                for pair in sorted(new_texts.items())
                if len(pair[0]) == 1 or len(pair[0].encode("utf-8")) < 6
            ]
            return [("Map clusters", *chain.from_iterable(found))]
        case other:
            raise ValueError(
                f"normalizer: {other!r:.80} changes text in a way that only its own library can reproduce"
            )


# The parts of `BertNormalizer`, whose tables of characters are old
# ---------------------------------------------------

_NO_ACCENT_YET = (
    "5c8-5c9,7fd,897-89f,8ca-8e1,9fe,afa-aff,b53-b55,c04,c3c,d00,d3b-d3c,d81,eba,ece,180f,1885-18"
    "86,1abf-1af0,1df6-1dfb,a82c,a8c5,a8ff,a9bd,10d24-10d27,10d69-10d6d,10eab-10eac,10ecb-10ecf,1"
    "0ef0-10eff,10f46-10f50,10f82-10f85,11070,11073-11074,110c2,111c9,111cf,1123e,11241,1133b,113"
    "bb-113c0,113ce,113d0,113d2,113e1-113e2,11438-1143f,11442-11444,11446,1145e,1182f-11837,11839"
    "-1183a,1193b-1193c,1193e,11943,119d4-119d7,119da-119db,119e0,11a01-11a0a,11a33-11a38,11a3b-1"
    "1a3e,11a47,11a51-11a56,11a59-11a5b,11a8a-11a96,11a98-11a99,11b60,11b62-11b64,11b66,11c30-11c"
    "36,11c38-11c3d,11c3f,11c92-11ca7,11caa-11cb0,11cb2-11cb3,11cb5-11cb6,11d31-11d36,11d3a,11d3c"
    "-11d3d,11d3f-11d45,11d47,11d90-11d91,11d95,11d97,11df0,11ef3-11ef4,11f00-11f01,11f36-11f3a,1"
    "1f40,11f42,11f5a,13440,13447-13455,1611e-16129,1612d-1612f,16f4f,16fe4,1cf00-1cf2d,1cf30-1cf"
    "46,1d127-1d128,1d25b-1d25c,1e000-1e006,1e008-1e018,1e01b-1e021,1e023-1e024,1e026-1e02a,1e08f"
    ",1e130-1e136,1e2ae,1e2ec-1e2ef,1e4ec-1e4ef,1e5ee-1e5ef,1e6e3,1e6e6,1e6ee-1e6ef,1e6f5,1e944-1"
    "e94a"
)
"""The nonspacing marks that are newer than its table, as ranges of code points."""


def _set(codes: str) -> str:
    """Return a set of characters by ranges of code points.

    >>> _set("61-63,78")
    '[a-cx]'
    """
    ends = [[chr(int(code, 16)) for code in codes.split("-")] for codes in codes.split(",")]
    return f"[{''.join(map('-'.join, ends))}]"


_CONTROL = rf"(?!{_set('9-a,d,890-891,8e2,110cd,13430-1343f')})[\p{{Cc}}\p{{Cf}}\p{{Co}}\ufffd]"
_ACCENT = rf"(?!{_set(_NO_ACCENT_YET)})[\p{{Mn}}\u1734\U0001171e]"
_HAN = _set("3400-4dbf,4e00-9fff,f900-faff,20000-2a6df,2a700-2b81f,2b920-2ceaf,2f800-2fa1f")
"""Spaces are put around these characters, so that they become pretokens where spaces are cut away."""


def _bert_steps(step: Json) -> list[Step]:
    """Return the steps of `BertNormalizer`, but for the spaces around Han characters."""
    lowercase = flag(step, "normalizer", "lowercase", default=True)
    strips = step.get("strip_accents")
    steps: list[Step] = []
    if flag(step, "normalizer", "clean_text", default=True):
        steps += [("Replace", _CONTROL, ""), ("Replace", r"\s", " ")]
    if lowercase if strips is None else flag(step, "normalizer", "strip_accents"):
        steps += [("NFD",), ("Replace", _ACCENT, "")]
    if lowercase:
        steps.append(("Lowercase",))
    return steps


def _puts_spaces_around_han(normalizer: object) -> bool:
    steps = steps_of(normalizer, "normalizers")
    return any(
        _is(step, type="BertNormalizer")
        and flag(step, "normalizer", "handle_chinese_chars", default=True)
        for step in steps
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
        expression, content = arguments
        return {
            "type": "Replace",
            "pattern": {"Regex": to_oniguruma(expression)},
            "content": content,
        }
    if name.startswith("Strip "):
        return {
            "type": "Strip",
            "strip_left": name == "Strip left",
            "strip_right": name == "Strip right",
        }
    if name in MAPS:
        raise ValueError("a map of characters is only written as the file that it was read from")
    return {"type": name}


# Patterns in the syntax of tokenizers
# ------------------------------------------------------------------

# The differences that matter: `{1,3}+` repeats there and is possessive here; `$` and `^` match at
# every line there; `(?s:` does not exist there, and `(?m:` means the same; `\w` and `\b` include
# other characters; `[a[b]]` and `&&` are set operations there.

# The interval ends its alternative, so whether it is possessive makes no difference; nor does `$`
# after a possessive run of white space, which can only end before something else or at the end of
# the text.
_CL100K = CL100K.replace("{1,3}+", "{1,3}")

_CUTS = r"(?s)\(\?>(.+)\)\|\(\?s:\.\)\(\?:\(\?!\1\)\(\?s:\.\)\)\*\+"
"""How a pattern is translated whose empty matches cut text, too."""


def to_oniguruma(pattern: str) -> str:
    """Translate a pattern to the syntax of `tokenizers`; one that it would read differently is refused.

    >>> to_oniguruma(r"\\p{N}{1,3}|\\s+")
    '\\\\p{N}{1,3}|\\\\s+'
    """
    if pattern == CL100K:
        return _CL100K
    if match := re.fullmatch(_CUTS, pattern):
        with suppress(ValueError):
            if same_pattern(from_oniguruma(match[1], cuts=True), pattern):
                return match[1]
    for written in (pattern, pattern.replace("(?s:", "(?m:")):
        with suppress(ValueError):
            if same_pattern(read_pattern(written, "oniguruma"), pattern):
                return written
    raise ValueError(f"pattern {pattern!r:.200}: tokenizers would read it differently")


def from_oniguruma(written: str, *, cuts: bool = False) -> str:
    """Translate a pattern from the syntax of `tokenizers`; one without an equivalent is refused.

    `cuts` says that text is cut at both ends of every match, so that an empty match means
    something, too.

    >>> from_oniguruma(r"[\\p{L}&&[^\\p{Han}]]+")
    '(?:(?=[\\\\p{L}])[^\\\\p{Han}])+'
    """
    if written == _CL100K:
        return CL100K
    return read_pattern(written, "oniguruma cuts" if cuts else "oniguruma")


# Models whose merges begin with characters
# -------------------------------------------------------------

_HAN_SPACES = (
    "normalizer: BertNormalizer puts spaces around Han characters, which is only supported where tokens "
    "are made of characters and the pre_tokenizer drops white space"
)

_TO_SPACES: Step = ("Replace", MARK, " ")


def is_of_characters(document: Any) -> bool:
    """Whether nothing spells a text as bytes, so that tokens may be read as characters."""
    steps = steps_of(document.get("pre_tokenizer"), "pretokenizers")
    steps += steps_of(document.get("normalizer"), "normalizers")
    return "ByteLevel" not in types_of(steps) and all(isinstance(step, dict) for step in steps)


class StepsOfCharacters(NamedTuple):
    """What is done to a text before and after a model whose merges begin with characters."""

    has_marks: bool
    """Whether spaces are replaced by U+2581."""
    normalization: tuple[Step, ...]
    puts_space: bool
    """Whether a space is put before all text between special tokens that begins with none."""
    pattern: Pattern | None
    drops_space: DropsSpace
    left_out: str | None


def before_of_characters(
    document: Any, decoder: Sequence[Any], texts: Iterable[str], *, falls_back: bool = True
) -> StepsOfCharacters:
    """Read these parts of a file; an error names the place.

    `texts` are those of all tokens. `falls_back` says whether bytes spell a character without a
    token, so that the decoder must join them.
    """
    steps = steps_of(document.get("normalizer"), "normalizers")
    normalization: list[Step] = []
    has_marks = False
    for step in steps:
        if has_marks and not _is(step, type="Prepend", prepend=MARK):
            raise ValueError(
                "normalizer: a step after the one that replaces spaces is not supported"
            )
        if _is(step, type="Replace", pattern={"String": " "}, content=MARK):
            has_marks = True
            normalization.append(_TO_SPACES)
        elif has_marks:
            normalization.append(("Prepend", " "))
        else:
            normalization += normalization_of(step)
    cuts: list[str] = []
    left_out: str | None = None
    if _puts_spaces_around_han(document.get("normalizer")):
        cutters = steps_of(document.get("pre_tokenizer"), "pretokenizers")
        if not cutters or types_of(cutters[:1]).isdisjoint(_REMOVING):
            raise ValueError(_HAN_SPACES)
        cuts.append(_HAN)
    puts_space = False
    split_place: str | None = None
    for number, step in enumerate(steps_of(document.get("pre_tokenizer"), "pretokenizers")):
        place = f"pre_tokenizer[{number}]"
        kind = step.get("type") if isinstance(step, dict) else None
        splits_at_spaces = _is(step, type="Split", pattern={"String": " "}) and not step.get(
            "invert"
        )
        if has_marks and splits_at_spaces:
            continue  # No spaces remain.
        if kind == "Metaspace":
            scheme = _scheme(step, place)
            if cuts and scheme != "never":
                raise ValueError(
                    f"{place}: Metaspace after other steps would insert spaces within the text"
                )
            if not has_marks:
                normalization.append(_TO_SPACES)
            has_marks = True
            puts_space = scheme == "always"
            if scheme == "first":
                normalization.append(("Space first",))
            if step.get("split", True):
                cuts.append(" ?[^ ]+| ")
        elif kind in ("Digits", "Punctuation", "FixedLength", "Split", *_REMOVING, _DELIMITED):
            cut = cut_of(step, place)
            left_out = both_left_out(left_out, cut, place)
            cuts += cut.expressions
            if kind == "Split" and not _is_without_spaces(step):
                split_place = place
        else:
            where = "model.byte_fallback is on" if falls_back else "tokens are made of characters"
            raise ValueError(f"{place}: {kind!r:.80} is not supported where {where}")
    if split_place and has_marks:
        raise ValueError(
            f"{split_place}: a pattern is not supported where spaces are spelled U+2581"
        )
    if left_out is not None and has_marks:
        raise ValueError("pre_tokenizer: text is removed, and spaces are spelled U+2581")
    drops_space = decoding_of(decoder, texts, has_marks=has_marks, falls_back=falls_back)
    pattern = checked_pattern(cuts) if cuts else None
    return StepsOfCharacters(
        has_marks, tuple(normalization), puts_space, pattern, drops_space, left_out
    )


def special_pieces(
    flags: Mapping[str, Collection[str]], normalization: Sequence[Step], has_marks: bool
) -> tuple[set[str], set[str]]:
    """Return the added tokens that are also pieces of the model.

    Those of U+2581 are: runs of spaces become them, while the character itself in a text is the
    added token. All others are cut out of a text before merging, so no merge ever involves them.
    """
    if any(
        step != _TO_SPACES and step[0] not in ("Prepend", "Space first") for step in normalization
    ):
        return set(), set()
    plain = {text for text, names in flags.items() if not names}
    if not has_marks:
        return set(), {text for text in plain if " " not in text}
    marks = {text for text in plain if set(text) == {MARK}}
    return marks, {text for text in plain if {" ", MARK}.isdisjoint(text)}


def _scheme(step: Json, place: str) -> str:
    """Return when `Metaspace` inserts a space before a text."""
    if step.get("replacement", MARK) != MARK:
        raise ValueError(
            f"{place}.replacement is {step['replacement']!r:.80}; only U+2581 can be read"
        )
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
    match step.get("pattern"):
        case {"String": str(text), **others} if not others:
            return {" ", MARK}.isdisjoint(text)
    return False


# The decoder
# -------------------------------------------------------------------------------------------


def decoding_of(
    decoder: Sequence[Any],
    texts: Iterable[str],
    *,
    spells_bytes: bool = False,
    has_marks: bool = False,
    falls_back: bool = False,
) -> DropsSpace:
    """Return which spaces at the beginning the steps of a decoder remove; `texts` are those of all tokens.

    The steps must join the bytes of tokens if text is spelled as bytes, write spaces where they are
    replaced, and join the bytes that characters fall back to. Others are read before tokens are
    joined, if they change none, or else refused.

    >>> decoding_of([{"type": "Metaspace"}, {"type": "ByteLevel"}], ["a"], spells_bytes=True)
    False
    """
    needs = {"ByteLevel": spells_bytes, "ByteFallback": falls_back, "Replace": has_marks}
    is_joined = False
    drops_space: DropsSpace = False
    for step in decoder:
        kind = step.get("type") if isinstance(step, dict) else None
        if kind == "Fuse":
            is_joined = True
        elif kind in ("ByteLevel", "ByteFallback") and needs[kind] and not is_joined:
            needs[kind] = False
            is_joined = kind == "ByteLevel"
        elif needs["Replace"] and _is(step, type="Replace", pattern={"String": MARK}, content=" "):
            needs["Replace"] = False
        elif needs["Replace"] and kind == "Metaspace" and not is_joined:
            needs["Replace"] = False
            drops_space = "all" if _scheme(step, "decoder") != "never" else False
        elif (
            is_joined and not drops_space and _is(step, type="Strip", content=" ", start=1, stop=0)
        ):
            drops_space = True
        elif is_joined or any(_changes(step, text, has_marks=has_marks) for text in texts):
            raise ValueError(f"decoder: {kind!r:.80} does not simply join tokens")
    lacking = [kind for kind, is_needed in needs.items() if is_needed]
    if decoder and lacking:
        raise ValueError(
            f"decoder: {kind!r:.80} does not restore the text of the tokens, without {lacking[0]}"
        )
    return drops_space


def _changes(step: Json, text: str, *, has_marks: bool) -> bool:
    """Whether a step of a decoder may change the text of a token."""
    if has_marks:
        text = text.replace(MARK, " ")
    match step:
        case {"type": "ByteFallback"}:
            return re.fullmatch("<0x[0-9A-Fa-f+][0-9A-Fa-f]>", text) is not None
        case {"type": "ByteLevel"}:
            return printable_or_text(text) != text.encode("utf-8")
        case {"type": "Metaspace"}:
            return str(step.get("replacement", MARK)) in text
        case {"type": "Replace", "pattern": {"String": str(replaced)}}:
            return replaced in text
        case {"type": "Strip", "content": str(stripped), "start": start, "stop": stop}:
            at_start = bool(start) and text.startswith(stripped)
            return at_start or (bool(stop) and text.endswith(stripped))
    return True
