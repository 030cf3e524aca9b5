"""`bpetite completion`: prints the completion script of a shell, which asks this command for the words."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable

from bpetite.cli.output import lines
from bpetite.patterns import PATTERNS

EXAMPLES = """
eval "$(bpetite completion bash)"            # in ~/.bashrc
eval "$(bpetite completion zsh)"             # in ~/.zshrc
bpetite completion fish | source             # in ~/.config/fish/config.fish
"""

_BASH = """\
_bpetite() {
  COMPREPLY=($(bpetite completion bash --line "${COMP_LINE:0:$COMP_POINT}" 2>/dev/null))
}
complete -o default -F _bpetite bpetite
"""
_SCRIPTS = {
    "bash": _BASH,
    # zsh runs bash's script, after its own completion system is loaded, which a short .zshrc may not do
    "zsh": (
        "(( $+functions[compdef] )) || { autoload -U compinit && compinit -i; }\n"
        f"autoload -U +X bashcompinit && bashcompinit\n{_BASH}"
    ),
    "fish": "complete -c bpetite -a '(bpetite completion fish --line (commandline -cp) 2>/dev/null)'\n",
}


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument("shell", choices=list(_SCRIPTS))
    command.add_argument(
        "--line", metavar="TEXT", help="print the words that may follow a line (for the scripts)"
    )


def run(options: argparse.Namespace) -> bytes:
    """Return the script, or a word per line."""
    return (
        _SCRIPTS[options.shell].encode("ascii") if options.line is None else lines(words_after(options.line))
    )


def words_after(line: str) -> list[str]:
    """Return what the last word of a line may become; without any, a shell offers files."""
    from bpetite.cli import COMMANDS, parser_of

    *words, begun = re.split(r"\s+", line)
    offered: Iterable[str] = [*COMMANDS, "--help", "--version"] if len(words) == 1 else ()
    if len(words) > 1 and words[1] in COMMANDS:
        actions = parser_of(words[1])._actions  # argparse has no public name for them
        before = next((action for action in actions if words[-1] in action.option_strings), None)
        values = [] if before is None else _values(before)
        flags = [flag for action in actions for flag in action.option_strings or _values(action)]
        offered = values or flags
    return [word for word in offered if word.startswith(begun)]


def _values(action: argparse.Action) -> list[str]:
    """Return the values of an option; of patterns, the names."""
    return list(map(str, PATTERNS if action.dest == "pattern" else action.choices or ()))
