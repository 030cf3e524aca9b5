"""Compare a tokenizer with its own library. Hard texts must get the same ids.

examples:
  bpetite check tokenizer.json
  bpetite check Qwen2.5-7B/
  bpetite check cl100k_base.tiktoken book.txt questions.jsonl

The result lists what the file does not specify, and what an artifact of it
would lose. Different ids are an error that shows the first text and place.
"""

from functools import partial

from bpetite.cli import shared
from bpetite.cli.formats import add_models, format_of, read_model
from bpetite.formats.shared.imported import losses
from bpetite.formats.shared.peers import compared_with


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    shared.add_inputs(command, f"{shared.INPUT_HELP}; they are compared, too", required=False)
    shared.add_reading(command)
    command.set_defaults(quiet=True, text=None)  # the result includes the notes; no input is needed


def run(options: shared.Options) -> shared.Result:
    """Compare, and return the verdict."""
    tokenizer = read_model(options)
    [path] = options.models
    original = tokenizer._original
    texts = shared.documents_of(options) if options.input else ()
    encode = partial(tokenizer.encode, add_special_tokens=False)
    comparison = compared_with(original, tokenizer.vocabulary, encode, path, texts)
    library = None
    compared_texts = 0
    verdict = "read; no library can compare such a file"
    if comparison:
        library = f"{comparison.library} {comparison.version}"
        compared_texts = comparison.texts
        verdict = f"same ids as {library}"
    return {
        "format": format_of(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        "notes": list(tokenizer.assumptions),
        "lost": losses(tokenizer.vocabulary, original, "bpetite", tokenizer._template),
        "compared_with": library,
        "texts": compared_texts,
        "verdict": verdict,
    }
