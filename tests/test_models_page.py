"""The table of models says on which file of which model each family was checked, or that it is only known."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "models.md"
ROW = re.compile(r"\| (?P<name>[^|]+) \| (?P<kind>[^|]+) \| (?P<models>[^|]+) \| (?P<state>[^|]+) \|")


def test_a_hundred_models_are_listed_once_each_with_how_it_is_known() -> None:
    rows = [ROW.fullmatch(line) for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    families = [row for row in rows if row and row["name"] != "tokenizer"]
    models = [model for row in families for model in row["models"].split(", ")]
    assert len(families) == len(rows) - 1
    assert len(models) == len(set(models)) >= 100
    for row in families:
        state = re.fullmatch(
            r"\*checked\* on `[^`]+` of (?P<of>.+) \([\d,]+ tokens\)"
            r"|\*known\*: (?:its kind loads|refused \(.+\))",
            row["state"],
        )
        assert state
        assert state["of"] in (None, *row["models"].split(", "))
