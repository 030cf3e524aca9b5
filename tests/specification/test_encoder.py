"""The specification's encoder: passes in the order of ranks give the ids of merging one pair at a time."""

from hypothesis import given
from hypothesis import strategies as st

from bpetite._encoder import _apply_merge, _encode_ordinary, encode_ordinary
from bpetite._trainer import train_bpe

CORPUS = "abab abba baab aaa bbb abab\n" * 3


@given(st.text("ab \n", max_size=30))
def test_passes_by_rank_and_single_merges_agree(text: str) -> None:
    trained = train_bpe(CORPUS, 270)
    special = dict(trained.special_tokens)
    one_by_one = list(encode_ordinary(text, trained.vocab, trained.merges, special))
    assert _encode_ordinary(text, trained.merges) == one_by_one


def test_a_pass_replaces_all_occurrences_and_keeps_what_is_left() -> None:
    assert _apply_merge([97, 98, 97, 98], (97, 98), 256) == [256, 256]
    assert _apply_merge([120, 120, 120], (120, 120), 256) == [256, 120]
    assert _apply_merge([], (97, 98), 256) == []
