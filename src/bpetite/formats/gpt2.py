"""GPT-2's two files, `vocab.json` and `merges.txt`: tokens and pairs in, tokens and pairs out.

Both files spell bytes by printable characters (`formats/shared/printable.py`).
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from bpetite._constants import END_OF_TEXT_TOKEN, SPACE, Pattern
from bpetite._engine import pretokenize
from bpetite._internal.files import contents
from bpetite._internal.json import Json, decoded, naming, parse_object, refuse
from bpetite._internal.types import AnyPath, BytesPair
from bpetite.dialect import Dialect
from bpetite.formats import huggingface
from bpetite.formats.shared.configuration import (
    FLAGS,
    TAKES_SPACE_EVERYWHERE,
    Configuration,
    NamedToken,
)
from bpetite.formats.shared.imported import Imported, check_holds, of_beside, some
from bpetite.formats.shared.pairs import check_ids, packed_lines, parts_of, vocabulary_of_pairs
from bpetite.formats.shared.printable import (
    from_printable,
    printable_or_text,
    printed_ids,
    printed_merges,
    to_printable,
)
from bpetite.patterns import PATTERNS, named_pattern
from bpetite.vocabulary import MARK, Vocabulary, listed_special_tokens

_MOST_UNMADE = 4
"""At most one token in this number (or two in all) may lack a merge; of RoBERTa's 50,000, eight do."""

_ENDED = {"\u0120</w>", "a</w>", "e</w>", "i</w>"}
"""Some tokens of every CLIP vocabulary: bytes at the end of words."""

CLIP_TOKENS = ("<|startoftext|>", END_OF_TEXT_TOKEN)
"""The tokens around a text in CLIP; the second one also stands for what is unknown."""

_CLIP_PATTERN = (
    (rf"{'|'.join(CLIP_TOKENS)}|'s|'t|'re|'ve|'m|'ll|'d|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+")
    .replace("<|", r"<\|")
    .replace("|>", r"\|>")
)

_SPACES = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
_MARKED: Json = {"normalizer": {"type": "NFKC"}, "pre_tokenizer": _SPACES, "decoder": _SPACES}
_GPT_1: Json = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
    "model": {"end_of_word_suffix": "</w>"},
}
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_QWEN2: Json = {
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": PATTERNS["qwen2"]},
                "behavior": "Isolated",
                "invert": False,
            },
            _BYTES,
        ],
    },
    "decoder": _BYTES,
    "model": {"unk_token": None},
}
COMPLETED: Mapping[str | None, tuple[str, Json]] = {
    None: ("SentencePieceBPETokenizer of tokenizers", _MARKED),
    "OpenAIGPT": ("OpenAIGPTTokenizer of transformers", _GPT_1),
    "Qwen2": ("Qwen2Tokenizer of transformers", _QWEN2),
}
"""What completes two files to a `tokenizer.json`, and in which class, by the kind of tokenizer. Without a
kind, they are of pieces with U+2581 for spaces."""

_TRIED, _MOST_CUT = 2048, 100
"""The maximum number of tokens on which an assumed pattern is tried; it may cut one in `_MOST_CUT`."""


def parse(
    vocab_path: AnyPath,
    vocab: bytes,
    merges_path: AnyPath,
    merges: bytes,
    special_tokens: Sequence[str] | None = None,
    pattern: Pattern | None = None,
    configuration: Configuration | None = None,
) -> Imported:
    """Read the content of the two files; errors name the paths.

    Special tokens that `vocab.json` lacks follow its last id. If none are given, they are those of
    a configuration. Without one, `<|endoftext|>` is a special token if `vocab.json` has it.
    """
    beside = configuration or Configuration()
    given = special_tokens if special_tokens is not None else list(beside.tokens) or None
    named = (END_OF_TEXT_TOKEN,) if given is None else listed_special_tokens(given)
    with naming(vocab_path):
        ids = _ids(vocab_path, vocab)
        ended = _ENDED & ids.keys()
        if ended < _ENDED and (len(ended) == len(_ENDED) - 1 or beside.kind == "CLIP"):
            raise ValueError(
                f"a CLIP vocabulary without {min(_ENDED - ended)!r}, or one of characters, as GPT-1's, "
                "which is read if the files next to it say OpenAIGPTTokenizer, or from its tokenizer.json"
            )
        if ended == _ENDED:
            if pattern is not None:
                raise ValueError("words end in </w>, as CLIP's do, whose pattern cannot be changed")
            packed, _ = _packed_merges(merges_path, merges)
            return huggingface.parse_document(clip_document(ids, packed, given or CLIP_TOKENS))
        specials, keys = _special_ids(
            ids, named, must_be_listed=given is None, configured_ids=beside.ids
        )
        for text, token_id in beside.ids.items():
            if specials.get(text, token_id) != token_id:
                raise ValueError(
                    f"{text!r:.80} has id {specials[text]}, but the files next to it say {token_id}"
                )
    default_pattern: Pattern = PATTERNS["gpt2"]
    if beside.puts_space:
        default_pattern = (SPACE, PATTERNS["gpt2"])
    named_tokens = [(text, token) for text, token in beside.tokens.items() if text in specials]
    with naming(merges_path):
        packed, number_of = _packed_merges(merges_path, merges)
        vocabulary = vocabulary_of_pairs(
            {spelled: token_id for spelled, token_id in ids.items() if spelled not in keys},
            packed,
            special_tokens=specials,
            pattern=default_pattern if pattern is None else named_pattern(pattern),
            dialect=Dialect.named("huggingface").replace(special_ids="last"),
            token_flags={text: token.flags for text, token in named_tokens},
            added_tokens={text for text, token in named_tokens if not token.is_special},
            place=lambda rank: f"line {number_of(rank)}",
            cut_out=_never_met(keys, named_tokens),
        )
        assumptions = _unmade(vocab_path, vocabulary)
    with naming(vocab_path):
        assumptions += _not_byte_level(vocabulary, packed)
        if pattern is None and (beside.kind is None or beside.is_of_model):
            _check_assumed(vocabulary)
    if special_tokens is None and beside.tokens:
        assumptions.append(of_beside(specials))
    elif special_tokens is None:
        assumptions.append(
            f"the files do not say which tokens are special; assumed: {some(specials) or 'none'}"
        )
    if pattern is None:
        assumptions.append("the files do not hold their pattern: GPT-2's is used")
    mask = beside.mask_taking_space
    if mask in specials and beside.kind not in TAKES_SPACE_EVERYWHERE:
        assumptions.append(
            f"{mask!r:.80} takes the white space before it, as with a {beside.kind}Tokenizer of "
            "transformers 4; with that of transformers 5 it does not, unless the files say so"
        )
    if not _has_header(merges):
        assumptions.append(
            f"{os.path.basename(merges_path)} does not begin with #version, and its first line is read as a "
            "merge, as tokenizers and transformers 5 do; transformers 4 leaves it out"
        )
    return Imported(vocabulary, assumptions, drops_missing=True, template=beside.template(specials))


def clip_document(ids: Mapping[str, int], merges: Any, special_tokens: Iterable[str]) -> Json:
    """Return CLIP's two files as the `tokenizer.json` that transformers makes of them."""
    spaces = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    words = {"type": "Split", "pattern": {"Regex": _CLIP_PATTERN}, "behavior": "Removed"}
    flags = dict.fromkeys(FLAGS, False) | {"normalized": False, "special": True}
    spaces_kept = {"add_prefix_space": False, "trim_offsets": False}
    first, last = CLIP_TOKENS
    around = {"cls": [first, ids.get(first)], "sep": [last, ids.get(last)]}
    return {
        "added_tokens": [
            {"id": ids[text], "content": text, **flags} for text in special_tokens if text in ids
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "NFC"}, spaces, {"type": "Lowercase"}],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                words | {"invert": True},
                {"type": "ByteLevel", **spaces_kept},
            ],
        },
        "post_processor": {"type": "RobertaProcessing", **around, **spaces_kept},
        "decoder": {"type": "ByteLevel", **spaces_kept},
        "model": {
            "type": "BPE",
            "unk_token": last,
            "end_of_word_suffix": "</w>",
            "vocab": ids,
            "merges": merges,
        },
    }


def completed_document(
    vocab_path: AnyPath,
    vocab: bytes,
    merges_path: AnyPath,
    merges: bytes,
    special_tokens: Mapping[str, NamedToken],
    unknown: str,
    parts: Json,
) -> Json:
    """Return the `tokenizer.json` that two files and `parts` are; the unknown token is a special token."""
    with naming(vocab_path):
        ids = _ids(vocab_path, vocab)
    packed, _ = _packed_merges(merges_path, merges)
    tokens = {unknown: NamedToken()} if unknown in ids else {}
    tokens |= special_tokens
    added: list[Json] = []
    next_id = len(ids)
    for text, token in tokens.items():
        token_id = ids.get(text, next_id)
        if token.token_id not in (None, token_id):
            raise ValueError(
                f"{text!r:.80} has id {token_id}, but the files next to it say {token.token_id}"
            )
        next_id = max(next_id, token_id + 1)
        flags = {flag: flag in token.flags for flag in FLAGS}
        flags |= {"normalized": token.is_normalized, "special": token.is_special}
        added.append({"id": token_id, "content": text, **flags})
    model = {
        "type": "BPE",
        "unk_token": unknown if unknown in ids else None,
        "vocab": ids,
        "merges": [" ".join(merge) for merge in parts_of(packed)],
    }
    return {
        "version": "1.0",
        "added_tokens": added,
        **parts,
        "model": model | parts.get("model", {}),
    }


def _special_ids(
    ids: Mapping[str, int],
    special_tokens: Sequence[str],
    *,
    must_be_listed: bool,
    configured_ids: Mapping[str, int],
) -> tuple[dict[str, int], set[str]]:
    """Find the special tokens' ids and their keys: as they are, or in printable form. One that is not there
    has the id in the configuration, or the next."""
    specials: dict[str, int] = {}
    keys: set[str] = set()
    next_id = max([*ids.values(), *configured_ids.values()], default=-1) + 1
    for text in special_tokens:
        printable = to_printable(text.encode("utf-8"))
        key = text if text in ids else printable
        if key in ids:
            specials[text] = ids[key]
            keys.add(key)
        elif text in configured_ids:
            specials[text] = configured_ids[text]
        elif not must_be_listed:
            specials[text] = next_id
            next_id += 1
    return specials, keys


def _never_met(keys: Collection[str], named_tokens: Iterable[tuple[str, NamedToken]]) -> set[str]:
    """Return the special tokens that are cut out of a text wherever they are, so that no merge meets them."""
    if any("single_word" in token.flags for _, token in named_tokens):
        return set()
    return {text for text in keys if text.isascii() and " " not in text}


def _not_byte_level(vocabulary: Vocabulary, merges: bytes) -> list[str]:
    """Return an assumption about tokens with characters that stand for no byte.

    No text becomes them, as their own libraries spell every text as bytes. If merges make them, the
    tokens are made of characters. An empty token, as Whisper's file has one, is in no merge.
    """
    others = [token.decode("utf-8") for token in vocabulary.decode_only.values() if token]
    if not others:
        return []
    created = {"".join(parts) for parts in parts_of(merges)}
    if made := [text for text in others if text in created]:
        raise ValueError(
            f"merges make {len(made)} tokens such as {made[0]!r:.80}, which is not byte-level: they are made "
            "of characters, and the files do not say how text is cut; give the model's tokenizer.json"
        )
    return [
        f"{len(others)} of the tokens, such as {others[0]!r:.80}, have characters that stand for no byte, so "
        "no text gets their ids; if they are special tokens, name them"
    ]


def _unmade(vocab_path: AnyPath, vocabulary: Vocabulary) -> list[str]:
    """Return an assumption about the tokens that no merge makes, which mostly are special tokens that nobody
    named. If there are many, merges are missing.
    """
    arrays = vocabulary.arrays
    unmade = set(memoryview(arrays.ids).cast("I"))
    unmade.difference_update(vocabulary.id_of_byte.values())
    most = max(2, len(unmade) // _MOST_UNMADE)
    unmade -= set(arrays.to_merge_ids())
    if not unmade:
        return []
    printed = (arrays.token_of(min(unmade)) or b"").decode("utf-8", "replace")
    finding = f"no merge creates {len(unmade)} of the tokens, such as {printed!r:.80}"
    if len(unmade) > most and len(_joined(vocabulary, unmade)) > most:
        raise ValueError(
            f"{finding}: the file is cut off, or does not belong to {os.fspath(vocab_path)}; if it does "
            "belong to it, give the model's tokenizer.json"
        )
    return [f"{finding}, so no text gets their ids; if they are special tokens, name them"]


def _joined(vocabulary: Vocabulary, token_ids: Iterable[int]) -> list[int]:
    """Return those of some tokens that are two other tokens, joined: only such can lack a merge."""
    tokens = vocabulary.arrays.to_tokens()
    parts = set(tokens.values())
    joined = []
    for token_id in token_ids:
        token = tokens[token_id]
        if any(token[:end] in parts and token[end:] in parts for end in range(1, len(token))):
            joined.append(token_id)
    return joined


def _check_assumed(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary of whose tokens many would be cut by its pattern, which is only assumed.

    If the model does have GPT-2's pattern, that pattern cuts no token that a merge creates. Some of
    these models also put a space before a text, but nowhere else, so it is left out here.
    """
    merge_ids = vocabulary.arrays.to_merge_ids()
    sample = merge_ids[:: len(merge_ids) // _TRIED + 1]
    tokens = [vocabulary.arrays.token_of(token_id) or b"" for token_id in sample]
    texts = [token.decode("utf-8", "replace") for token in tokens]
    whole_texts = [text for text in texts if "\ufffd" not in text]
    cut = [text for text in whole_texts if len(pretokenize(text, PATTERNS["gpt2"])) > 1]
    if len(cut) * _MOST_CUT > len(texts):
        raise ValueError(
            f"GPT-2's pattern would cut {len(cut)} of {len(texts)} tokens, such as {cut[-1]!r:.80}: "
            "the model has another pattern; give it, or the model's tokenizer.json"
        )


def to_bytes(vocabulary: Vocabulary) -> tuple[bytes, bytes]:
    """Return the `vocab.json` and the `merges.txt` of a vocabulary; what they cannot express is refused."""
    instead = "to_huggingface can hold it"
    check_holds(vocabulary, "vocab.json", instead)
    if vocabulary.pattern != PATTERNS["gpt2"]:
        raise ValueError(
            f"GPT-2's files imply GPT-2's pattern, not {vocabulary.pattern!r:.80}; {instead}"
        )
    if vocabulary.whole_pretoken_first:
        raise ValueError(f"GPT-2's files cannot record a token for every whole pretoken; {instead}")
    empty = {token_id: token for token_id, token in vocabulary.decode_only.items() if not token}
    tokens = vocabulary.tokens
    pairs = ((tokens[left], tokens[right]) for left, right in vocabulary.merges)
    return tokens_and_merges({**tokens, **empty}, pairs, vocabulary.special_tokens)


def tokens_and_merges(
    tokens: Mapping[int, bytes], merges: Iterable[BytesPair], special_tokens: Mapping[str, int]
) -> tuple[bytes, bytes]:
    """Return a `vocab.json` and a `merges.txt`."""
    ids = printed_ids("vocab.json", tokens, special_tokens)
    vocab = json.dumps(ids, ensure_ascii=False, separators=(",", ":"))
    lines = ["#version: 0.2", *printed_merges(merges), ""]
    return vocab.encode("utf-8"), "\n".join(lines).encode("utf-8")


def read_tokens_and_merges(
    vocab_path: AnyPath, merges_path: AnyPath
) -> tuple[dict[int, bytes], list[BytesPair]]:
    """Read `vocab.json` and `merges.txt` as bytes; tokens that are not in printable form are plain text."""
    with naming(vocab_path):
        ids = _ids(vocab_path, contents(vocab_path))
        tokens = {token_id: printable_or_text(text) for text, token_id in ids.items()}
    packed, number_of = _packed_merges(merges_path, contents(merges_path))
    spelled = cache(from_printable)  # Each merge with a token asks for it again.
    pairs: list[BytesPair] = []
    for rank, parts in enumerate(parts_of(packed)):
        try:
            left, right = parts
            pairs.append((spelled(left), spelled(right)))
        except (KeyError, ValueError):
            refuse(merges_path, f"line {number_of(rank)} is not a merge: {' '.join(parts)!r:.80}")
    return tokens, pairs


def _ids(path: AnyPath, content: bytes) -> dict[str, int]:
    ids = parse_object(path, content, "a vocab.json")
    check_ids(ids)
    return ids


def _packed_merges(path: AnyPath, content: bytes) -> tuple[bytes, Callable[[int], int]]:
    """Return the merges of a `merges.txt`, packed, and a function from their ranks to line numbers."""
    lines = decoded(path, content).encode("utf-8").replace(b"\r\n", b"\n").split(b"\n")
    if _has_header(lines[0]):
        lines[0] = b""
    numbers = [number for number, line in enumerate(lines, 1) if line]
    return packed_lines(b"\n".join(filter(None, lines))), numbers.__getitem__


def _has_header(merges: bytes) -> bool:
    """Whether a `merges.txt` begins with its version; what follows on that line is of no matter."""
    return merges.startswith(b"#version")
