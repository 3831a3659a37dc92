"""The parsers of a command that has actions, such as `autochron traces list`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from autochron.cli.command_parser import COMMON, CommandParser
from autochron.cli.overview import SUMMARIES
from autochron.cli.pages import CommandPage, Example, draw
from autochron.cli.statuses import statuses_of
from autochron.errors import UsageError

_HELP = {"-h", "--help"}


class ActionParsers:
    """Parses the words after a command: an action, with options and other words before and after it.

    Each action has a parser of its own, with its own options. An option of another action is refused, with the name of the
    action that has it.
    """

    def __init__(
        self,
        command: str,
        description: str,
        parsers: Sequence[CommandParser],
        *,
        examples: Sequence[tuple[str, str]],
        default: str = "",
        wants: str = "",
    ) -> None:
        """Make the parsers.

        Args:
            command: the command's name.
            description: the text of its help.
            parsers: those of the actions, whose names are those of their pages.
            examples: pairs of a command line and what it does.
            default: the action where none is named; empty if one has to be.
            wants: the message where none is named.
        """
        self.command = command
        self._parsers = {parser.page().name.rpartition(" ")[2]: parser for parser in parsers}
        self._description, self._examples = description, examples
        self._default, self._wants = default, wants

    def read(self, arguments: Sequence[str]) -> tuple[str, Namespace]:
        """Return the action, and its options as `CommandParser.read` does.

        Raises:
            UsageError: there is no such action, or an option or a word is wrong.
            SystemExit: with 0, after the help was asked for and written.
        """
        words = list(arguments)
        at = next((at for at, _ in self._others(words)), None)
        if at is None and _HELP & {name for name, _ in self._options(words)}:
            sys.stdout.write(draw(self.page()))
            sys.stdout.flush()
            raise SystemExit(0)
        action = self._default if at is None else words.pop(at)
        if not action:
            raise UsageError(f"autochron {self.command} {self._wants}")
        if action not in self._parsers:
            from autochron.rules.nearest import nearest  # lazy: difflib

            near = nearest(self._parsers, action)
            hint = f"did you mean {near}?" if near else f"it does {', '.join(self._parsers)}"
            raise UsageError(f"autochron {self.command} has no {action!r}; {hint}")
        parser = self._parsers[action]
        self._refuse_others(words, action, parser)
        return action, parser.read(words)

    def page(self) -> CommandPage:
        """Return the help of the command itself as data."""
        actions = tuple(parser.page() for parser in self._parsers.values())
        return CommandPage(
            self.command,
            SUMMARIES[self.command],
            tuple(usage for action in actions for usage in action.usage),
            self._description,
            options=COMMON,
            examples=tuple(Example(line, text) for line, text in self._examples),
            statuses=statuses_of(self.command),
            actions=actions,
        )

    def _refuse_others(self, words: Sequence[str], action: str, parser: CommandParser) -> None:
        """Raise UsageError for an option of another action, since it would do nothing here."""
        for name, _ in self._options(words):
            others = [other for other, known in self._parsers.items() if name in known.names]
            if others and name not in parser.names:
                raise UsageError(
                    f"autochron {self.command} {action} takes no {name}; it is for {self.command} {', '.join(others)}"
                )

    def _options(self, words: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Yield the options among the words, each with its place."""
        yield from ((words[at].partition("=")[0], at) for at in self._places(words) if _is_option(words[at]))

    def _others(self, words: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield the places of the words that are neither options nor values of options, with the words."""
        yield from ((at, words[at]) for at in self._places(words) if not _is_option(words[at]))

    def _places(self, words: Sequence[str]) -> Iterator[int]:
        """Yield the places of all words up to `--` but for the values of options."""
        with_value = frozenset[str]().union(*(parser.names_with_value for parser in self._parsers.values()))
        at = 0
        while at < len(words) and words[at] != "--":
            yield at
            at += 2 if words[at] in with_value else 1


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"
