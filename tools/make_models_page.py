"""Real tokenizer files → `docs/models.md`: what was tried, by file, and what came of it.

    python tools/make_models_page.py FOLDER

FOLDER holds a folder for each model, named as below, with its file: `qwen-3.5/tokenizer.json`. Each
file is loaded, and its ids are compared as `bpetite check` does, or with recorded ids beside the
file (`.inp` and `.out`, as llama.cpp has them).
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from bpetite import Tokenizer
from bpetite.formats.shared.peers import compared_with

PAGE = Path(__file__).parents[1] / "docs" / "models.md"


@dataclass(frozen=True)
class Family:
    """Models that share a tokenizer, except perhaps for its special tokens."""

    name: str
    files: Mapping[str, str] = field(default_factory=dict)
    """The files of models, by the models' names."""
    others: str = ""
    """Models of which there is no file, and which are said to have this tokenizer."""
    pattern: str | None = None


_JSON = "{}/tokenizer.json".format
FAMILIES = (
    Family("ALBERT, DeBERTa-v3, XLM-R, mT5"),
    Family(
        "BERT", {"BERT": _JSON("bert"), "GTE": _JSON("gte")}, "DistilBERT, MiniLM, E5, BGE, ELECTRA"
    ),
    Family("BLOOM"),
    Family("Claude 2", {"Claude 2": _JSON("claude")}, "Claude, Claude Instant"),
    Family("CLIP", {"CLIP": _JSON("clip")}, "OpenCLIP"),
    Family("Cohere", {"Command": _JSON("cohere")}, "Command-R, Aya"),
    Family(
        "DeepSeek Coder",
        {"DeepSeek-Coder 33B": _JSON("deepseek-coder-33b-base")},
        "DeepSeek-Coder 1.3B, 6.7B",
    ),
    Family(
        "DeepSeek V2",
        {"DeepSeek-LLM": _JSON("deepseek-llm-7b-base"), "DeepSeek-V2": _JSON("deepseek-v2")},
        "DeepSeek-V2.5, DeepSeek-VL",
    ),
    Family(
        "DeepSeek V3",
        {
            "V3": _JSON("deepseek-v3"),
            "R1": _JSON("deepseek-r1"),
            "V3.1": _JSON("deepseek-v3.1"),
            "V3.2": _JSON("deepseek-v3.2"),
            "VL2": _JSON("deepseek-vl2"),
            "OCR": _JSON("deepseek-ocr"),
        },
    ),
    Family("DeepSeek V4", {"DeepSeek-V4": _JSON("deepseek-v4")}),
    Family("Falcon"),
    Family("Gemma 1 and 2"),
    Family(
        "Gemma 3",
        {"Gemma 3 270M": "gemma-3/gemma-3-270m.gguf"},
        "other Gemma 3, EmbeddingGemma, MedGemma",
    ),
    Family("Gemma 4"),
    Family("GLM-4", {"GLM-4": _JSON("glm-4"), "GLM-4-32B-0414": _JSON("glm-4-32b-0414")}, "GLM-Z1"),
    Family("GLM-4.5", {"GLM-4.5V": _JSON("glm-4.5v")}, "GLM-4.5, GLM-4.6"),
    Family("GLM-4.7", {"GLM-4.7-Flash": _JSON("glm-4.7-flash")}, "GLM-5"),
    Family(
        "GPT-2", {"GPT-2": _JSON("gpt2")}, "GPT-3, DistilGPT-2, GPT-Neo, GPT-J, OPT, Phi-1, Phi-2"
    ),
    Family("GPT-3 (Codex)", {"p50k_base": "p50k/p50k_base.tiktoken"}, "text-davinci-003, Codex"),
    Family("GPT-4", {"cl100k_base": "cl100k/cl100k_base.tiktoken"}, "GPT-3.5, GPT-4"),
    Family(
        "GPT-4o",
        {"o200k_base": "o200k/o200k_base.tiktoken"},
        "GPT-4o, GPT-5, gpt-oss-20b, gpt-oss-120b",
    ),
    Family(
        "GPT-NeoX",
        {"GPT-NeoX": _JSON("gpt-neox"), "MPT": _JSON("mpt"), "ModernBERT": _JSON("modernbert")},
        "Pythia, Dolly, OLMo 1, Mamba",
    ),
    Family("Granite 4"),
    Family("Hunyuan", {"Hunyuan-A13B": "hunyuan-a13b/hy.tiktoken"}, pattern="qwen2"),
    Family("Jamba"),
    Family("Jiutian", {"Jiutian-139MoE": _JSON("jiutian-139moe-chat")}),
    Family("Jurassic-2", {"Jurassic-2": "jurassic-2/j2.model"}),
    Family(
        "Kimi",
        {"Kimi K2": "kimi-k2/tiktoken.model"},
        "Kimi K2.5, Kimi Linear, Moonlight",
        "kimi-k2",
    ),
    Family(
        "Llama 2",
        {"Llama 2": "llama2/tokenizer.model"},
        "Llama, Code Llama, Vicuna, TinyLlama, Phi-3",
    ),
    Family(
        "Llama 3",
        {
            "Llama 3": "llama3/tokenizer.model",
            "DeepSeek-R1-Distill-Llama-8B": _JSON("deepseek-r1-distill-llama-8b"),
        },
        "Llama 3.1, 3.2 and 3.3, Llama Nemotron, Hermes 3, Tulu 3",
    ),
    Family("Llama 4", {"Llama 4": "llama4/tokenizer.model"}),
    Family(
        "MiniMax",
        {
            "MiniMax-Text-01": _JSON("minimax-text-01"),
            "M1": _JSON("minimax-m1-40k"),
            "M2": _JSON("minimax"),
            "M3": _JSON("minimax-m3"),
        },
    ),
    Family(
        "Mistral (SentencePiece)",
        {
            "Mistral 7B v0.1": "mistral-0.1/tokenizer.model",
            "v0.3": "mistral-0.3/tokenizer.model",
            "v0.3 as tokenizer.json": _JSON("mistral-0.3-json"),
            "Mistral Large 2411": "mistral-large/tokenizer.model",
        },
        "Mixtral, Zephyr",
    ),
    Family(
        "Mistral (Tekken)",
        {"Mistral Nemo": "mistral-nemo/tekken.json", "Pixtral": "pixtral/tekken.json"},
        "Mistral Small 3, Devstral, Magistral",
    ),
    Family("Mistral Large 3, Ministral 3, Medium 3.5"),
    Family("Nemotron 3"),
    Family("NLLB"),
    Family("NovelAI", {"Nerdstash": "nerdstash/tokenizer.model"}),
    Family("OLMo 2 and 3"),
    Family("Phi-4"),
    Family("Qwen 1", {"Qwen": "qwen/qwen.tiktoken"}, "Qwen-VL"),
    Family(
        "Qwen 2 and 3",
        {
            "Qwen2-VL": _JSON("qwen2-vl-2b"),
            "Qwen2.5": _JSON("qwen-2.5"),
            "Qwen2.5-Omni": _JSON("qwen2.5-omni-3b"),
            "QwQ": _JSON("qwq-32b"),
            "Qwen3": _JSON("qwen-3"),
        },
        "Qwen2.5-Coder, Qwen3-Coder, Qwen3-Embedding",
    ),
    Family("Qwen 3.5", {"Qwen3.5": _JSON("qwen-3.5")}),
    Family("Qwen 3.6", {"Qwen3.6": "qwen-3.6/qwen3_6.tiktoken"}, pattern="qwen3.5"),
    Family("RoBERTa", {"RoBERTa": _JSON("roberta")}, "BART, Longformer, CodeBERT"),
    Family("RWKV"),
    Family(
        "SmolLM 2",
        {"SmolLM2 135M": "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"},
        "other SmolLM2, SmolLM",
    ),
    Family("SmolLM 3"),
    Family("StarCoder", {"StarCoder": "starcoder/starcoder.gguf"}, "StarCoder2, Granite Code"),
    Family("T5", {"NovelAI's T5": "nai-t5/spiece.model"}),
    Family("Whisper", {"Whisper tiny": _JSON("whisper")}, "Whisper base to large-v2"),
    Family(
        "XLNet",
        {"XLNet": "xlnet/spiece.model", "XLNet as tokenizer.json": _JSON("xlnet")},
        "XLNet large",
    ),
    Family("Yi, InternLM"),
)

HEAD = """\
# Models

Results for the tokenizer files of {count} models, one line per tokenizer. Written by
`python tools/make_models_page.py FOLDER` with bpetite {bpetite}.

- *Equal ids*: the file loads, and gives the same ids as the named library on that number of texts: difficult
  ones ([difficult.py](../src/bpetite/formats/shared/difficult.py)), the file's own tokens, and real code.
  `bpetite check FILE` compares your own file in the same way. *Recorded* ids are published by other projects
  for tests. A file of ranks has no pattern, so tiktoken gets the one that bpetite uses.
  tiktoken (for Tekken) and sentencepiece treat special tokens as text, so texts with them are skipped there.
- *Refused*: the error message.
- *Not to be had here*: the file was not available, so there is no result.

The files come from public packages and repositories, not always the model's own. The third column names
models that are said to have the same tokenizer; their own files were not read.

| tokenizer | files of | said to share it | result |
|---|---|---|---|
"""

END = """
Tokens that end a word (`end_of_word_suffix`, mostly `</w>`) are read as their library reads them:
CLIP's, in every Stable Diffusion and OpenCLIP, and GPT-1's. So are tokens within a word that have a
prefix (`continuing_subword_prefix`, mostly `##`), as tokenizers trains them on characters. Speech
models such as Tortoise and XTTS remove white space before they cut a text (`Whitespace`): their tokens
are read, too.

Without a `tokenizer.json`, the `vocab.json` and `merges.txt` of GPT-1 and of Qwen 2 and 3 are read if
the files next to them name the class (`OpenAIGPTTokenizer`, `Qwen2Tokenizer`) or the type of the model.

`Tokenizer.load` reports what it assumed, or why it refuses a file ([switching.md](switching.md)).

Models of molecules, proteins and code (ChemBERTa, PolyCoder and others) come as `vocab.json` and
`merges.txt` without a token for each byte. They load with GPT-2's pattern; `missing="drop"` leaves such
bytes out, as transformers does. Pairs with U+2581 for spaces, such as those of KorGPT2, are read as
`SentencePieceBPETokenizer` of tokenizers reads them. What KerasHub's `BytePairTokenizer` saves loads as
well, and so do JSON files of courses such as CS336 that list tokens and merges, and pairs with names such
as `vocab_owt.json` and `merges_owt.txt`.
"""


def main(folder: Path) -> None:
    """Write the page."""
    head = HEAD.format(
        count=sum(len(family.files) for family in FAMILIES), bpetite=version("bpetite")
    )
    PAGE.write_text(head + "".join(_row(family, folder) for family in FAMILIES) + END, "utf-8")


def _row(family: Family, folder: Path) -> str:
    by_result: dict[str, dict[str, int]] = {}
    for model, name in family.files.items():
        result, texts = _tried(folder / name, family.pattern)
        by_result.setdefault(result, {})[model] = texts
    told = [
        (f"{', '.join(texts)}: " if len(by_result) > 1 else "") + result + _range(texts.values())
        for result, texts in by_result.items()
    ]
    cells = (
        family.name,
        ", ".join(family.files),
        family.others,
        "; ".join(told) or "not to be had here",
    )
    return f"| {' | '.join(cells)} |\n"


def _range(texts: Collection[int]) -> str:
    """Return the numbers of texts in words, or nothing for a file that was compared with nothing."""
    fewest, most = min(texts), max(texts)
    number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f", {number} texts" if most else ""


def _tried(path: Path, pattern: str | None) -> tuple[str, int]:
    """Return what came of one file, and the number of texts that were compared.

    Other ids than those of its library end the program.
    """
    try:
        tok = Tokenizer.load(path, pattern=pattern)
    except ValueError as error:
        return f"refused: *{str(error).removeprefix(f'{path}: ')}*", 0
    recorded = path.with_suffix(".inp")
    if recorded.exists():
        return "equal ids: recorded ones", _compared_with_recorded(tok, recorded)
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    code = [source.read_text("utf-8") for source in modules[::6]]
    found = compared_with(tok._original, tok.vocabulary, tok.encode, str(path), code)
    if found is None:
        return "loads; nothing here to compare it with", 0
    return f"equal ids: {found.library} {found.version}", found.texts


def _compared_with_recorded(tok: Tokenizer, path: Path) -> int:
    """Compare with the ids that a file of texts has beside it, and return the number of texts."""
    texts = path.read_bytes().decode("utf-8").split("\n__ggml_vocab_test__\n")
    rows = path.with_suffix(".out").read_text("utf-8").splitlines()
    for text, row in zip(texts, rows, strict=False):
        if tok.encode(text) != list(map(int, row.split())):
            raise SystemExit(f"{path}: other ids than are recorded for {text[:60]!r}")
    return len(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
