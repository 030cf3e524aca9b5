"""Real tokenizer files → `docs/models.md`: which models' tokenizers can be read, and how that is known.

    python tools/make_models_page.py FOLDER...

The folders hold real files, which may be compressed with xz (see `make test-models`). If there is a file of
a model, it is loaded, and its ids are compared with those of its own library. What the page says of other
models is known from descriptions of their files, and is marked as that. Patterns come from the package's
table.
"""

from __future__ import annotations

import base64
import json
import lzma
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bpetite import Tokenizer
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.normalization import normalizing, steps_in

PAGE = Path(__file__).parents[1] / "docs" / "models.md"

BYTES, CHARACTERS = "byte-level BPE", "BPE over characters with byte fallback"


@dataclass(frozen=True)
class Family:
    """Models that share a tokenizer, or a kind of tokenizer."""

    name: str
    kind: str
    models: str
    file: str = ""
    """The name of a file in one of the folders."""
    of: str = ""
    """The model that the file is of, if it is not the first."""
    refused: str = ""
    """The reason if it is refused."""
    pattern: str | None = None


FAMILIES = (
    Family(
        "GPT-2",
        BYTES,
        "GPT-2, DistilGPT-2, DialoGPT, GPT-Neo, GPT-J, OPT, Cerebras-GPT, Phi-1, Phi-2",
        "vocab.json",
    ),
    Family("RoBERTa", BYTES, "RoBERTa, DistilRoBERTa, BART, Longformer, CodeBERT", "roberta/tokenizer.json"),
    Family("cl100k", BYTES, "GPT-3.5, GPT-4, Phi-4", "tiktoken/cl100k_base.tiktoken", "GPT-4"),
    Family("o200k", BYTES, "GPT-4o, gpt-oss-20b, gpt-oss-120b", "tiktoken/o200k_base.tiktoken"),
    Family(
        "Llama 3",
        BYTES,
        "Llama 3, Llama 3.1, Llama 3.2, Llama 3.3, Llama Nemotron, Hermes 3, Tulu 3, "
        "DeepSeek-R1-Distill-Llama",
        "llama3/tokenizer.json",
    ),
    Family("Llama 4", BYTES, "Llama 4 Scout, Llama 4 Maverick", "llama4/tokenizer.model"),
    Family("Qwen 1", BYTES, "Qwen, Qwen-VL, Qwen-Audio", "qwen/qwen.tiktoken"),
    Family(
        "Qwen 2 and 3",
        BYTES,
        "Qwen 1.5, Qwen2, Qwen2.5, Qwen2.5-Coder, Qwen2.5-VL, QwQ, Qwen3, Qwen3-Coder, Qwen3-Embedding, "
        "DeepSeek-R1-Distill-Qwen",
        "qwen2.5/tokenizer.json",
        "Qwen2.5",
    ),
    Family("Qwen 3.5", BYTES, "Qwen3.5"),
    Family(
        "DeepSeek V3",
        BYTES,
        "DeepSeek-V3, DeepSeek-R1, DeepSeek-V3.1, DeepSeek-V3.2",
        "deepseek-v3/tokenizer.json",
    ),
    Family("DeepSeek Coder", BYTES, "DeepSeek-Coder, DeepSeek-LLM, DeepSeek-V2", "gguf/deepseek-coder.gguf"),
    Family(
        "Tekken",
        BYTES,
        "Mistral Nemo, Mistral Small 3, Ministral, Pixtral, Magistral, Devstral",
        "tekken/tekken.json",
        "Pixtral",
    ),
    Family("Kimi", BYTES, "Kimi K2, Moonlight", "kimi-k2/tiktoken.model", pattern="kimi-k2"),
    Family("Whisper", BYTES, "Whisper tiny to large-v3", "whisper/tokenizer.json"),
    Family(
        "GPT-NeoX",
        BYTES,
        "GPT-NeoX, Pythia, Dolly, MPT, OLMo, OLMo 2, ModernBERT, StableLM, RWKV-4 Pile, Mamba",
        "gpt-neox/tokenizer.json",
    ),
    Family(
        "StarCoder",
        BYTES,
        "StarCoder, StarCoder2, SantaCoder, SmolLM, SmolLM2, Granite Code",
        "gguf/starcoder.gguf",
    ),
    Family("Cohere", BYTES, "Command, Command-R, Command-R+, Aya, Aya Expanse", "cohere/tokenizer.json"),
    Family("Falcon", BYTES, "Falcon, Falcon 3"),
    Family("Claude", BYTES, "Claude, Claude Instant, Claude 2", "claude/tokenizer.json"),
    Family("BLOOM", BYTES, "BLOOM, BLOOMZ"),
    Family("GLM-4", BYTES, "GLM-4, GLM-4.5, GLM-4.6"),
    Family("SmolLM3, MiniMax, Hunyuan", BYTES, "SmolLM3, MiniMax-M2, Hunyuan-A13B, EXAONE 3.5, Seed-OSS"),
    Family(
        "Llama 2",
        CHARACTERS,
        "Llama, Llama 2, Code Llama, Vicuna, Alpaca, TinyLlama, Phi-3, Phi-3.5",
        "llama2/tokenizer.model",
    ),
    Family(
        "Mistral",
        CHARACTERS,
        "Mistral 7B v0.1, Mistral 7B v0.2, Mistral 7B v0.3, Mixtral 8x7B, Mixtral 8x22B, Zephyr, OpenHermes",
        "mistral/tokenizer.json",
        "Mistral 7B v0.3",
    ),
    Family("Gemma", CHARACTERS, "Gemma, Gemma 2, Gemma 3, CodeGemma, PaliGemma, MedGemma"),
    Family("Yi, InternLM 2", CHARACTERS, "Yi, Yi 1.5, InternLM2, MiniCPM, Baichuan 2", "yi/tokenizer.model"),
    Family("Jamba", CHARACTERS, "Jamba", "jamba/tokenizer.model"),
    Family("BERT", "WordPiece", "BERT, DistilBERT, MiniLM, E5, BGE, GTE, ELECTRA", refused="WordPiece"),
    Family("T5", "Unigram", "T5, FLAN-T5, mT5, UMT5", refused="Unigram"),
    Family("XLM-R", "Unigram", "XLM-RoBERTa, multilingual-e5, BGE-M3, jina-embeddings-v3", refused="Unigram"),
    Family(
        "ALBERT, XLNet, DeBERTa-v3", "Unigram", "ALBERT, XLNet, DeBERTa-v3, Pegasus, mBART", refused="Unigram"
    ),
    Family(
        "NLLB",
        "BPE over characters",
        "NLLB-200, M2M-100",
        refused="ids that are not those of its SentencePiece model",
    ),
    Family("CLIP", "BPE with ends of words", "CLIP, OpenCLIP", refused="CLIP's vocabulary"),
    Family("RWKV", "a trie of bytes", "RWKV-5, RWKV-6, RWKV-7", refused="an RWKV vocabulary"),
)


HEAD = """\
# Models

{count} of the most used open models, by the tokenizer that they share. Written by
`python tools/make_models_page.py FOLDER...` with bpetite {bpetite}, {libraries}.

A model is *checked* if the named file of that model was loaded and gave the ids of its own library on {texts}
difficult texts and real code, or those that llama.cpp recorded. For all other models there was no file:
their state is *known* from the kind of their files.

| tokenizer | kind | models | state |
|---|---|---|---|
"""

END = """
`Tokenizer.load` tells what it assumed, or why it refuses ([switching.md](switching.md)).
"""


def main(folders: Sequence[Path]) -> None:
    """Write the page."""
    libraries = ("tokenizers", "tiktoken", "sentencepiece")
    head = HEAD.format(
        count=sum(len(family.models.split(", ")) for family in FAMILIES),
        bpetite=version("bpetite"),
        libraries=", ".join(f"{name} {version(name)}" for name in libraries),
        texts=len(DIFFICULT_TEXTS),
    )
    PAGE.write_text(head + "".join(_row(family, folders) for family in FAMILIES) + END, "utf-8")


def _row(family: Family, folders: Sequence[Path]) -> str:
    return f"| {family.name} | {family.kind} | {family.models} | {_state(family, folders)} |\n"


def _state(family: Family, folders: Sequence[Path]) -> str:
    if family.refused:
        return f"*known*: refused ({family.refused})"
    names = [family.file, "merges.txt"] if family.file == "vocab.json" else [family.file]
    found = next((folder for folder in folders if family.file and _is_there(folder / names[0])), None)
    if found is None:
        return "*known*: its kind loads"
    with tempfile.TemporaryDirectory() as unpacked:
        paths = [Path(unpacked, Path(name).name) for name in names]
        for name, path in zip(names, paths, strict=True):
            path.write_bytes(_content(found / name))
        tok = Tokenizer.load(paths[0], pattern=family.pattern)
        _check(family, found, paths[0], tok)
    of = family.of or family.models.split(", ")[0]
    return f"*checked* on `{paths[0].name}` of {of} ({tok.vocab_size:,} tokens)"


def _is_there(path: Path) -> bool:
    return path.exists() or path.with_name(f"{path.name}.xz").exists()


def _content(path: Path) -> bytes:
    packed = path.with_name(f"{path.name}.xz")
    return lzma.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()


def _check(family: Family, folder: Path, path: Path, tok: Tokenizer) -> None:
    """Compare ids with those of the file's own library, or with recorded ones."""
    if path.suffix == ".gguf":
        recorded = folder / family.file
        texts = recorded.with_suffix(".inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
        rows = recorded.with_suffix(".out").read_text("utf-8").split("\n")
        for text, row in zip(texts, rows, strict=False):
            if tok.encode(text) != list(map(int, row.split())):
                raise SystemExit(f"{family.file}: other ids than are recorded for {text[:60]!r}")
        return
    theirs = _theirs(path, tok)
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    code = [source.read_text("utf-8") for source in modules[::6]]
    texts = [*DIFFICULT_TEXTS, *code]
    if _is_sentencepiece(path):
        # It finds the pieces that a user defined, but no control pieces.
        controls = set(tok.special_tokens) - set(tok.vocabulary.added_tokens)
        texts = [text for text in texts if not any(control in text for control in controls)]
    encode = tok.encode if path.name == "tokenizer.json" or _is_sentencepiece(path) else tok.encode_ordinary
    for text in texts:
        if encode(text) != list(theirs(text)):
            raise SystemExit(f"{family.file}: other ids than its own library gives for {text[:60]!r}")


def _is_sentencepiece(path: Path) -> bool:
    """Whether a file is a model of SentencePiece; tiktoken's files of ranks may have the same name."""
    return path.name == "tokenizer.model" and path.read_bytes().startswith(b"\n")


def _theirs(path: Path, tok: Tokenizer) -> Callable[[str], Sequence[int]]:
    """The encoder of a file's own library."""
    if path.name == "tokenizer.json":
        import tokenizers

        peer = tokenizers.Tokenizer.from_file(str(path))
        return lambda text: list(peer.encode(text, add_special_tokens=False).ids)
    if path.name == "vocab.json":
        import tokenizers

        read = tokenizers.ByteLevelBPETokenizer.from_file(str(path), str(path.with_name("merges.txt")))
        return lambda text: list(read.encode(text).ids)
    if _is_sentencepiece(path):
        import sentencepiece

        return sentencepiece.SentencePieceProcessor(model_file=str(path)).encode  # type: ignore[no-any-return]
    import tiktoken

    if path.name == "tekken.json":
        document = json.loads(path.read_bytes())
        config = document["config"]
        first = config["default_num_special_tokens"]
        entries = document["vocab"][: config["default_vocab_size"] - first]
        ranks = {base64.b64decode(entry["token_bytes"]): first + entry["rank"] for entry in entries}
    else:
        lines = (line.split() for line in path.read_bytes().splitlines())
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = tiktoken.Encoding(path.name, pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens={})
    normalizer = normalizing(steps_in(tok.vocabulary.normalization))
    return lambda text: encoding.encode_ordinary(normalizer(text))


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
