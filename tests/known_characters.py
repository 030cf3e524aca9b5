"""Text of characters that every library's Unicode tables know: those that Python's own knows."""

import unicodedata

from hypothesis import strategies as st


def known_text(max_size: int = 60) -> st.SearchStrategy[str]:
    characters = st.characters(exclude_categories=["Cs", "Cn"]).filter(
        lambda character: unicodedata.category(character) != "Cn"
    )
    pieces = st.sampled_from(
        ["'s", "'LL", "<|endoftext|>", "<|x|>", "<|", " ", "\n", "\r\n", "  ", "\t", "1", "23", "a", "the"]
    )
    return st.lists(st.one_of(characters, pieces), max_size=max_size).map("".join)
