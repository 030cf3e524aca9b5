"""Text of characters that every library's tables class alike: those on which Python's and ours agree."""

import unicodedata

import regex
from hypothesis import strategies as st


def known_text(max_size: int = 60) -> st.SearchStrategy[str]:
    characters = st.characters(exclude_categories=["Cs", "Cn"]).filter(is_known)
    pieces = st.sampled_from(
        [
            "'s",
            "'LL",
            "<|endoftext|>",
            "<|x|>",
            "<|",
            " ",
            "\n",
            "\r\n",
            "  ",
            "\t",
            "1",
            "23",
            "a",
            "the",
        ]
    )
    return st.lists(st.one_of(characters, pieces), max_size=max_size).map("".join)


def is_known(character: str) -> bool:
    """Whether old and new tables class a character alike: U+0295 is a lowercase letter in old ones only."""
    category = unicodedata.category(character)
    return category != "Cn" and regex.match(rf"\p{{{category}}}", character) is not None
