"""The SHA-256 of a published file of ranks in, its pattern and special tokens, which the file lacks, out; and
the name of a model in, its encoding or its owner out.

The hashes of OpenAI's files, and the encodings of its models, are those of tiktoken itself.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from bpetite.patterns import PATTERNS


class Published(NamedTuple):
    """The known properties of a published file."""

    name: str
    pattern: str
    special_tokens: Mapping[str, int] = {}
    normalization: str | None = None
    """What the model's own tokenizer does with a text before it uses the ranks."""


def _from(first: int, *names: str) -> dict[str, int]:
    """Return special tokens with ids in turn.

    >>> _from(5, "a", "b")
    {'<|a|>': 5, '<|b|>': 6}
    """
    return {f"<|{name}|>": token_id for token_id, name in enumerate(names, first)}


_END = "endoftext"

PUBLISHED: Mapping[str, Published] = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": Published(
        "r50k_base", PATTERNS["gpt2"], _from(50256, _END)
    ),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": Published(
        "p50k_base", PATTERNS["gpt2"], _from(50256, _END)
    ),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": Published(
        "cl100k_base",
        PATTERNS["cl100k"],
        _from(100257, _END, "fim_prefix", "fim_middle", "fim_suffix")
        | _from(100276, "endofprompt"),
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": Published(
        "o200k_base", PATTERNS["o200k"], _from(199999, _END) | _from(200018, "endofprompt")
    ),
    # The reserved tokens between these have other names in Llama 3, 3.1 and 3.2.
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": Published(
        "Llama 3",
        PATTERNS["llama3"],
        _from(128000, "begin_of_text", "end_of_text")
        | _from(128006, "start_header_id", "end_header_id")
        | _from(128009, "eot_id"),
    ),
    # Many more, from 200010 to 202047, are reserved.
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": Published(
        "Llama 4",
        PATTERNS["o200k"],
        _from(200000, "begin_of_text", "end_of_text", "fim_prefix", "fim_middle", "fim_suffix")
        | _from(200005, "header_start", "header_end", "eom", "eot", "step")
        | _from(200016, "python_start", "python_end", "finetune_right_pad")
        | _from(200080, "image_start", "image_end")
        | _from(200084, "tile_x_separator", "tile_y_separator")
        | _from(200090, "image")
        | _from(200092, "patch")
        | _from(201142, "reasoning_thinking_start", "reasoning_thinking_end"),
    ),
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": Published(
        "Qwen",
        PATTERNS["qwen2"],
        _from(151643, _END, "im_start", "im_end", *(f"extra_{number}" for number in range(205))),
        "NFC",
    ),
    # Its special tokens are in the tokenizer_config.json of its folder.
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103": Published(
        "Kimi K2", PATTERNS["kimi-k2"]
    ),
    # The following ids depend on the number of languages of a model.
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": Published(
        "Whisper (multilingual)", PATTERNS["gpt2"], _from(50257, _END, "startoftranscript")
    ),
}
"""The published files, by SHA-256 in hexadecimal."""

_NAMES = (
    "gpt2",
    "r50k_base",
    "p50k_base",
    "p50k_edit",
    "cl100k_base",
    "o200k_base",
    "o200k_harmony",
)
_SHARED = {"gpt2": "r50k_base", "p50k_edit": "p50k_base", "o200k_harmony": "o200k_base"}
ENCODINGS: Mapping[str, str] = {name: _SHARED.get(name, name) for name in _NAMES}
"""The encodings of tiktoken, and the published file of each."""

_HARMONY = (
    _from(199998, "startoftext", _END)
    | _from(200002, "return", "constrain")
    | _from(200005, "channel", "start", "end", "message")
    | _from(200012, "call")
    | _from(200018, "endofprompt")
)
_UNNAMED = {*range(199998, 201088)}.difference(_HARMONY.values())

OTHER_SPECIAL_TOKENS: Mapping[str, Mapping[str, int]] = {
    "p50k_edit": _from(50256, _END) | _from(50281, "fim_prefix", "fim_middle", "fim_suffix"),
    "o200k_harmony": _HARMONY | {f"<|reserved_{token_id}|>": token_id for token_id in _UNNAMED},
}
"""The special tokens of encodings that share the file of another one."""

_MODELS = (
    ("gpt2", r"gpt-?2"),
    ("p50k_edit", r"(text|code)-davinci-edit-.*"),
    ("p50k_base", r"text-davinci-00[23]|code-(davinci|cushman)-.*|(davinci|cushman)-codex"),
    (
        "cl100k_base",
        r"(ft:)?((davinci|babbage)-002|gpt-(4|3\.5|35-turbo))([-:].*)?|text-embedding-.*",
    ),
    ("r50k_base", r"((text|code)-)?((similarity|search)-)?(davinci|curie|babbage|ada)(-.*)?"),
    ("o200k_harmony", r"gpt-oss.*"),
    ("o200k_base", r"(ft:)?(gpt-4o|gpt-4\.[15]|gpt-5|chatgpt-4o).*|o[134](-.*)?"),
)
"""The encodings of OpenAI's models, by regexes of their names; the first that fits decides."""

_OWNERS = {
    r"llama|meta-llama": "meta-llama",
    r"qwen|qwq": "Qwen",
    r"mistral|mixtral|ministral|codestral|devstral|pixtral": "mistralai",
    r"gemma": "google",
    r"phi": "microsoft",
    r"deepseek": "deepseek-ai",
    r"kimi": "moonshotai",
    r"smollm": "HuggingFaceTB",
    r"olmo": "allenai",
    r"whisper": "openai",
    r"falcon": "tiiuae",
    r"glm|chatglm": "zai-org",
}
"""The owners on the hub of models whose names begin so."""


def encoding_of_model(name: str) -> str | None:
    """Return the encoding of one of OpenAI's models, if it is known.

    >>> encoding_of_model("gpt-4o-mini"), encoding_of_model("gpt-9")
    ('o200k_base', None)
    """
    return next((encoding for encoding, names in _MODELS if re.fullmatch(names, name)), None)


def url_of(file: str) -> str:
    """Return where OpenAI publishes a file, which also decides its name in tiktoken's cache."""
    return f"https://openaipublic.blob.core.windows.net/{file}"


def encoding_called(name: str) -> str | None:
    """Return the encoding of tiktoken that a name means: its own, the beginning of it, or that of a model.

    >>> encoding_called("cl100k"), encoding_called("GPT-4o"), encoding_called("Mistral")
    ('cl100k_base', 'o200k_base', None)
    """
    name = name.lower()
    if name in ENCODINGS:
        return name
    begin = name.partition("_")[0]
    named = next((encoding for encoding in ENCODINGS if encoding.partition("_")[0] == begin), None)
    return encoding_of_model(name) or named


def unpublished(name: str) -> bool:
    """Whether a name is that of a model whose tokenizer is not published."""
    return re.match("claude|gemini|grok", name.lower()) is not None


def owner_of(name: str) -> str | None:
    """Return the owner on the Hugging Face Hub of the models whose names begin as this one.

    >>> owner_of("Mistral")
    'mistralai'
    """
    for names, owner in _OWNERS.items():
        if re.match(rf"({names})(?![a-z])", name.lower()):
            return owner
    return None
