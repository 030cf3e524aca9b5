"""The tokens that the library of a model puts before and after each text, as its files say it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bpetite._internal.arguments import Message, Name, as_option, in_python


class Template(NamedTuple):
    """The ids that are put before and after the ids of a text.

    >>> template = Template((1,), (2,))
    >>> template.around([97, 98]), template.size
    ([1, 97, 98, 2], 2)
    """

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of ids that are put around a text."""
        return len(self.prefix) + len(self.suffix)

    def around(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of a text with those of the template."""
        return [*self.prefix, *ids, *self.suffix]

    def moved(self, new_ids: dict[int, int]) -> "Template":
        """Return the template of a vocabulary in which tokens have other ids.

        >>> Template((258,)).moved({258: 257})
        Template(prefix=(257,), suffix=())
        """
        prefix = tuple(new_ids.get(token_id, token_id) for token_id in self.prefix)
        suffix = tuple(new_ids.get(token_id, token_id) for token_id in self.suffix)
        return Template(prefix, suffix)


class OtherTemplate(NamedTuple):
    """A template that does not simply put tokens before and after a text: it cannot be applied."""

    reason: str


AnyTemplate = Template | OtherTemplate | None
"""What a file says: None if nothing is put around texts."""


def template_of(prefix: Sequence[int], suffix: Sequence[int]) -> Template | None:
    """Return a template, or None if it is empty.

    >>> template_of([1], []), template_of([], [])
    (Template(prefix=(1,), suffix=()), None)
    """
    template = Template(tuple(prefix), tuple(suffix))
    return template if template.size else None


def left_out(template: AnyTemplate, special_tokens: Mapping[str, int]) -> Message:
    """Say that a template is left out, and how to add it.

    >>> print(left_out(Template((1,), (2,)), {"<s>": 1, "</s>": 2}))
    ids are without the tokens that the model's own library puts around a text (<s> TEXT </s>): \
add_special_tokens=True adds them, add_special_tokens=False leaves them out without this message
    """
    tokens = "the tokens that the model's own library puts around a text"
    if isinstance(template, Template):
        text_of = {token_id: text for text, token_id in special_tokens.items()}
        before = [text_of.get(token_id, str(token_id)) for token_id in template.prefix]
        after = [text_of.get(token_id, str(token_id)) for token_id in template.suffix]
        tokens += f" ({' '.join([*before, 'TEXT', *after])})"

    def words(name: Name) -> str:
        return f"ids are without {tokens}: {name('add_special_tokens', True)} adds them"

    message = Message(
        f"{words(in_python)}, add_special_tokens=False leaves them out without this message"
    )
    message.on_command_line = words(as_option)
    return message


NO_TEMPLATE = Template()
"""The template of a call that adds nothing."""
