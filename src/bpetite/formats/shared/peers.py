"""Files in, encoders of their own libraries out, and whether they give the same ids."""

import base64
import json
from collections.abc import Collection, Iterable
from importlib.metadata import version
from typing import Any, NamedTuple

from bpetite._internal.json import naming
from bpetite.formats import gpt2
from bpetite.formats.huggingface import written_added_tokens
from bpetite.formats.huggingface_steps import pre_tokenizer_of
from bpetite.formats.shared.difficult import Encodes, check_same_ids
from bpetite.formats.shared.imported import Original
from bpetite.formats.tiktoken import made_encoding
from bpetite.normalization import normalizing, steps_in
from bpetite.vocabulary import Vocabulary


class Peer(NamedTuple):
    """A tokenizer in its own library."""

    library: str
    encode: Encodes
    tokens_as_text: Collection[str] = ()
    """The special tokens that it does not find in a text."""


class Compared(NamedTuple):
    """What gave the same ids, and on how many texts."""

    library: str
    version: str
    texts: int


def compared_with(
    original: Original | None,
    vocabulary: Vocabulary,
    encode: Encodes,
    where: str,
    texts: Iterable[str] = (),
) -> Compared | None:
    """Compare the ids of difficult texts and others with those of the files' own library, if there is one."""
    with naming(where):
        peer = None if original is None else peer_of(original, vocabulary)
    if peer is None:
        return None
    where = f"{where}, as {peer.library} reads it,"
    count = check_same_ids(vocabulary, encode, peer.encode, where, texts, peer.tokens_as_text)
    return Compared(peer.library, version(peer.library), count)


def peer_of(original: Original, vocabulary: Vocabulary) -> Peer | None:
    """Load files with their own library, with what they lack of the vocabulary."""
    if original.kind == "tiktoken":
        return Peer("tiktoken", _tiktoken_encode(original.content, vocabulary))
    if original.kind == "tekken":
        return Peer(
            "tiktoken", _tekken_encode(original.content, vocabulary), vocabulary.special_tokens
        )
    if original.kind == "sentencepiece":
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_proto=original.content)
        # It finds pieces that a user defined, but no control symbols.
        specials = set(vocabulary.special_tokens) - set(vocabulary.added_tokens)
        return Peer("sentencepiece", model.encode, specials)
    if original.kind not in ("huggingface", "gpt2"):
        return None
    content = original.content
    if original.kind == "gpt2":
        content = _joined_files(original, vocabulary)
    return Peer("tokenizers", _tokenizers_encode(content))


def _tokenizers_encode(content: bytes) -> Encodes:
    """Load a `tokenizer.json` into tokenizers; only what decides the ids of a text itself is applied."""
    library = tokenizers_library()
    try:
        peer = library.Tokenizer.from_str(content.decode("utf-8"))
    except Exception as error:  # It raises nothing more exact.
        raise ValueError(f"tokenizers {library.__version__} cannot read it: {error}") from None
    # A file may ask for ids of padding behind a text, or for the first ids only.
    peer.no_padding()
    peer.no_truncation()
    return lambda text: peer.encode(text, add_special_tokens=False).ids


def _joined_files(original: Original, vocabulary: Vocabulary) -> bytes:
    """Return GPT-2's two files as a `tokenizer.json`, with what they lack: pattern and special tokens."""
    vocab, merges = [content.decode("utf-8") for content in original.files.values()][:2]
    ids = json.loads(vocab)
    lines = merges.replace("\r\n", "\n").split("\n")
    if lines[0].startswith("#version"):
        del lines[0]
    pairs = [line.split(" ") for line in lines if line]
    if vocabulary.word_end is not None:
        document = gpt2.clip_document(ids, pairs, vocabulary.special_tokens)
        return json.dumps({"version": "1.0", **document}).encode("utf-8")
    model = {"type": "BPE", "vocab": {**ids, **vocabulary.special_tokens}, "merges": pairs}
    document = {
        "version": "1.0",
        "added_tokens": written_added_tokens(vocabulary),
        "pre_tokenizer": pre_tokenizer_of(vocabulary.pattern, vocabulary.left_out),
        "model": model,
    }
    return json.dumps(document).encode("utf-8")


def _tekken_encode(content: bytes, vocabulary: Vocabulary) -> Encodes:
    """Load ranks into tiktoken, as mistral_common does."""
    document = json.loads(content)
    first = document["config"]["default_num_special_tokens"]
    entries = document["vocab"][: document["config"]["default_vocab_size"] - first]
    ranks = {base64.b64decode(entry["token_bytes"]): first + entry["rank"] for entry in entries}
    return made_encoding("tekken", vocabulary, ranks).encode_ordinary


def _tiktoken_encode(content: bytes, vocabulary: Vocabulary) -> Encodes:
    """Load ranks into tiktoken."""
    lines = (line.split() for line in content.splitlines() if line.strip())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = made_encoding("the file", vocabulary, ranks)
    normalizer = normalizing(steps_in(vocabulary.normalization))
    return lambda text: encoding.encode(normalizer(text), allowed_special="all")


def tokenizers_library() -> Any:
    """Return tokenizers; a version with another interface than the one that is imitated here is refused."""
    import tokenizers

    if not hasattr(tokenizers.Tokenizer, "from_str"):
        raise ImportError(
            f"tokenizers {tokenizers.__version__} has another interface, which is not supported; install "
            "tokenizers 0.22 or 0.23, or give the tokenizer.json, which can be read without it"
        )
    return tokenizers
