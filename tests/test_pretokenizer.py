"""The specification's pretokenizer: what is matched, what lies between, and that nothing is lost."""

from bpetite._pretokenizer import pieces, pretokenize


def test_pretokenize_keeps_the_leading_space_with_the_word() -> None:
    assert pretokenize("Hello, how are you?") == [b"Hello", b",", b" how", b" are", b" you", b"?"]


def test_pretokenize_of_the_handout() -> None:
    expected = ["some", " text", " that", " i", "'ll", " pre", "-", "tokenize"]
    assert pretokenize("some text that i'll pre-tokenize") == [piece.encode() for piece in expected]


def test_pretokenize_of_nothing_is_nothing() -> None:
    assert pretokenize("") == []


def test_text_between_matches_is_a_piece_of_its_own() -> None:
    assert pieces("to  be", r"[a-z]+") == [(b"to", True), (b"  ", False), (b"be", True)]
