"""The table of models says of every tokenizer what came of its files, and of no other tokenizer anything."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
EQUAL = r"equal ids: (?:recorded ones|\w+ [\d.]+), \d+(?: to \d+)? texts"
RESULT = rf"(?:[^|:;]+: )?(?:{EQUAL}|refused: \*[^*]+\*|loads; nothing here to compare it with)"


def test_every_line_has_a_result_of_its_files_or_says_that_there_are_none() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    names = [name for name, *_ in rows]
    assert names == sorted(set(names), key=str.lower)
    for _, files, others, result in rows:
        if files:
            assert re.fullmatch(rf"{RESULT}(?:; {RESULT})*", result)
        else:
            assert (others, result) == ("", "not to be had here")


def test_the_models_of_2026_are_listed() -> None:
    text = PAGE.read_text("utf-8")
    listed = (
        "Gemma 4, DeepSeek V4, GLM-5, Kimi K2.5, Qwen3.6, Nemotron 3, Granite 4, SmolLM 3, "
        "OLMo 2 and 3, M3"
    )
    assert [
        name for name in (*listed.split(", "), "gpt-oss", "Phi-4", "Llama 4") if name not in text
    ] == []
