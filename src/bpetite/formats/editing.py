"""Edits the files of a vocabulary that was changed: tokens leave, move to other ids, or are new.

The file's own document is edited, so that all else stays: steps, settings, flags, and the names of
tokens, also where these are made of characters. The result is read again, and must be the expected
vocabulary.
"""

import json
from collections.abc import Mapping
from typing import Any

from bpetite._internal.json import Json
from bpetite._internal.record import replaced
from bpetite.encoding.template import AnyTemplate
from bpetite.formats import huggingface, sentencepiece, tekken
from bpetite.formats.huggingface_steps import pre_tokenizer_of
from bpetite.formats.shared.configuration import CONFIGURATION
from bpetite.formats.shared.imported import Original
from bpetite.vocabulary import Vocabulary

_EDITED = ("huggingface", "sentencepiece", "tekken")
"""The formats whose files are edited; others are written anew, as far as they can hold the result."""

_ADDED = "added_tokens.json"


def changed_files(
    original: Original,
    before: Vocabulary,
    after: Vocabulary,
    moved: Mapping[int, int] | None,
    template: AnyTemplate,
) -> Original | None:
    """Return the files of a tokenizer whose vocabulary was changed; None if they have nothing to be kept.

    Without `moved`, all tokens stay, and only special or added ones are new.
    """
    if moved is not None and original.kind in _EDITED:
        return edited(original, after, moved, is_cut_anew=before.pattern != after.pattern)
    if original.kind == "huggingface" or original.companions:
        return huggingface.changed(after, original, template)
    return None


def edited(
    original: Original,
    vocabulary: Vocabulary,
    moved: Mapping[int, int],
    *,
    is_cut_anew: bool = False,
) -> Original:
    """Return the files of a changed vocabulary, which `is_cut_anew` if it has another pattern; what their
    format cannot hold is refused.

    `moved` has the new id of each token of the file that is left; the others leave, with their merges.
    Tokens of the vocabulary with other ids are new.
    """
    content = original.content
    if original.kind == "huggingface":
        content = _edited_json(content, vocabulary, moved, is_cut_anew=is_cut_anew)
    elif is_cut_anew:
        raise ValueError(f"the files of {original.kind} have no other pattern")
    elif original.kind == "sentencepiece":
        content = sentencepiece.edited(content, vocabulary, moved)
    else:
        content = tekken.edited(content, vocabulary, moved)
    files = original.with_content(content)
    files = files._replace(files={**files.files, **_companions(files.files, moved)})
    check_edited(files, vocabulary)
    return files


def _edited_json(
    content: bytes, vocabulary: Vocabulary, moved: Mapping[int, int], *, is_cut_anew: bool
) -> bytes:
    """Edit a `tokenizer.json`; the names of new tokens are those of the tokens that they are made of."""
    document = json.loads(content)
    model = document["model"]
    old_names = {token_id: name for name, token_id in model["vocab"].items()}
    name_of = {new: old_names[old] for old, new in moved.items() if old in old_names}
    prefix = len(model.get("continuing_subword_prefix") or "")
    id_of = {name: token_id for token_id, name in name_of.items()}
    merges = model["merges"]
    has_texts = bool(merges) and isinstance(merges[0], str)
    if len(name_of) < len(old_names):
        # Merges that never happen might, once others are gone; the vocabulary does not have them.
        pairs = vocabulary.merges
        happen = {(name_of.get(left), name_of.get(right)) for left, right in pairs}
        merges = [merge for merge in merges if _parts(merge) in happen]
    for token in document.get("added_tokens") or ():
        id_of.setdefault(token["content"], moved[token["id"]])
    new_merges: list[Any] = []
    known = {*moved.values(), *vocabulary.provisional}
    for (left, right), made in zip(vocabulary.merges, vocabulary.merge_ids, strict=True):
        if made in known:
            continue
        parts = name_of[left], name_of[right]
        name = parts[0] + parts[1][prefix:]
        if id_of.setdefault(name, made) != made:
            raise ValueError(f"a new token would be called {name!r:.80}, as token {id_of[name]} is")
        name_of[made] = name
        new_merges.append(parts)
    if has_texts and any(" " in part for parts in new_merges for part in parts):
        merges = [*map(_parts, merges)]
    elif has_texts:
        new_merges = [*map(" ".join, new_merges)]
    merges = [*merges, *new_merges]
    added = [{**token, "id": moved[token["id"]]} for token in document.get("added_tokens") or ()]
    vocab = {name_of[own]: own for own in sorted(name_of)}
    huggingface.pin(vocab, added)
    model |= {"merges": merges, "vocab": vocab}
    document |= {"added_tokens": added}
    if is_cut_anew:
        document["pre_tokenizer"] = pre_tokenizer_of(vocabulary.pattern, vocabulary.left_out)
    _move_around(document.get("post_processor"), moved)
    padding = document.get("padding")
    if padding and padding.get("pad_id") in moved:
        padding["pad_id"] = moved[padding["pad_id"]]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def check_edited(files: Original, vocabulary: Vocabulary) -> None:
    """Refuse files that, read again, are not the expected vocabulary."""
    name = next(iter(files.files))
    expected = vocabulary
    if files.kind == "sentencepiece":
        read = sentencepiece.parse(files.content)
        expected = _without_tokens_beside(vocabulary, read.vocabulary)
    elif files.kind == "tekken":
        read = tekken.parse_document(json.loads(files.content))
        # Without tokens that no merge makes, it is the same.
        whole_first = read.vocabulary.whole_pretoken_first
        expected = replaced(vocabulary, whole_pretoken_first=whole_first)
    else:
        read = huggingface.parse(name, files.content)
    found = (read.dropping() if vocabulary.drops_missing else read).vocabulary
    fields = ["tokens", "merges", *sorted(set(vocabulary._fields) - _APART)]
    if not vocabulary.provisional:  # Where tokens are made of characters, it follows from them.
        fields.append("pattern")
    for field in fields:
        if _comparable(found, field) != _comparable(expected, field):
            raise ValueError(f"{name} would not be the same tokenizer: its {field} would differ")


def _without_tokens_beside(vocabulary: Vocabulary, read: Vocabulary) -> Vocabulary:
    """Leave out the special tokens that only files beside a vocabulary name."""
    specials = {
        text: token_id
        for text, token_id in vocabulary.special_tokens.items()
        if token_id <= read.largest_id
    }
    flags = vocabulary.token_flags
    return replaced(
        vocabulary,
        special_tokens=specials,
        added_tokens=vocabulary.added_tokens & specials.keys(),
        token_flags={text: flags[text] for text in flags if text in specials},
    )


_APART = {
    *("tokens", "merges", "merge_ids", "provisional", "irregular"),
    *("pattern", "dialect", "trained_with"),
}
"""Fields that are compared in another way, or that files do not have."""


def _comparable(vocabulary: Vocabulary, field: str) -> Any:
    """Return a field in which provisional tokens, whose ids nobody sees, are known by their bytes."""
    if field not in ("tokens", "merges"):
        return getattr(vocabulary, field)
    tokens, provisional = vocabulary.tokens, frozenset(vocabulary.provisional)
    if field == "tokens":
        return {own: token for own, token in tokens.items() if own not in provisional}
    keys = {own: own if own not in provisional else tokens[own] for own in tokens}
    made = map(keys.__getitem__, vocabulary.merge_ids)
    return [(keys[left], keys[right], next(made)) for left, right in vocabulary.merges]


def _parts(merge: str | list[str]) -> tuple[str, ...]:
    return tuple(merge.split(" ") if isinstance(merge, str) else merge)


def _move_around(step: Any, moved: Mapping[int, int]) -> None:
    """Give the tokens that a `post_processor` puts around texts their new ids."""
    if not isinstance(step, dict):
        return
    for inner in step.get("processors") or ():
        _move_around(inner, moved)
    for token in (step.get("special_tokens") or {}).values():
        token["ids"] = [_moved(token_id, moved) for token_id in token["ids"]]
    for end in ("sep", "cls"):
        if isinstance(step.get(end), list):
            text, token_id = step[end]
            step[end] = [text, _moved(token_id, moved)]


def _moved(token_id: int, moved: Mapping[int, int]) -> int:
    if token_id not in moved:
        raise ValueError(f"post_processor puts id {token_id} around texts, which no token has")
    return moved[token_id]


def _companions(files: Mapping[str, bytes], moved: Mapping[int, int]) -> dict[str, bytes]:
    """Return the files that name ids of added tokens, with the new ones."""
    changed = {}
    if _ADDED in files:
        ids = json.loads(files[_ADDED])
        new_ids = {text: moved.get(token_id, token_id) for text, token_id in ids.items()}
        if new_ids != ids:
            changed[_ADDED] = _indented(new_ids)
    settings = json.loads(files.get(CONFIGURATION, b"{}"))
    tokens = settings.get("added_tokens_decoder") or {}
    by_new_id = {str(moved.get(int(own), int(own))): token for own, token in tokens.items()}
    if by_new_id != tokens:
        changed[CONFIGURATION] = _indented(settings | {"added_tokens_decoder": by_new_id})
    return changed


def _indented(document: Json) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8")
