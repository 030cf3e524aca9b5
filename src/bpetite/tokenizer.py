"""The class `Tokenizer`: text to ids, and ids to text.

A `Tokenizer` is an immutable `Vocabulary` together with the engine's encoder for it.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import index
from sys import modules
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, Unpack, overload

from bpetite._constants import SPACE, Pair, Pattern
from bpetite._engine import DecodeStream, DecodeStreams, Encoder, GrowingEncoding, pattern_way
from bpetite._engine import TextColumn as TextColumn
from bpetite._engine import trim_memory as trim_memory
from bpetite._internal import columns
from bpetite._internal.arguments import (
    UnknownTokenError,
    check_path,
    check_type,
    check_word,
    several,
    worded,
)
from bpetite._internal.files import write_all
from bpetite._internal.integers import BYTES, integer, number_with_unit
from bpetite._internal.json import naming
from bpetite._internal.lazy import import_numpy, numpy
from bpetite._internal.names import is_folder
from bpetite._internal.progress import shown
from bpetite._internal.tokens import ids_or_texts
from bpetite._internal.types import (
    AnyPath,
    Column,
    DType,
    Ids,
    Nulls,
    Progress,
    Special,
    SpecialTokens,
    Texts,
)
from bpetite._internal.warning import warn
from bpetite._persistence import general_artifact_bytes, save_vocabulary, vocabulary_of
from bpetite.counts import Counts
from bpetite.dialect import Dialect
from bpetite.encoding.decoding import (
    check_handler,
    unknown_id,
    unknown_in_stream,
    unknown_token,
)
from bpetite.encoding.display import ShownText, ShownToken
from bpetite.encoding.dropout import checked_dropout
from bpetite.encoding.encoder import EncodedParts, LaterEncoder, Unit, encoder_of
from bpetite.encoding.template import NO_TEMPLATE, AnyTemplate, OtherTemplate, Template, left_out
from bpetite.formats.shared.imported import Imported, Missing, Original, has_id, read_files
from bpetite.normalization import Normalization
from bpetite.patterns import pattern_steps
from bpetite.training import (
    CONDITIONS,
    Conditions,
    ExtendingOptions,
    FileTrainingOptions,
    MergingOptions,
    Superwords,
    Training,
    TrainingOptions,
    counts_for,
    extend_vocabulary,
    train_vocabulary,
)
from bpetite.vocabulary import WORD_END, WORD_START, Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tiktoken import Encoding as TiktokenEncoding

    from bpetite.encoding.canonical import Repaired
    from bpetite.encoding.fitting import Chunk, Fitting, Side
    from bpetite.encoding.transcripts import Transcript
    from bpetite.interfaces.huggingface import HuggingFaceTokenizer
    from bpetite.interfaces.tiktoken import Encoding
    from bpetite.surgery.pruning import Pruning
    from bpetite.surgery.token_map import TokenMap

Tokens: TypeAlias = "str | int | Iterable[str | int] | NDArray[Any] | None"
"""Tokens to put around a text: special tokens by their texts, any tokens by their ids."""


def _bytes_of(name: str, token: bytes | str) -> bytes:
    if isinstance(token, str):
        return token.encode("utf-8")
    check_type(name, token, bytes, "bytes or a str")
    return token


class Tokenizer:
    """A vocabulary that encodes and decodes; immutable, thread-safe, picklable and hashable.

    >>> tok = Tokenizer.train("ab ab ab", vocab_size=258)
    >>> tok.encode("ab<|endoftext|>ab")
    [256, 258, 256]
    >>> tok.decode([256, 258, 256])
    'ab<|endoftext|>ab'
    """

    __slots__ = (
        *(
            "__weakref__",
            "_assumptions",
            "_encoder",
            "_original",
            "_spelled",
            "_template",
            "_vocabulary",
        ),
        "_warns_of_template",
    )

    _vocabulary: Vocabulary
    _encoder: Encoder | LaterEncoder
    _assumptions: tuple[str, ...]
    _original: (
        Original | None
    )  # the files that it was read from, which may hold more than a vocabulary
    _spelled: dict[str, int] | None  # what `get_vocab` returns, once it was asked for
    _template: AnyTemplate  # what its library puts around a text
    _warns_of_template: bool  # whether the next call that leaves the template out says so

    def __init__(self, vocabulary: Vocabulary, assumptions: Iterable[str] = ()) -> None:
        """Create the tokenizer of a vocabulary; a pattern that the engine cannot run is refused."""
        check_type("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        self._set(_vocabulary=vocabulary, _encoder=encoder_of(vocabulary))
        assumed = tuple(several("assumptions", "str", assumptions))
        self._set(_assumptions=assumed, _original=None)._with_template(None)

    def _made_encoder(self) -> Encoder:
        encoder = self._encoder
        if isinstance(encoder, LaterEncoder):
            encoder = encoder_of(self._vocabulary)
            self._set(_encoder=encoder)
        return encoder

    def _with_template(self, template: AnyTemplate) -> Self:
        return self._set(_template=template, _warns_of_template=template is not None, _spelled=None)

    def _set(self, **values: object) -> Self:
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    # Training
    # ---------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls, corpus: str, vocab_size: int | None = None, **options: Unpack[TrainingOptions]
    ) -> Tokenizer:
        """Train on one text; in the default dialect, `vocab_size` counts the 256 bytes and the merges.

        The special token is added to this number: `vocab_size=10_000` gives 10,001 tokens,
        including `<|endoftext|>`; `total_size` counts all tokens. Accepts the keywords of
        `train_from_iterator`.

        >>> Tokenizer.train("low lower", 258).encode("low")
        [257]
        """
        check_type(
            "corpus",
            corpus,
            str,
            "a str (train_from_iterator takes several, train_from_files paths)",
        )
        if len(corpus) < 1000 and os.path.isfile(corpus):
            meant = "the corpus is the name of a file; train_from_files trains on its text"
            warn(f"{corpus}: {meant}")
        return cls.train_from_iterator([corpus], vocab_size, **options)

    @classmethod
    def train_from_files(
        cls,
        paths: AnyPath | Iterable[AnyPath],
        vocab_size: int | None = None,
        **options: Unpack[FileTrainingOptions],
    ) -> Tokenizer:
        """Train on texts in files, folders, globs and URLs; `Counts.from_files` explains paths.

        Accepts the keywords of `train_from_iterator`, and the keywords of `Counts.from_files` for
        reading documents.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "corpus.jsonl")
        ...     _ = path.write_text('{"text": "low lower"}')
        ...     Tokenizer.train_from_files(path, 258).merges
        ((108, 111), (256, 119))
        """
        return cls._trained(partial(Counts.from_files, paths), vocab_size, **options)

    @classmethod
    def train_from_iterator(
        cls, documents: Texts, vocab_size: int | None = None, **options: Unpack[TrainingOptions]
    ) -> Tokenizer:
        """Train on documents from any iterable of `str` or UTF-8 `bytes`, or from an Arrow column.

        Keywords are `dialect` (by default "bpetite"; for a new model, "tiktoken" is recommended: it
        keeps documents apart, and its ids are ranks), `pattern` ("gpt2"), `special_tokens`,
        `min_count` (1), conditions on each new token, `normalization` (such as "NFC": applied to each text
        before it is cut, in training and in encoding), `total_size` (instead of `vocab_size`:
        counts all tokens), `num_threads`, `memory_limit` and `progress`; the other defaults are
        None.

        With `superwords=Superwords(at=...)`, tokens that join words are learned behind the first
        `at`; the texts are read twice then.

        The conditions: at most `max_token_length` bytes; at most `max_words` words (runs of bytes
        other than spaces), where the pattern cuts less often; none of the texts `without`, such as
        `[": "]`; with `whole_characters=True`, valid UTF-8 or the beginning of one character.

        >>> Tokenizer.train_from_iterator(["low lower", "newest"], 300, dialect="tiktoken").vocab_size
        267
        """
        superwords = options.get("superwords")
        reads_twice = isinstance(superwords, Superwords) and superwords.counts is None
        if reads_twice and isinstance(documents, Iterator):
            raise ValueError(
                "superwords: the documents are read twice, and an iterator can be read once; give a list, "
                "or counts of the second stage (counts=)"
            )
        return cls._trained(partial(Counts.from_iterator, documents), vocab_size, **options)

    @classmethod
    def train_from_counts(
        cls, counts: Counts, vocab_size: int | None = None, **options: Unpack[MergingOptions]
    ) -> Tokenizer:
        """Train on counts; their pattern becomes the tokenizer's.

        Accepts the keywords of `train_from_iterator`, except `pattern`. By default, dialect and
        special tokens are the ones used for counting. If merging is expected to need more than
        `memory_limit`, in addition to the counts, a `MemoryError` is raised at once; a larger
        `min_count` needs less.

        >>> from bpetite import Counts
        >>> counts = Counts.from_iterator(["low lower"])
        >>> Tokenizer.train_from_counts(counts, 258) == Tokenizer.train("low lower", 258)
        True
        """
        check_type("counts", counts, Counts, "Counts")
        return cls._trained(
            lambda **_: counts, vocab_size, given_counts=counts, pattern=None, **options
        )

    @classmethod
    def _trained(
        cls,
        count: Callable[..., Counts],
        vocab_size: int | None,
        *,
        given_counts: Counts | None = None,
        total_size: int | None = None,
        dialect: str | Dialect | None = None,
        pattern: Pattern | None = "gpt2",
        special_tokens: Sequence[str] | None = None,
        min_count: int = 1,
        normalization: Normalization | None = None,
        num_threads: int | None = None,
        memory_limit: int | str | None = None,
        progress: Progress | bool | None = None,
        superwords: Superwords | None = None,
        **others: Any,
    ) -> Tokenizer:
        """Train on what `count` returns: `given_counts`, or new ones; `others` are conditions on tokens, and
        how new counts are read."""
        conditions = {name: others.pop(name) for name in CONDITIONS & others.keys()}
        is_counted = given_counts is not None
        if is_counted and others:
            raise TypeError(f"train_from_counts: there is no option {next(iter(others))!r}")
        training = Training(
            dialect,
            pattern,
            special_tokens,
            min_count,
            given_counts,
            normalization,
            superwords,
            **conditions,
        )
        vocab_size = training.vocab_size_of(vocab_size, total_size)
        training.tokens_of_first_stage(vocab_size)  # Checks the size before anything is counted.
        with shown(progress) as report:

            def counted(rules: dict[str, Any]) -> Counts:
                return count(
                    **rules,
                    num_threads=num_threads,
                    memory_limit=memory_limit,
                    progress=report,
                    **others,
                )

            learnt = train_vocabulary(
                counted(training.counting),
                vocab_size,
                training,
                count_again=counted,
                num_threads=num_threads,
                memory_limit=memory_limit
                if is_counted
                else None,  # New counts were limited already.
                progress=report,
                keep_counts=is_counted,
            )
            trained = object.__new__(cls)
            later = LaterEncoder(trained._made_encoder)
            trained._set(_vocabulary=learnt, _encoder=later, _assumptions=(), _original=None)
            return trained._with_template(None)

    def truncate(self, vocab_size: int) -> Tokenizer:
        """Return a tokenizer with a smaller vocabulary (`fit` shortens a text to a number of tokens).

        The result equals a training with this `vocab_size`: the first merges are kept, and so are
        the template, truncation and padding of a `tokenizer.json`. `assumptions` lists anything
        that could not be kept.

        >>> Tokenizer.train("ab ab ab", 258).truncate(257).merges
        ((97, 98),)
        """
        shorter = self._vocabulary.truncate(vocab_size)
        return self._changed(shorter, self._kept_in(shorter))

    @overload
    def extend(
        self,
        documents_or_counts: Texts | Counts,
        add: int,
        *,
        with_map: Literal[False] = False,
        **options: Unpack[ExtendingOptions],
    ) -> Tokenizer: ...

    @overload
    def extend(
        self,
        documents_or_counts: Texts | Counts,
        add: int,
        *,
        with_map: Literal[True],
        **options: Unpack[ExtendingOptions],
    ) -> tuple[Tokenizer, TokenMap]: ...

    def extend(
        self,
        documents_or_counts: Texts | Counts,
        add: int,
        *,
        pattern: Pattern | None = None,
        min_count: int = 1,
        with_map: bool = False,
        num_threads: int | None = None,
        progress: Progress | bool | None = None,
        **conditions: Unpack[Conditions],
    ) -> Tokenizer | tuple[Tokenizer, TokenMap]:
        """Learn up to `add` further tokens on new text; existing ids keep their meaning.

        Texts, or the files of `Path` objects, are counted as this tokenizer cuts them; counts must
        use the same rules (`Counts.from_files(..., tokenizer=)`). `max_token_length`, `max_words`,
        `without` and `whole_characters` are conditions on new tokens, as in `train_from_iterator`.
        With a `pattern`, texts are counted by that one, and it is the tokenizer's from then on:
        `superwords` lets tokens join words. With `with_map=True`, the map of ids is returned, too.

        >>> Tokenizer.train("ab ab", 258).extend(["abc"], add=1).encode("abc ab")
        [259, 257]
        """
        check_type("with_map", with_map, bool, "a bool")
        with shown(progress) as report:
            counts = counts_for(self, documents_or_counts, num_threads, report, pattern)
            extended = extend_vocabulary(
                self._vocabulary,
                counts,
                add,
                pattern=pattern,
                min_count=min_count,
                num_threads=num_threads,
                progress=report,
                **conditions,
            )
        if with_map:
            from bpetite.surgery.token_map import kept_ids

            return self._mapped(extended, kept_ids(self._vocabulary, extended))
        return self._changed(extended, self._kept_in(extended))

    def prune(
        self,
        documents_or_counts: Texts | Counts | None = None,
        vocab_size: int | None = None,
        *,
        tokens: Iterable[int | str | bytes] | None = None,
        ids: Literal["close", "keep"] = "close",
        num_threads: int | None = None,
        progress: Progress | bool | None = None,
    ) -> tuple[Tokenizer, TokenMap]:
        """Return a tokenizer without its least used tokens, or without `tokens`, and the map of ids.

        A token can go if no merge is made of it. The least used on the texts or counts goes first,
        and from then on its parts are used instead, until the vocabulary has the size, which means
        the same as in training. Bytes, special and added tokens stay. A text whose ids had none of
        the removed tokens keeps its ids, up to new numbers.

        With `ids="close"`, ids are numbered anew in the same order, without holes; with `"keep"`,
        each stays, and removed ones are holes. `tokens` are ids, or tokens as `token_id` takes them.

        >>> tok = Tokenizer.train("ab ab ab cd cd", 260)
        >>> smaller, token_map = tok.prune(["ab cd cd"], vocab_size=258)
        >>> smaller.merges, token_map[256]
        (((32, 99), (256, 100)), None)
        """
        check_word("ids", ids, ("close", "keep"))
        pruning = self._pruning()
        if tokens is not None:
            if documents_or_counts is not None or vocab_size is not None:
                raise ValueError("tokens: give either tokens, or texts or counts and a vocab_size")
            removed = self._removed_ids(tokens)
            pruning.check_removed(removed)
        elif documents_or_counts is None or vocab_size is None:
            raise ValueError("documents_or_counts and vocab_size are needed, or else tokens")
        else:
            number = pruning.number_to_remove(vocab_size)
            with shown(progress) as report:
                counts = counts_for(self, documents_or_counts, num_threads, report)
                removed = pruning.least_used(self._uses(counts, num_threads, report), number)
        return self._mapped(*pruning.without(removed, closes=ids == "close"))

    def replace(
        self,
        documents_or_counts: Texts | Counts,
        number: int,
        *,
        min_count: int = 1,
        num_threads: int | None = None,
        progress: Progress | bool | None = None,
        **conditions: Unpack[Conditions],
    ) -> tuple[Tokenizer, TokenMap]:
        """Return a tokenizer with other tokens in the place of the least used ones, and the map of ids.

        The tokens leave that `prune` would remove; as many are learned as by `extend`, and take their
        ids, the smallest first. So matrices keep their shape. If fewer can be learned, the last of
        these ids are holes.

        >>> tok = Tokenizer.train("ab ab ab cd cd", 258)
        >>> other, token_map = tok.replace(["xy xy xy ab"], 1)
        >>> other.token_bytes(257), token_map[257], token_map.parts
        (b'xy', None, mappingproxy({257: (120, 121)}))
        """
        pruning = self._pruning()
        pruning.check_number(number)
        with shown(progress) as report:
            counts = counts_for(self, documents_or_counts, num_threads, report)
            removed = pruning.least_used(self._uses(counts, num_threads, report), number)
            smaller, kept = pruning.without(removed, closes=False)
            extended = extend_vocabulary(
                smaller,
                counts,
                number,
                new_ids=sorted(removed),
                min_count=min_count,
                num_threads=num_threads,
                progress=report,
                **conditions,
            )
        return self._mapped(extended, kept)

    def _pruning(self) -> Pruning:
        """Return what can be removed: all but what this tokenizer needs in any text."""
        from bpetite.surgery.pruning import Pruning

        template = self._template if isinstance(self._template, Template) else NO_TEMPLATE
        return Pruning(self._vocabulary, (*template.prefix, *template.suffix))

    def _removed_ids(self, tokens: Iterable[int | str | bytes]) -> list[int]:
        """Return the ids of tokens, which are ids already, or as `token_id` takes them."""
        given = [tokens] if isinstance(tokens, str | bytes) else several("tokens", "ids", tokens)
        return [
            self.token_id(token) if isinstance(token, str | bytes) else integer("tokens", token)
            for token in given
        ]

    def _uses(
        self, counts: Counts, num_threads: int | None, progress: Progress | None
    ) -> dict[int, int]:
        """Return how often the ids are used in counts."""
        encoder = self._made_encoder()
        ids, uses = counts._table.uses(encoder, num_threads=num_threads, progress=progress)
        return dict(zip(ids.tolist(), uses.tolist(), strict=True))

    def _kept_in(self, vocabulary: Vocabulary) -> Mapping[int, int]:
        """Return the new ids of tokens that another vocabulary has, too, if more than this one names ids."""
        from bpetite.surgery.token_map import kept_ids

        names_ids = self._original is not None or isinstance(self._template, Template)
        return kept_ids(self._vocabulary, vocabulary) if names_ids else {}

    def _mapped(
        self, vocabulary: Vocabulary, moved: Mapping[int, int]
    ) -> tuple[Tokenizer, TokenMap]:
        """Return a tokenizer with a changed vocabulary, in which ids have `moved`, and the map."""
        from bpetite.surgery.token_map import TokenMap

        changed = self._changed(vocabulary, moved)
        return changed, TokenMap.between(self, changed, moved)

    def add_tokens(self, tokens: Iterable[str], *, special: bool = False) -> Tokenizer:
        """Return a tokenizer with additional tokens, which are matched literally in texts.

        Their ids follow the largest id in use; a text that is already a token keeps its id. The
        `special=` of `encode` decides how special tokens are treated; other tokens are found in
        every text. With the `tokenizer.json` of a model such as Llama 2, tokens that are not
        special are found in normalized text, as in tokenizers.

        >>> tok = Tokenizer.train("ab ab ab", 258).add_tokens(["<|user|>"], special=True)
        >>> tok.encode("<|user|>ab"), len(tok)
        ([259, 256], 260)
        """
        if isinstance(tokens, str):
            raise TypeError("tokens must be an iterable of str, not one: pass [token]")
        check_type("special", special, bool, "a bool")
        texts = list(several("tokens", "str", tokens))
        for text in texts:
            check_type("tokens", text, str, "an iterable of str")
        original = self._original_of("huggingface")
        if original is not None and self._vocabulary.provisional:
            return self._with_tokens_in(original, texts, special=special)
        spelled = self._spelled_ids() if self._vocabulary.provisional else None
        return self._changed(self._vocabulary.with_tokens(texts, special=special, ids=spelled))

    def _with_tokens_in(
        self, original: Original, texts: Sequence[str], *, special: bool
    ) -> Tokenizer:
        """Return the tokenizer of a `tokenizer.json` with further tokens.

        The file decides where texts are normalized before tokens of characters are found.
        """
        import json

        from bpetite.formats import huggingface

        files = huggingface.with_tokens(original, texts, self.largest_id, special=special)
        try:
            read = huggingface.parse_document(json.loads(files.content))
        except ValueError as reason:
            advice = "so with these tokens it cannot be encoded as tokenizers does; choose others"
            raise ValueError(f"tokens: {reason}, {advice}") from None
        larger = type(self)(read.vocabulary, self._assumptions)
        return larger._set(_original=files)._with_template(self._template)

    def _changed(self, vocabulary: Vocabulary, moved: Mapping[int, int] | None = None) -> Tokenizer:
        """Return a tokenizer with another vocabulary, and with the template and all else of this one.

        `moved` has the new ids of the tokens that are left; without it, all ids stay.
        """
        from bpetite.formats.editing import changed_files

        template = self._template
        if isinstance(template, Template):
            template = template.moved(dict(moved or {}))
        changed = type(self)(vocabulary, self._assumptions)._with_template(template)
        if self._original is None:
            return changed
        try:
            files = changed_files(self._original, self._vocabulary, vocabulary, moved, template)
        except ValueError as reason:
            lost = f"the settings of {', '.join(self._original.files)}: left out, as {reason}"
            return changed._set(_assumptions=(*self._assumptions, lost))
        return changed._set(_original=files)

    # Encoding
    # ---------------------------------------------------------------------------------------

    def encode(
        self,
        text: str,
        special: Special = "parse",
        prepend: Tokens = None,
        append: Tokens = None,
        add_special_tokens: bool | None = None,
        dropout: float | None = None,
        seed: int | None = None,
    ) -> list[int]:
        """Encode text.

        A special token in the text becomes its id (`special="parse"`), is treated as ordinary text
        (`"text"`), or raises a `ValueError` (`"error"`). Use `"text"` or `"error"` for text from
        users: with `"parse"`, a user who writes `<|endoftext|>` ends the text. Added tokens of
        other libraries' files that are not special, such as runs of spaces, are found in every
        text.

        `add_special_tokens=True` adds the tokens that the model's own library puts around the ids
        (`template`), such as `<s>`. By default they are omitted, and the first call issues a
        warning if there are any; `False` omits them silently. `prepend` and `append` are tokens to
        add before and after all of these: special tokens by name, any token by id, one or several.

        `dropout` leaves out merges at random (BPE dropout), so that a model in training sees words
        in many spellings. It is the probability, from 0 to 1, that a candidate is dropped before a
        merge; spellings are as frequent as with `tokenizers`. The `seed` (an integer from 0 to
        2 ** 64 - 1, by default 0) decides what is dropped: the same seed gives the same ids
        everywhere.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.encode("ab<|endoftext|>", special="text", append="<|endoftext|>")
        [256, 60, 124, 101, 110, 100, 111, 102, 116, 101, 120, 116, 124, 62, 258]
        """
        # No parameter is for keywords alone, here and in `encode_to_numpy`: their defaults would
        # cost every call 40 ns. In an `if`, each `is None` is one instruction; chained or named,
        # they are ten (10 ns).
        if (
            prepend is None
            and append is None
            and add_special_tokens is None
            and dropout is None
            and seed is None
            and not self._warns_of_template
        ):
            return self._encoder.encode(text, special)
        encoder = self._encoder
        if dropout is not None or seed is not None:
            encoder = self._dropping(dropout, seed)
        ids = encoder.encode(text, special)
        if prepend is None and append is None and add_special_tokens is False:
            return ids
        before, after = self._around(add_special_tokens, prepend, append)
        return [*before, *ids, *after]

    def _dropping(
        self, dropout: float | None, seed: int | None, document: int = 0, begun: int = 0
    ) -> Encoder:
        """Return the encoder for a call: with dropout, if it is asked for.

        `document` is the number of the first text that is encoded, of which so many bytes have
        `begun` before.
        """
        dropping = checked_dropout(dropout, seed)
        encoder = self._made_encoder()
        return encoder if dropping is None else encoder.with_dropout(*dropping, document, begun)

    def _around(
        self, add_special_tokens: bool | None, prepend: Tokens = None, append: Tokens = None
    ) -> tuple[list[int], list[int]]:
        """Return the ids to put before and after a text."""
        template = self._added_template(add_special_tokens)
        before = [*self._ids_of("prepend", prepend), *template.prefix]
        after = [*template.suffix, *self._ids_of("append", append)]
        return before, after

    def _added_template(self, add_special_tokens: bool | None) -> Template:
        """Return the template that a call asked for; the first that did not ask for any or none is warned."""
        if add_special_tokens is None:
            if self._warns_of_template:
                self._set(_warns_of_template=False)
                warn(left_out(self._template, self.special_tokens))
            return NO_TEMPLATE
        if add_special_tokens is False:
            return NO_TEMPLATE
        check_type("add_special_tokens", add_special_tokens, bool, "a bool")
        return self.template or NO_TEMPLATE

    def _ids_of(self, name: str, tokens: Tokens) -> list[int]:
        """Return the ids of an argument: special tokens by their texts, any tokens by their ids."""
        if tokens is None:  # a short text would wait longer for what follows than for its ids
            return []
        return [self._id_of(name, token) for token in ids_or_texts(name, tokens)]

    def _id_of(self, name: str, token: int | str) -> int:
        if isinstance(token, str):
            if token in self.special_tokens:
                return self.special_tokens[token]
            has = ", ".join(self.special_tokens) or "none"
            raise ValueError(
                f"{name}: {token!r} is not a special token of this tokenizer (it has {has})"
            )
        if not has_id(self._vocabulary, token):
            raise UnknownTokenError(f"{name}: no token has the id {token}")
        return token

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text in which special tokens are ordinary text.

        >>> len(Tokenizer.train("ab ab ab", 258).encode_ordinary("<|endoftext|>"))
        13
        """
        return self._encoder.encode(text, "text")

    def encode_batch(
        self,
        texts: Texts,
        *,
        special: Special = "parse",
        num_threads: int | None = None,
        prepend: Tokens = None,
        append: Tokens = None,
        add_special_tokens: bool | None = None,
        dropout: float | None = None,
        seed: int | None = None,
    ) -> list[list[int]]:
        """Encode texts on all cores, or on `num_threads` threads; the ids do not depend on the number.

        `prepend`, `append` and `add_special_tokens` put tokens around each text, as in `encode`.
        With `dropout`, equal texts have different ids, as the number of a text counts, too.

        >>> Tokenizer.train("ab ab ab", 258).encode_batch(["ab", " ab"], append="<|endoftext|>")
        [[256, 258], [257, 258]]
        """
        before, after = self._around(add_special_tokens, prepend, append)
        encoder = self._dropping(dropout, seed)
        return encoder.encode_batch(texts, special, num_threads, before, after)

    def encode_parts(self, parts: Iterable[tuple[str, Special]]) -> EncodedParts:
        """Encode the joined text of parts, each with its own choice of `special`, as in `encode`.

        For prompts with parts written by users: special tokens in these parts are ordinary text
        (`"text"`) or refused (`"error"`), and no special token is ever found across a seam.
        Everything else works as in the whole text: merges, pretokens, normalization and added
        tokens that are not special cross seams.

        The result is a named tuple: the `ids`, and for each id the number of the part that contains
        its first character (`parts`), for loss masks in training. White space that a token takes
        belongs to the token, and a character that normalization inserts belongs to the part of the
        character it was inserted for.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.encode_parts([("<|endoftext|>a", "parse"), ("b ab", "text"), ("<|endoftext|>", "parse")])
        EncodedParts(ids=[258, 256, 257, 258], parts=[0, 0, 1, 2])
        """
        return EncodedParts(*self._encoder.encode_parts(parts))

    def encode_parts_batch(
        self, batch: Iterable[Iterable[tuple[str, Special]]], *, num_threads: int | None = None
    ) -> list[EncodedParts]:
        """Encode several texts in parts, on all cores or on `num_threads` threads.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.encode_parts_batch([[("a", "text"), ("b", "text")], []])
        [EncodedParts(ids=[256], parts=[0]), EncodedParts(ids=[], parts=[])]
        """
        of_texts = self._encoder.encode_parts_batch(batch, num_threads)
        return [EncodedParts(*of_text) for of_text in of_texts]

    def encode_to_numpy(
        self,
        text: str,
        special: Special = "parse",
        dtype: DType = "uint32",
        num_threads: int | None = None,
        add_special_tokens: bool | None = None,
        dropout: float | None = None,
        seed: int | None = None,
    ) -> NDArray[Any]:
        """Encode a text to an array, without a Python object for each id.

        `dtype="uint16"` halves the memory and is refused for a vocabulary whose ids do not fit.
        `dropout` and `seed` are those of `encode`.

        >>> Tokenizer.train("ab ab ab", 258).encode_to_numpy("ab ab", dtype="uint16")
        array([256, 257], dtype=uint16)
        """
        if "numpy" not in modules:  # calling the function costs a short text half its time
            import_numpy()
        if dropout is not None or seed is not None:
            encoder = self._dropping(dropout, seed)
            ids = encoder.encode_to_numpy(text, special, dtype, num_threads)
        else:
            ids = self._encoder.encode_to_numpy(text, special, dtype, num_threads)
        if add_special_tokens is None and not self._warns_of_template:
            return ids
        if add_special_tokens is False:
            return ids
        template = self._added_template(add_special_tokens)
        if not template.size:
            return ids
        parts = [template.prefix, ids, template.suffix]
        return numpy.concatenate([numpy.asarray(part, dtype) for part in parts])

    def encode_batch_to_numpy(
        self,
        texts: Texts,
        *,
        special: Special = "parse",
        dtype: DType = "uint32",
        num_threads: int | None = None,
        append: Tokens = None,
        prepend: Tokens = None,
        add_special_tokens: bool | None = None,
        dropout: float | None = None,
        seed: int | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Encode texts to one array of ids; text `i` has the ids from `offsets[i]` to `offsets[i + 1]`.

        A text may also be UTF-8 `bytes`. `prepend`, `append` and `add_special_tokens` put tokens
        around each text, as in `encode`, such as `<|endoftext|>`. `dropout` and `seed` are those of
        `encode_batch`.

        >>> ids, offsets = Tokenizer.train("ab ab ab", 258).encode_batch_to_numpy(["ab ab", "", "ab"])
        >>> ids.tolist(), offsets.tolist()
        ([256, 257, 256], [0, 2, 2, 3])
        """
        import_numpy()
        before, after = self._around(add_special_tokens, prepend, append)
        return self._dropping(dropout, seed).encode_batch_to_numpy(
            texts, special, dtype, num_threads, after, prepend=before
        )

    def encode_column(
        self,
        column: Column,
        *,
        special: Special = "parse",
        dtype: DType = "uint32",
        num_threads: int | None = None,
        append: Tokens = None,
        nulls: Nulls = "error",
        prepend: Tokens = None,
        add_special_tokens: bool | None = None,
        dropout: float | None = None,
        seed: int | None = None,
    ) -> Any:
        """Encode a column of strings to a column of lists of ids, without a Python object for each row.

        The column may come from any library that supports Arrow, in one chunk or several, and each
        of them accepts the result: `pyarrow.array(result)`, `polars.Series(result)`, ... A row
        without a text raises an error that names it, stays null (`nulls="keep"`), or is an empty
        text (`"empty"`). `prepend`, `append` and `add_special_tokens` put tokens around each text,
        as in `encode`. `dropout` and `seed` are those of `encode_batch`.

        >>> import pyarrow
        >>> column = Tokenizer.train("ab ab ab", 258).encode_column(pyarrow.array(["ab ab", "", "ab"]))
        >>> pyarrow.array(column).to_pylist()
        [[256, 257], [], [256]]
        """
        around = self._around(add_special_tokens, prepend, append)
        return columns.encoded(
            self._dropping(dropout, seed), column, special, dtype, num_threads, around, nulls
        )

    def encode_iterable(
        self, iterable: Iterable[str], *, special: Special = "parse"
    ) -> Iterator[int]:
        """Yield the ids of the joined text in constant memory, regardless of how it was divided.

        >>> list(Tokenizer.train("ab ab ab", 258).encode_iterable(["a", "b a", "b"]))
        [256, 257]
        """
        stream = self._encoder.encode_stream(special)
        return _streamed(stream, several("iterable", "str", iterable))

    def growing(self, text: str = "", *, special: Special = "parse") -> GrowingEncoding:
        """Return a text that can be appended to, with its ids, which always equal the ids of the whole text.

        For prompts that grow turn by turn: the cost of appending does not depend on the text
        before. `append` returns how many of the earlier ids are unchanged, `settled` is the number
        of ids that no later text can change, and `truncate` goes back to a number of characters or
        ids. Text appended with its own `special` is a separate part, as in `encode_parts`; `parts`
        has the part number of each id.

        >>> prompt = Tokenizer.train("ab ab ab", 258).growing("ab a")
        >>> prompt.ids
        [256, 32, 97]
        >>> prompt.append("b ab"), prompt.ids
        (1, [256, 257, 257])
        >>> prompt.truncate(ids=2), prompt.text
        (2, 'ab ab')
        >>> prompt.append("<|endoftext|>", special="text"), prompt.append("<|endoftext|>")
        (2, 15)
        >>> prompt.ids[-2:], prompt.parts[-2:]
        ([62, 258], [1, 2])
        """
        growing = self._encoder.growing(special)
        growing.append(text)
        return growing

    def transcript(self, *, special: Special = "parse") -> Transcript:
        """Return a text in turns: ids that a model wrote stay as they are, and text around them is encoded.

        For chats and for training on what a model generated, whose ids may be others than those of
        their text. Text behind ids is encoded by itself (`docs/encoding.md` has the rules), and
        `seams` says where that differs from encoding the whole text. `labels` is a loss mask.

        >>> chat = Tokenizer.train("ab ab ab", 258).transcript()
        >>> chat.append("ab "), chat.append_ids([97, 98]), chat.append(" ab")
        (0, 2, 4)
        >>> chat.ids, chat.labels, chat.text
        ([256, 32, 97, 98, 257], [0, 0, 1, 1, 0], 'ab ab ab')
        >>> chat.seams
        [Seam(text=3, ids=2, is_kept=False, differs=1), Seam(text=5, ids=4, is_kept=True, differs=None)]
        """
        from bpetite.encoding.transcripts import Transcript

        return Transcript(self._made_encoder(), self._vocabulary, special)

    def join(self, ids: Ids, text: str, special: Special = "parse") -> list[int]:
        """Return ids as they are, and behind them the ids of a text, as a `transcript` has them.

        >>> Tokenizer.train("ab ab ab", 258).join([97, 98], " ab")
        [97, 98, 257]
        """
        joined = self.transcript(special=special)
        joined.append_ids(ids)
        joined.append(text)
        return joined.ids

    def encode_with_offsets(
        self,
        text: str,
        *,
        special: Special = "parse",
        unit: Unit = "characters",
        dropout: float | None = None,
        seed: int | None = None,
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Encode a text, and return the start and end of each token in it.

        In characters, a token that has a part of a character spans all of it, so tokens that share
        a character overlap; in bytes of UTF-8, the spans are adjacent and never overlap. `dropout`
        and `seed` are those of `encode`.

        >>> Tokenizer.train("ab ab ab", 258).encode_with_offsets("ab é")
        ([256, 32, 195, 169], [(0, 2), (2, 3), (3, 4), (3, 4)])
        """
        return self._dropping(dropout, seed).encode_with_offsets(text, special, unit)

    def count(
        self,
        text: str,
        special: Special = "parse",
        *,
        num_threads: int | None = None,
        add_special_tokens: bool | None = None,
    ) -> int:
        """Return the number of ids of a text, without creating them.

        As in `encode`, a special token in the text counts as one, unless `special` is `"text"`, and
        `add_special_tokens=True` counts the tokens of the `template`, too.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.count("ab ab"), tok.count("ab<|endoftext|>", "text")
        (2, 14)
        """
        counted = self._encoder.count(text, special, num_threads)
        return counted + self._added_template(add_special_tokens).size

    def count_batch(
        self,
        texts: Texts,
        *,
        special: Special = "parse",
        num_threads: int | None = None,
        add_special_tokens: bool | None = None,
    ) -> list[int]:
        """Return the number of ids of each text, with the arguments of `count`.

        >>> Tokenizer.train("ab ab ab", 258).count_batch(["ab ab", "", "abc"])
        [2, 0, 2]
        """
        added = self._added_template(add_special_tokens).size
        counts = self._encoder.count_batch(texts, special, num_threads)
        return [count + added for count in counts] if added else counts

    def count_column(
        self,
        column: Column,
        *,
        special: Special = "parse",
        num_threads: int | None = None,
        nulls: Nulls = "error",
    ) -> Any:
        """Return a column with the number of ids of each text of a column.

        >>> import pyarrow
        >>> counts = Tokenizer.train("ab ab ab", 258).count_column(pyarrow.array(["ab ab", "", "abc"]))
        >>> pyarrow.array(counts).to_pylist()
        [2, 0, 2]
        """
        return columns.counted(self._made_encoder(), column, special, num_threads, nulls)

    def curve(
        self, text: str, sizes: Iterable[int] | None = None, *, special: Special = "text"
    ) -> list[dict[str, int | float]]:
        """Return how well smaller vocabularies, cut from this one, would compress a text.

        There is a row for each of the `sizes`, which mean the same as in training and `truncate`;
        by default, there are up to 200 rows, from the fewest tokens to all. The text is encoded
        once. The command `report` does the same with files.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> for row in tok.curve("ab ab", [256, 258]):
        ...     print(row)
        {'vocab_size': 256, 'tokens': 5, 'bytes_per_token': 1.0, 'characters_per_token': 1.0}
        {'vocab_size': 258, 'tokens': 2, 'bytes_per_token': 2.5, 'characters_per_token': 2.5}
        """
        from bpetite.encoding.curve import curve_of  # slow to import

        if sizes is not None:
            sizes = list(several("sizes", "integers", sizes))
        uses = Counter(self._encoder.encode(text, special))
        return curve_of(self._vocabulary, uses, len(text.encode("utf-8")), len(text), sizes)

    def fit(
        self,
        text: str,
        max_tokens: int,
        *,
        side: Side = "right",
        special: Special = "parse",
        add_special_tokens: bool | None = None,
    ) -> str:
        """Shorten a text to at most `max_tokens` tokens; `side` is the side where it is cut off.

        The result is the longest beginning (with `side="left"`, the longest end) that has at most
        this many tokens when it is encoded alone. It never ends within a character or a special
        token. Only as much of the text is encoded as fits. (In a range of over 1,024 characters
        without a safe place to cut, such as a very long word, only lengths near the limit are
        tried.) With `add_special_tokens=True`, the tokens of the `template` count towards
        `max_tokens`.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.fit("ab ab abc", 3), tok.fit("ab ab abc", 2, side="left")
        ('ab ab ab', ' abc')
        """
        check_word("side", side, ("right", "left"))
        template = self._added_template(add_special_tokens)
        max_tokens = integer("max_tokens", max_tokens, least=template.size) - template.size
        fitting = self._fitting(text, special)
        if side == "right":
            return text[: fitting.furthest(0, len(text), max_tokens)]
        return text[fitting.furthest(len(text), 0, max_tokens) :]

    def chunks(
        self,
        text: str,
        size: int,
        *,
        overlap: int = 0,
        special: Special = "parse",
        add_special_tokens: bool | None = None,
    ) -> Iterator[Chunk]:
        """Split a text into chunks of at most `size` tokens each, when they are encoded alone.

        A chunk is a named tuple of its text, its ids, and its start and end in the text (in
        characters). It is as long as fits, and ends between two pretokens if possible (and always
        between two characters). `overlap` is the number of tokens that a chunk may share with the
        previous one. Without overlap, the texts of all chunks together are the whole text. With
        `add_special_tokens=True`, the ids of each chunk include the tokens of the `template`, which
        count towards `size`.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> [(chunk.text, chunk.ids, chunk.start) for chunk in tok.chunks("ab ab abc", 2)]
        [('ab ab', [256, 257], 0), (' abc', [257, 99], 5)]
        """
        template = self._added_template(add_special_tokens)
        size = integer("size", size, least=1 + template.size) - template.size
        overlap = integer("overlap", overlap, least=0)
        if overlap >= size:
            numbers = f"{overlap} is not less than {size}"
            if template.size:
                numbers += f" ({size + template.size} without the {template.size} of the template)"
            raise ValueError(
                worded(
                    lambda name: f"{name('overlap')} must be smaller than {name('size')}: {numbers}"
                )
            )
        spans = self._fitting(text, special).spans(size, overlap)
        return self._chunks(text, spans, special, template)

    def _chunks(
        self, text: str, spans: Iterator[tuple[int, int]], special: Special, template: Template
    ) -> Iterator[Chunk]:
        from bpetite.encoding.fitting import Chunk

        for start, end in spans:
            ids = self._encoder.encode(text[start:end], special)
            yield Chunk(text[start:end], template.around(ids), start, end)

    def _fitting(self, text: str, special: Special) -> Fitting:
        from bpetite.encoding.fitting import Fitting, any_of

        # The engine refuses an unknown `special`, what is no text and, with "error", a special
        # token in it. Only for the last two must it see the text.
        must_see = special == "error" or not isinstance(text, str)
        self._encoder.count(text if must_see else "", special)
        specials = frozenset(
            self._vocabulary.added_tokens if special == "text" else self.special_tokens
        )
        edges: list[int] = []
        for match in any_of(specials).finditer(text):
            edges += match.span()
        return Fitting(
            text, lambda piece: self._encoder.count(piece, special), self._dividing_pattern, edges
        )

    @property
    def _dividing_pattern(self) -> Pattern | None:
        """The pattern that says where a text may be divided; None if its parts may have other ids."""
        vocabulary = self._vocabulary
        changes = vocabulary.normalization or vocabulary.token_flags or vocabulary.added_tokens
        return None if changes or SPACE in pattern_steps(self.pattern) else self.pattern

    # Decoding
    # ---------------------------------------------------------------------------------------

    def decode(self, ids: Ids, *, skip_special: bool = False, errors: str = "strict") -> str:
        """Decode ids. An unknown id raises `KeyError`; bytes that are not UTF-8 raise `UnicodeDecodeError`.

        `skip_special` omits special tokens, but not ordinary added tokens.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.decode([256, 257]), tok.decode([256, 0xC3], errors="replace")
        ('ab ab', 'ab\ufffd')
        >>> tok.decode([256, 258]), tok.decode([256, 258], skip_special=True)
        ('ab<|endoftext|>', 'ab')
        """
        if skip_special:
            special = self._special_ids()
            ids = [
                token_id for token_id in several("ids", "integers", ids) if token_id not in special
            ]
        try:
            if type(errors) is not str:
                check_type("errors", errors, str)
            return self._encoder.decode(ids, errors)
        except KeyError as unknown:
            raise unknown_id(unknown, self._vocabulary) from None

    def _special_ids(self) -> set[int]:
        listed = self._vocabulary.special_tokens.items()
        return {token_id for text, token_id in listed if text not in self._vocabulary.added_tokens}

    def decode_bytes(self, ids: Ids) -> bytes:
        """Return the bytes of ids, even if they are not UTF-8.

        >>> Tokenizer.train("ab ab ab", 258).decode_bytes([256, 0xC3])[:2]
        b'ab'
        """
        try:
            return self._encoder.decode_bytes(ids)
        except KeyError as unknown:
            raise unknown_id(unknown, self._vocabulary) from None

    def decode_batch(
        self,
        batch: Iterable[Ids],
        *,
        skip_special: bool = False,
        errors: str = "strict",
        num_threads: int | None = None,
    ) -> list[str]:
        """Decode several rows of ids on all cores, or on `num_threads` threads.

        >>> Tokenizer.train("ab ab ab", 258).decode_batch([[256, 257], []])
        ['ab ab', '']
        """
        rows = several("batch", "lists of ids", batch)
        special = self._special_ids() if skip_special else set()
        if special:
            rows = ([token_id for token_id in ids if token_id not in special] for ids in rows)
        try:
            check_type("errors", errors, str)
            return self._encoder.decode_batch(rows, errors, num_threads)
        except KeyError as unknown:
            raise unknown_id(unknown, self._vocabulary) from None

    def decode_column(
        self, column: Column, *, errors: str = "strict", nulls: Nulls = "error"
    ) -> Any:
        """Decode a column of lists of ids to a column of strings; `errors` is strict, replace or ignore.

        >>> import pyarrow
        >>> texts = Tokenizer.train("ab ab ab", 258).decode_column(pyarrow.array([[256, 257], []]))
        >>> pyarrow.array(texts).to_pylist()
        ['ab ab', '']
        """
        return columns.decoded(self._made_encoder(), column, errors, nulls)

    def decode_stream(
        self, *, prompt: Ids = (), skip_special: bool = False, errors: str = "replace"
    ) -> DecodeStream:
        """Return a stream that decodes ids as they arrive; an incomplete character waits for the next ids.

        A model may write bytes that are not text: each becomes U+FFFD, unless `errors` says
        otherwise. If the ids continue a prompt, pass the ids of the prompt, too: their text is not
        repeated, but they decide how a first space, and a character that they begin, are decoded.

        >>> stream = Tokenizer.train("ab ab ab", 258).decode_stream()
        >>> stream.push(256), stream.push(0xC3), stream.push([0xA9]), stream.finish()
        ('ab', '', 'é', '')
        """
        check_handler(errors)
        skipped = self._special_ids() if skip_special else set()
        stream = self._made_encoder().decode_stream(errors, skipped, unknown_in_stream)
        stream.push(prompt)
        return stream

    def decode_streams(
        self, *, skip_special: bool = False, errors: str = "replace"
    ) -> DecodeStreams:
        """Return many streams in one object, for a server: a step adds an id to each of a number of texts.

        Each text is that of a `decode_stream` with the same arguments.

        >>> streams = Tokenizer.train("ab ab ab", 258).decode_streams()
        >>> a, b = streams.open(), streams.open(prompt=[256])
        >>> streams.step([a, b, b], [256, 0xC3, 0xA9])
        ['ab', '', 'é']
        >>> streams.finish(a), streams.finish(b)
        ('', '')
        """
        check_handler(errors)
        skipped = self._special_ids() if skip_special else set()
        return self._made_encoder().decode_streams(errors, skipped, unknown_in_stream)

    # Looking inside
    # ---------------------------------------------------------------------------------

    def show(
        self, text: str, *, special: Special = "parse", add_special_tokens: bool = False
    ) -> ShownText:
        """Return the tokens of a text for display: coloured in a notebook, plain elsewhere.

        >>> Tokenizer.train("ab ab ab", 258).show("ab abc")
        ab| ab|c
        3 tokens, 6 bytes, 2.00 bytes per token
        """
        specials = set(self._vocabulary.special_tokens_apart.values())
        ids = self.encode(text, special, add_special_tokens=add_special_tokens)
        return ShownText(
            [ShownToken(token, self.token_bytes(token), token in specials) for token in ids]
        )

    def pretokens(self, text: str) -> list[bytes]:
        """Return the pretokens of a text, in order; a special token is a piece of its own.

        The text is normalized first, if the vocabulary has a normalization.

        >>> Tokenizer.train("ab", 257).pretokens("ab ab<|endoftext|>")
        [b'ab', b' ab', b'<|endoftext|>']
        """
        return self._encoder.pretokens(text)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token (for a special token, the bytes of its text).

        >>> Tokenizer.train("ab", 257).token_bytes(256)
        b'ab'
        """
        try:
            return self._encoder.token_bytes(token_id)
        except KeyError as unknown:
            raise unknown_id(unknown, self._vocabulary) from None

    def token_id(self, token: bytes | str) -> int:
        """Return the id of the token with these bytes; for special tokens, use `special_tokens`.

        >>> Tokenizer.train("ab", 257).token_id("ab")
        256
        """
        spelled = _bytes_of("token", token)
        id_of = self._vocabulary.id_of
        if end := (self._vocabulary.word_end or "").encode():
            at_end = spelled.removesuffix(end) + WORD_END
            spelled = at_end if spelled.endswith(end) and at_end in id_of else spelled
        if prefix := (self._vocabulary.word_start or "").encode():
            is_within = spelled.startswith(prefix)
            spelled = spelled.removeprefix(prefix) if is_within else WORD_START + spelled
        try:
            return id_of[spelled]
        except KeyError:
            raise unknown_token(spelled, self._vocabulary) from None

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token, special ones included, as Hugging Face's libraries spell tokens.

        That is one printable character for each byte, such as `Ġthe` for " the", or the spelling in
        the `tokenizer.json` that was read. SentencePiece's tokens keep its spelling, such as `▁the`
        and `<0x0A>`. `vocabulary.tokens` has the bytes.

        >>> vocab = Tokenizer.train("ab ab ab", 258).get_vocab()
        >>> vocab["Ġab"], vocab["<|endoftext|>"], len(vocab)
        (257, 258, 259)
        """
        return dict(self._spelled_ids())

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token as `get_vocab` spells it, or None if there is no such token.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.token_to_id("Ġab"), tok.token_to_id("<|endoftext|>"), tok.token_to_id("abc")
        (257, 258, None)
        """
        check_type("token", token, str)
        return self._spelled_ids().get(token)

    def _spelled_ids(self) -> dict[str, int]:
        if self._spelled is None:
            from bpetite.formats import spelling

            self._set(_spelled=spelling.spelled_ids(self._vocabulary, self._original))
        spelled: dict[str, int] = self._spelled or {}
        return spelled

    def __len__(self) -> int:
        """Return the number of tokens, special ones included."""
        return self.vocab_size

    def __bool__(self) -> bool:
        return True

    def __contains__(self, token: object) -> bool:
        """Whether a text or bytes are a token, as `token_id` takes it, or a special token."""
        if not isinstance(token, str | bytes):
            raise TypeError(f"a token is a str or bytes, not {type(token).__name__}")
        return token in self.special_tokens or _bytes_of("token", token) in self._vocabulary.id_of

    def tokens_with_prefix(self, prefix: bytes | str) -> list[int]:
        """Return the ids of the tokens that begin with these bytes, in ascending order.

        >>> tok = Tokenizer.train("low lower lowest", 262)
        >>> [tok.token_bytes(token_id) for token_id in tok.tokens_with_prefix("lo")]
        [b'lo', b'low']
        """
        begin = _bytes_of("prefix", prefix)
        token_of = self._vocabulary.tokens.__getitem__
        ids = self._vocabulary.ids_in_order
        first = bisect_left(ids, begin, key=token_of)
        end = bisect_left(
            ids, True, first, key=lambda token_id: not token_of(token_id).startswith(begin)
        )
        return sorted(ids[first:end])

    def token_table(self) -> Any:
        """Return the bytes of all tokens as an Arrow table: a row for each id from 0 to the largest.

        The bytes are those that decoding gives; an id without a token has none. `special` tokens are
        those that `skip_special` omits, and encoding never gives those that are `decode_only`.

        >>> table = Tokenizer.train("ab ab ab", 258).token_table()
        >>> table.slice(257).to_pylist()[1]
        {'id': 258, 'bytes': b'<|endoftext|>', 'special': True, 'decode_only': False}
        """
        from bpetite.encoding.token_table import token_table

        return token_table(self._made_encoder(), self._vocabulary, self._special_ids())

    def is_canonical(self, ids: Ids) -> bool:
        """Whether encoding the text of these ids returns the same ids; a model may write others.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.is_canonical([256, 257]), tok.is_canonical([97, 98])
        (True, False)
        """
        return self.first_difference(ids) is None

    def first_difference(self, ids: Ids) -> int | None:
        """Return the number of the first id that encoding the text of these ids changes, or None.

        Nothing behind it is decoded. Ids whose bytes are no text change, too.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.first_difference([256, 97, 98, 256]), tok.first_difference([256, 257])
        (1, None)
        """
        from bpetite.encoding.canonical import difference, first_difference

        listed = [*several("ids", "integers", ids)]
        if self._vocabulary.word_end is None and self._vocabulary.word_start is None:
            decoder = self.decode_stream()
            return first_difference(listed, decoder, self._encoder.encode_stream())
        places = [
            difference(listed, self._encoder.encode(text)) for text in self._texts_of_words(listed)
        ]
        return None if None in places else max(place or 0 for place in places)

    def _texts_of_words(self, ids: Sequence[int]) -> set[str]:
        """Return the texts that ids may stand for where tokens begin or end words."""
        tokens = [self._vocabulary.tokens.get(own) or self.token_bytes(own) for own in ids]
        words = b"".join(tokens).replace(WORD_START, WORD_END)
        texts = {self.decode(ids, errors="replace")}
        for between in (b"", b" "):
            texts.add(words.replace(WORD_END, between).decode("utf-8", "replace"))
        return texts

    def repair(self, ids: Ids) -> Repaired:
        """Return the ids of encoding the text of these ids, and the places that changed.

        A place is a range of the old ids and a range of the new ids in their place.

        >>> Tokenizer.train("ab ab ab", 258).repair([256, 97, 98, 256])
        Repaired(ids=[256, 256, 256], places=[(range(1, 3), range(1, 2))])
        """
        from bpetite.encoding.canonical import Repaired, changed_places

        given = [*several("ids", "integers", ids)]
        is_canonical = self.is_canonical(given)
        text = self.decode(given)
        listed = [*map(index, given)]
        if is_canonical:
            return Repaired(listed, [])
        new_ids, spans = self.encode_with_offsets(text, unit="bytes")
        sizes = {token_id: len(self.token_bytes(token_id)) for token_id in {*listed}}
        ends = [end for _, end in spans]
        size = len(text.encode("utf-8"))
        return Repaired(new_ids, changed_places(listed, new_ids, sizes, size, ends))

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary itself.

        >>> Tokenizer.train("ab ab ab", 258).vocabulary.merge_ids
        (256, 257)
        """
        return self._vocabulary

    @property
    def vocab_size(self) -> int:
        """The number of tokens, special ones included (for the largest id, see `largest_id`).

        >>> Tokenizer.train("ab ab ab", 258).vocab_size
        259
        """
        return self._vocabulary.vocab_size

    @property
    def largest_id(self) -> int:
        """The largest id in use. Ids may have gaps: an embedding table needs `largest_id + 1` rows.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.vocab_size, tok.largest_id
        (259, 258)
        """
        return self._vocabulary.largest_id

    @property
    def mergeable_vocab_size(self) -> int:
        """The number of tokens, without special ones.

        >>> Tokenizer.train("ab ab ab", 258).mergeable_vocab_size
        258
        """
        return self._vocabulary.mergeable_vocab_size

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The ids of the special tokens.

        >>> dict(Tokenizer.train("ab ab ab", 258).special_tokens)
        {'<|endoftext|>': 258}
        """
        return self._vocabulary.special_tokens

    @property
    def merges(self) -> Sequence[Pair]:
        """The merges as pairs of ids, in the order of rank.

        >>> Tokenizer.train("ab ab ab", 258).merges
        ((97, 98), (32, 256))
        """
        return self._vocabulary.merges

    @property
    def pattern(self) -> Pattern:
        """The regular expression whose matches are pretokens; or several, each for the previous one's pieces.

        >>> Tokenizer.train("ab ab ab", 258).pattern[:19]
        "'(?:[sdmt]|ll|ve|re"
        """
        return self._vocabulary.pattern

    @property
    def pattern_way(self) -> str:
        """The way the pattern is run: "masks", "automaton" or "machine", from the fastest to the slowest.

        Masks process hundreds of bytes at a time, the automaton one character after the other. The
        regex machine, needed for look-behind and the like, backtracks: it is many times slower, and
        a document is never divided among threads. `docs/patterns.md` says which patterns need it.

        >>> Tokenizer.train("to be or not to be", 260).pattern_way
        'masks'
        """
        return pattern_way(self.pattern)

    @property
    def dialect(self) -> Dialect:
        """The rules by which the vocabulary was trained.

        >>> Tokenizer.train("ab ab ab", 258).dialect.name
        'bpetite'
        """
        return self._vocabulary.dialect

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that decides how text becomes ids and ids become text.

        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.fingerprint == tok.truncate(257).fingerprint
        False
        """
        return self._vocabulary.fingerprint

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions made when another library's file was read, as sentences; empty for an artifact.

        They name the pattern, the special tokens and the Unicode version, where the file does not
        specify them.

        >>> Tokenizer.train("ab", 257).assumptions
        ()
        """
        return self._assumptions

    @property
    def template(self) -> Template | None:
        """The ids that the model's own library puts before (`prefix`) and after each text (`suffix`).

        It comes from the `post_processor` of a `tokenizer.json`, from `add_bos_token` and
        `add_eos_token` of a `tokenizer_config.json` or a GGUF file, from the class that a
        configuration names (RoBERTa), or is the `<s>` of a `tekken.json`. None if nothing is put
        there, as in a new training. `encode` and its like apply it with `add_special_tokens=True`.

        >>> import json, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "tokenizer.json")
        ...     Tokenizer.train("ab ab", 257).to_huggingface(path)
        ...     processor = {"type": "BertProcessing", "cls": ["a", 97], "sep": ["<|endoftext|>", 257]}
        ...     _ = path.write_text(json.dumps(json.loads(path.read_text()) | {"post_processor": processor}))
        ...     tok = Tokenizer.load(path)
        >>> tok.template
        Template(prefix=(97,), suffix=(257,))
        >>> tok.encode("ab ab", add_special_tokens=True)
        [97, 256, 32, 256, 257]
        """
        if isinstance(self._template, OtherTemplate):
            raise ValueError(f"the template cannot be applied: {self._template.reason}")
        return self._template

    # Memory
    # -----------------------------------------------------------------------------------------

    @property
    def memory(self) -> int:
        """The maximum size of this tokenizer's cache in bytes (`with_memory` sets it).

        By default that is 1/32 of the memory of the machine, or of the container of this process,
        but at least 32 MiB and at most 1 GiB; 128 MiB where the system does not say (macOS,
        Windows).

        >>> (32 << 20) <= Tokenizer.train("ab", 257).memory <= (1 << 30)
        True
        """
        return self._encoder.memory

    def with_memory(self, memory: int | str) -> Tokenizer:
        """Return the same tokenizer with its own cache of at most this size, such as `"512MiB"`.

        The cache holds the ids of earlier pretokens: a larger one is faster for hundreds of
        megabytes of many languages, and a smaller one (at least 1 MiB) saves memory, for example
        where many processes share a machine. The ids do not depend on it. The cache takes memory as
        it is used; while a full cache is replaced, there are two.

        >>> small = Tokenizer.train("ab ab", 258).with_memory("4 MiB")
        >>> small.memory, small.encode("ab ab")
        (4194304, [256, 257])
        """
        size = integer(
            "memory", number_with_unit("memory", memory, BYTES), least=1 << 20, most=sys.maxsize
        )
        kept = set(self.__slots__) - {"__weakref__", "_encoder"}
        same = object.__new__(type(self))
        same._set(**{name: getattr(self, name) for name in kept})
        return same._set(_encoder=self._encoder.with_memory(size))

    # Files
    # ------------------------------------------------------------------------------------------

    def save(self, path: AnyPath, overwrite: bool = False) -> None:
        """Save as an artifact; no partial file is ever left.

        An artifact holds the vocabulary, but not the `template`, which `to_huggingface` and
        `save_folder` write.

        >>> import tempfile
        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.save(f"{folder}/tok.json")
        ...     Tokenizer.load(f"{folder}/tok.json") == tok
        True
        """
        check_path("path", path)
        save_vocabulary(path, self._vocabulary, overwrite)

    @classmethod
    def load(
        cls,
        path_or_object: AnyPath | object,
        pattern: Pattern | None = None,
        special_tokens: SpecialTokens | None = None,
        *,
        missing: Missing = "refuse",
    ) -> Tokenizer:
        """Load an artifact, or any other file, folder or object that holds a BPE tokenizer.

        Files: `tokenizer.json`, a model's folder, tiktoken's files of ranks, `vocab.json` and
        `merges.txt`, `encoder.json` and `vocab.bpe`, `tekken.json`, GGUF, SentencePiece's `.model`
        of type BPE with byte fallback. Objects: a `tiktoken.Encoding`, a `tokenizers.Tokenizer`, a
        tokenizer of transformers. If a file lacks the pattern or the special tokens, pass them here
        (special tokens as a dict with ids, or a list). `assumptions` lists what was assumed.

        A name that is not a path, such as `Qwen/Qwen2.5-7B` or `cl100k_base`, is looked up in the
        caches of the Hugging Face Hub and of tiktoken. Nothing is downloaded: the error names the
        command that does.

        A few vocabularies lack tokens for some bytes, mostly control characters, or for some
        characters. A text with such a one is refused; with `missing="drop"` it is dropped, as in
        the model's own library.

        >>> import tempfile
        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.to_huggingface(f"{folder}/tokenizer.json")
        ...     Tokenizer.load(folder).encode("ab ab")
        [256, 257]
        """
        if isinstance(path_or_object, Tokenizer):
            return path_or_object
        if isinstance(path_or_object, str | os.PathLike):
            check_path("path_or_object", path_or_object)
        from bpetite.formats import loading

        imported = loading.load(path_or_object, pattern, special_tokens, missing)
        name = path_or_object if isinstance(path_or_object, str | os.PathLike) else "object"
        return cls._of_file(name, imported)

    def save_original(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Write the file or folder that this tokenizer was read from, byte for byte.

        A folder is written to a new folder: `tokenizer.json` with `tokenizer_config.json`, chat
        templates and all other files of the tokenizer, but nothing of the model. GPT-2's two files
        are also written to a folder. A single file is written to a file.

        >>> import os, tempfile
        >>> tok = Tokenizer.train("ab ab", 257)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.save_folder(f"{folder}/model")
        ...     Tokenizer.load(f"{folder}/model").save_original(f"{folder}/copy")
        ...     sorted(os.listdir(f"{folder}/copy"))
        ['tokenizer.json', 'tokenizer_config.json']
        """
        check_path("path", path)
        if self._original is None or not self._original.files:
            kind = "no file of another library"
            if self._original:
                kind = "GGUF with a model's weights, which are not kept"
            raise ValueError(f"{path}: this tokenizer comes from {kind}; it cannot be written back")
        if self._original.is_folder or self._original.kind == "gpt2":
            self._original.write_folder(path, overwrite=overwrite)
        else:
            self._original.write_file(path, overwrite=overwrite)

    def save_folder(
        self,
        path: AnyPath,
        *,
        overwrite: bool = False,
        bos_token: str | None = None,
        eos_token: str | None = None,
        pad_token: str | None = None,
        chat_template: str | None = None,
    ) -> None:
        """Write a folder for `transformers.AutoTokenizer.from_pretrained`; `load` reads it, too.

        The folder is created if it is missing. It has a `tokenizer.json`, as `to_huggingface`
        writes it, and a `tokenizer_config.json`, which says which tokens are special and what they
        are for. If the tokenizer was read from a folder with a `tokenizer.json`, all other files of
        the tokenizer are copied from there. After `extend` and `truncate`, all of this is kept
        around the new vocabulary.

        `bos_token`, `eos_token` and `pad_token` name special tokens, and `chat_template` is the
        text of a template. By default, these settings are the ones of the folder that the tokenizer
        was read from. If it names no `bos_token` or `eos_token`, special tokens with usual names
        are used, such as `<|endoftext|>`; with a template, the `eos_token` is the token that ends a
        message, such as `<|im_end|>`.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Tokenizer.train("ab ab", 257).save_folder(f"{folder}/mine")
        ...     sorted(os.listdir(f"{folder}/mine")), Tokenizer.load(f"{folder}/mine").vocab_size
        (['tokenizer.json', 'tokenizer_config.json'], 258)
        """
        from bpetite.formats import huggingface

        check_path("path", path)
        if chat_template is not None:
            check_type("chat_template", chat_template, str)
        roles = {"bos_token": bos_token, "eos_token": eos_token, "pad_token": pad_token}
        files = self._as_huggingface_files(path, chat_template)
        files = huggingface.configured(files, self._vocabulary, roles, chat_template)
        files.write_folder(path, overwrite=overwrite)

    def _as_huggingface_files(self, path: AnyPath, chat_template: str | None = None) -> Original:
        """Return the files of a `tokenizer.json`: those that this was read from, or new ones."""
        from bpetite.formats import huggingface

        original = self._original_of("huggingface")
        if original is not None:
            return original
        files = huggingface.changed(self._vocabulary, self._original, self._template, chat_template)
        read_back = huggingface.parse(path, files.content)
        if self._vocabulary.drops_missing:
            read_back = read_back.dropping()
        self._check_export(read_back, path)
        return files

    @classmethod
    def _of_file(cls, path: AnyPath, read: Imported) -> Tokenizer:
        with naming(path):  # a pattern that the engine cannot run
            tokenizer = cls(read.vocabulary, read.assumptions)
        return tokenizer._set(_original=read.original)._with_template(read.template)

    def _original_of(self, kind: str) -> Original | None:
        """Return the files that this was read from, if they are of a format."""
        original = self._original
        return original if original is not None and original.kind == kind else None

    # Files of other libraries
    # -----------------------------------------------------------------------

    @classmethod
    def from_tiktoken(
        cls,
        path: AnyPath,
        *,
        pattern: Pattern,
        special_tokens: SpecialTokens = (),
        whole_pretoken_first: bool = True,
    ) -> Tokenizer:
        """Read tiktoken's file of ranks, with the pattern and the special tokens, which such files lack.

        Special tokens are a dict with ids, or a list whose ids follow the last rank. Tokens that no
        merge makes are used for whole pretokens, as in tiktoken; `whole_pretoken_first=False`
        refuses such files.

        >>> import tempfile
        >>> tok = Tokenizer.train_from_iterator(["ab ab"], 259, dialect="tiktoken")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.to_tiktoken(f"{folder}/mine.tiktoken")
        ...     same = Tokenizer.from_tiktoken(
        ...         f"{folder}/mine.tiktoken", pattern="gpt2", special_tokens=["<|endoftext|>"]
        ...     )
        >>> same == tok
        True
        """
        from bpetite.formats import tiktoken

        check_path("path", path)
        rules = pattern, special_tokens, whole_pretoken_first
        return cls._of_file(path, read_files("tiktoken", tiktoken.parse, [path], *rules))

    def to_tiktoken(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Write tiktoken's file of ranks. To load it, the same pattern and special tokens must be given.

        The file does not hold the `template`, which `to_huggingface` and `save_folder` write.

        A tokenizer that was read from such a file is written byte for byte as it was.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "mine.tiktoken")
        ...     Tokenizer.train("ab ab", 257).to_tiktoken(path)
        ...     path.read_text().splitlines()[-1]
        'YWI= 256'
        """
        from bpetite.formats import tiktoken

        check_path("path", path)
        if original := self._original_of("tiktoken"):
            original.write_file(path, overwrite=overwrite)
            return
        content = tiktoken.to_bytes(self._vocabulary)
        rules = self.pattern, self.special_tokens, self._vocabulary.whole_pretoken_first
        self._check_export(tiktoken.parse(path, content, *rules), path)
        write_all({path: content}, overwrite=overwrite)

    def as_tiktoken(self, name: str = "bpetite") -> Encoding:
        """Return this tokenizer with the interface of `tiktoken.Encoding`; tiktoken need not be installed.

        >>> Tokenizer.train("ab ab", 257).as_tiktoken().encode("ab<|endoftext|>", allowed_special="all")
        [256, 257]
        """
        from bpetite.interfaces.tiktoken import Encoding

        return Encoding(name, self._vocabulary, self._made_encoder())

    def as_huggingface(self) -> HuggingFaceTokenizer:
        """Return this tokenizer with the interface of `tokenizers.Tokenizer`; tokenizers must be installed.

        `transformers.PreTrainedTokenizerFast(tokenizer_object=...)` accepts it. A tokenizer read by
        `from_huggingface` keeps its template, decoder, truncation and padding.

        >>> Tokenizer.train("ab ab ab", 258).as_huggingface().encode("ab ab").ids
        [256, 257]
        """
        from bpetite.formats import huggingface
        from bpetite.interfaces.huggingface import HuggingFaceTokenizer

        original = self._original_of("huggingface")
        content = (
            original.content if original else huggingface.to_bytes(self._vocabulary, self._template)
        )
        return HuggingFaceTokenizer.from_str(content.decode("utf-8"))

    def to_tiktoken_encoding(self, name: str = "bpetite") -> TiktokenEncoding:
        """Build a real `tiktoken.Encoding`; tiktoken must be installed.

        >>> Tokenizer.train("ab ab ab", 258).to_tiktoken_encoding().encode("ab ab")
        [256, 257]
        """
        from bpetite.formats import tiktoken

        return tiktoken.peer_encoding(self._vocabulary, name, self._encoder.encode)

    @classmethod
    def from_huggingface(cls, path: AnyPath) -> Tokenizer:
        """Read the `tokenizer.json` of a BPE tokenizer; one that cannot be reproduced exactly is refused.

        >>> import tempfile
        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.to_huggingface(f"{folder}/tokenizer.json")
        ...     Tokenizer.from_huggingface(f"{folder}/tokenizer.json").encode("ab ab")
        [256, 257]
        """
        from bpetite.formats import huggingface

        check_path("path", path)
        return cls._of_file(path, read_files("huggingface", huggingface.parse, [path]))

    def to_huggingface(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Write a `tokenizer.json`, one file; `save_folder` writes a folder that transformers loads.

        A tokenizer that was read from a `tokenizer.json` is written byte for byte as it was,
        including what a vocabulary does not hold: templates, decoders, truncation, padding. Any
        other is written with its `template`, so that the real library gives the ids of `encode`
        with `add_special_tokens=True`; of a pair of texts, each gets the template.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Tokenizer.train("ab ab", 257).to_huggingface(f"{folder}/tokenizer.json")
        ...     Tokenizer.load(f"{folder}/tokenizer.json").encode("ab")
        [256]
        """
        check_path("path", path)
        if is_folder(os.fspath(path)):
            raise IsADirectoryError(
                f"{path} is a folder; save_folder writes one that transformers loads"
            )
        self._as_huggingface_files(path).write_file(path, overwrite=overwrite)

    @classmethod
    def from_gpt2(
        cls,
        vocab_path: AnyPath,
        merges_path: AnyPath,
        *,
        special_tokens: Sequence[str] | None = None,
    ) -> Tokenizer:
        """Read GPT-2's `vocab.json` and `merges.txt`; the pattern is GPT-2's.

        Special tokens that `vocab.json` lacks get ids after its last one. If none are given,
        `<|endoftext|>` is a special token if it is in the file. The files may have any names; those
        of courses, which list tokens in another way, are read, too.

        >>> import tempfile
        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.to_gpt2(f"{folder}/vocab.json", f"{folder}/merges.txt")
        ...     Tokenizer.from_gpt2(f"{folder}/vocab.json", f"{folder}/merges.txt").encode("ab ab")
        [256, 257]
        """
        from bpetite.formats.loading import load_pair

        check_path("vocab_path", vocab_path)
        check_path("merges_path", merges_path)
        read = load_pair(os.fspath(vocab_path), os.fspath(merges_path), special_tokens)
        return cls._of_file(vocab_path, read)

    def to_gpt2(
        self, vocab_path: AnyPath, merges_path: AnyPath, *, overwrite: bool = False
    ) -> None:
        """Write GPT-2's `vocab.json` and `merges.txt`, both or none.

        The files do not hold the `template`, which `to_huggingface` and `save_folder` write.

        A tokenizer that was read from two such files is written byte for byte as it was.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     vocab, merges = pathlib.Path(folder, "vocab.json"), pathlib.Path(folder, "merges.txt")
        ...     Tokenizer.train("ab ab", 257).to_gpt2(vocab, merges)
        ...     merges.read_text().splitlines()
        ['#version: 0.2', 'a b']
        """
        from bpetite.formats import gpt2

        check_path("vocab_path", vocab_path)
        check_path("merges_path", merges_path)
        if original := self._original_of("gpt2"):
            vocab, merges, *_ = original.files.values()
        else:
            vocab, merges = gpt2.to_bytes(self._vocabulary)
            read_back = gpt2.parse(
                vocab_path, vocab, merges_path, merges, list(self.special_tokens)
            )
            self._check_export(read_back, vocab_path)
        write_all({vocab_path: vocab, merges_path: merges}, overwrite=overwrite)

    def _check_export(self, read_back: Imported, path: AnyPath) -> None:
        """Refuse an export that, read back, encodes difficult texts to other ids."""
        from bpetite.formats.shared.difficult import check_same_ids

        encode = encoder_of(read_back.vocabulary).encode
        check_same_ids(self._vocabulary, self._encoder.encode, encode, os.fspath(path))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a tokenizer is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a tokenizer is immutable: {name} cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the vocabulary and the files that it was read from, compressed: nothing is lost."""
        import pickle
        import zlib

        attributes = {
            "_assumptions": self._assumptions,
            "_original": self._original,
            "_template": self._template,
            "_warns_of_template": self._warns_of_template,
        }
        parts = general_artifact_bytes(self._vocabulary), attributes, self._encoder.chosen_memory
        return _from_packed, (type(self), zlib.compress(pickle.dumps(parts), 1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        size = self._vocabulary.size_in_words
        return (
            f"Tokenizer({size}, dialect {self.dialect.name}, fingerprint {self.fingerprint[:12]})"
        )


def _streamed(stream: Any, pieces: Iterator[str]) -> Iterator[int]:
    """Yield the ids of the pieces of a text."""
    for piece in pieces:
        yield from stream.feed(piece)
    yield from stream.finish()


def _from_packed(kind: type[Tokenizer], packed: bytes) -> Tokenizer:
    import pickle
    import zlib

    artifact, attributes, memory = pickle.loads(zlib.decompress(packed))
    same = kind(vocabulary_of(artifact, "pickle"))._set(**attributes)
    return (
        same if memory is None else same.with_memory(memory)
    )  # None: what is usual on this machine
