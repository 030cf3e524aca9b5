"""Texts that a program writes, everywhere the same ones: like prose, like code, and in several scripts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

DOCUMENTS = 8
TURNS = 1_000
"""The number of words and phrases of a document."""

KINDS = ("prose", "code", "scripts")
SYLLABLES = {
    "prose": "the of to and in a is re con ter ing ed er est ly un pre tion al",
    "code": "get set is_ max node list _id key val self text len for if return 0 1 42",
    "scripts": "при вет мир ны й ε λ ό γος 東 京 都 の は é ñ über ß ا ل م ک 12 7 🎉",
}
ENDS = {
    "prose": """||||||,|,|.|. |: |:|;|?| --|"|)\n|...|\n\n|.\n""",
    "code": "||(|)|()|):\n    |):\n        |:\n    | = | == |, |.|\n|\n    |;\n\n|  # | :\n \n|[|]",
    "scripts": "|||, |: |、|。|\n| \n \n|!\t|  |«|»|...\r\n",
}
"""What may follow a word or a phrase, between bars."""


def written_documents(kind: str) -> list[str]:
    """Return the documents of a kind, one of `KINDS`."""
    chance = random.Random(kind)
    syllables = SYLLABLES[kind].split()
    lexicon = ["".join(_some(chance, syllables, 1 + place % 4)) for place in range(2_000)]
    phrases = [" ".join(_some(chance, lexicon, 2 + place % 6)) for place in range(60)]
    ends = ENDS[kind].split("|")
    return [" ".join(_turns(chance, lexicon, phrases, ends)) for _ in range(DOCUMENTS)]


def _turns(
    chance: random.Random, lexicon: Sequence[str], phrases: Sequence[str], ends: Sequence[str]
) -> Iterator[str]:
    """Yield words and phrases, and what follows each."""
    for _ in range(TURNS):
        [text] = _some(chance, phrases if chance.random() < 0.2 else lexicon, 1)
        yield text + ends[int(chance.random() * len(ends))]


def _some(chance: random.Random, choices: Sequence[str], number: int) -> list[str]:
    """Return some of the choices, the first ones most often."""
    return [choices[int(chance.random() ** 3 * len(choices))] for _ in range(number)]
