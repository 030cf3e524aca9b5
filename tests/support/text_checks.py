"""Checks of a tokenizer on one text: whatever it does in parts gives what it gives at once."""

from bpetite import Tokenizer


def check_fitting(tokenizer: Tokenizer, text: str) -> None:
    """A text that fits, and chunks, are the longest that fit when every length is tried."""
    for most in (1, 3, 10):
        fitting = [end for end in range(len(text) + 1) if tokenizer.count(text[:end]) <= most]
        assert tokenizer.fit(text, most) == text[: max(fitting)]
    for chunk in tokenizer.chunks(text, 30):
        assert chunk.ids == tokenizer.encode(chunk.text)
        assert chunk.text == text[chunk.start : chunk.end]


def check_growing(tokenizer: Tokenizer, text: str) -> None:
    """A growing text has the ids of what it is, at any time."""
    growing = tokenizer.growing()
    for end, character in enumerate(text, 1):
        growing.append(character)
        if end < 60 or end % 7 == 0 or end == len(text):
            assert list(growing.ids) == tokenizer.encode(text[:end])
    growing.truncate(len(text) // 2)
    assert list(growing.ids) == tokenizer.encode(text[: len(text) // 2])
    assert list(tokenizer.encode_iterable(list(text))) == tokenizer.encode(text)


def check_stream_of_ids(tokenizer: Tokenizer, text: str) -> None:
    """Ids that are decoded one by one give the text of all."""
    ids = tokenizer.encode(text)
    stream = tokenizer.decode_stream()
    pieces = [stream.push(token_id) for token_id in ids]
    assert "".join([*pieces, stream.finish()]) == tokenizer.decode(ids, errors="replace")
