"""A parser for the options of a command, based on argparse, whose errors are `UsageError`.

`run` and `replay` don't use this module: see `cli.options`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NoReturn, TypeVar

from autochron.cli.option_values import choice
from autochron.cli.options import unknown_option
from autochron.cli.overview import SUMMARIES
from autochron.cli.pages import CommandPage, Example, OptionPage, draw
from autochron.cli.statuses import statuses_of
from autochron.cli.verbosity import QUIET_TEXT, VERBOSE_TEXT, VERBOSITY, describe
from autochron.errors import UsageError

T = TypeVar("T")

RULES_TEXT = "the rules"
RULES_DEFAULT = "autochron.toml or [tool.autochron] in pyproject.toml, found upward from here"
STORE_TEXT = "where the traces are: a path, or sqlite:///PATH"
STORE_DEFAULT = ".autochron/traces.db beside the rules"

COMMON = (
    OptionPage(("-q", "--quiet"), "", QUIET_TEXT, section="common options"),
    OptionPage(("-v", "--verbose"), "", VERBOSE_TEXT, section="common options"),
    OptionPage(("-h", "--help"), "", "show this text", section="common options"),
)
"""The options of every command."""


class CommandParser(argparse.ArgumentParser):
    """A parser for the words after a command or an action.

    It differs from argparse in four ways. Options and other words may stand in any order. The value of an option may begin
    with a hyphen. An option isn't abbreviated. And a mistake raises `UsageError`, which the command line writes as one line.

    Every parser has `-h`, `-q` and `-v`. Its help is drawn from `page()`.
    """

    def __init__(
        self,
        command: str,
        synopsis: str,
        description: str,
        *,
        summary: str = "",
        examples: Sequence[tuple[str, str]] = (),
        shape: Sequence[tuple[str, str]] = (),
        epilog: str = "",
        actions: Sequence[CommandParser] = (),
        words: Sequence[str] = (),
    ) -> None:
        """Make the parser of a command.

        Args:
            command: its name, such as `check` or `traces diff`.
            synopsis: what follows the name in the first line of the help; a line for each form.
            description: the help's text before the options.
            summary: what an action does, in a few words; that of a command is in `cli.overview`.
            examples: pairs of a command line and what it does.
            shape: pairs of a key of what `--json` writes and its meaning. With them, the command has `--json`.
            epilog: the help's text after the options.
            actions: the parsers of its actions, which the help lists.
            words: the words that it takes, if they can be listed.
        """
        super().__init__(
            prog=f"autochron {command}",
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )
        self._page = CommandPage(
            command,
            summary or SUMMARIES.get(command, ""),
            tuple(f"autochron {command} {form.strip()}".rstrip() for form in synopsis.split("\n")),
            description,
            examples=tuple(Example(line, text) for line, text in examples),
            statuses=statuses_of(command),
            shape=tuple(shape),
            actions=tuple(action.page() for action in actions),
            notes=epilog,
            words=tuple(words),
        )
        self._options: list[OptionPage] = []
        self._section = ""
        self._with_value: set[str] = set()
        for option in COMMON:
            self.add_argument(*option.names, action="store_true")
        if shape:
            self.add_flag("--json", "write JSON to standard output: the keys below, without colours")

    def section(self, title: str) -> None:
        """Put the options that are declared from here on under a title of their own in the help."""
        self._section = title

    def add_flag(self, name: str, text: str) -> None:
        """Declare an option without a value. It is True where it is given, else False; `text` is its help."""
        self.add_argument(name, action="store_true")
        self._options.append(OptionPage((name,), "", text, section=self._section))

    def add_value(
        self,
        name: str,
        metavar: str,
        text: str,
        *,
        read: Callable[[str, str], T] | None = None,
        default: T | None = None,
        choices: Sequence[str] = (),
        unless_given: str = "",
    ) -> None:
        """Declare an option with a value. If it is given several times, the last value counts.

        Args:
            name: the option with its hyphens.
            metavar: the value's name in the help.
            text: the option's help.
            read: converts the text; its second argument is the command and option, for an error's message.
            default: the value where the option isn't given.
            choices: the only values that it takes, if they can be listed.
            unless_given: the help's words for the default; unless they are given, the default itself.
        """
        shown = unless_given or ("" if default is None else str(default))
        self._add_option(OptionPage((name,), metavar, text, shown, tuple(choices), section=self._section))
        self.add_argument(name, type=self._reader(name, read, choices), default=default)

    def add_list(
        self,
        name: str,
        metavar: str,
        text: str,
        *,
        read: Callable[[str, str], T] | None = None,
        choices: Sequence[str] = (),
        unless_given: str = "",
    ) -> None:
        """Declare an option that may be given several times. Its value is a list, or None where it isn't given.

        The arguments are those of `add_value`.
        """
        option = OptionPage(
            (name,), metavar, text, unless_given, tuple(choices), repeated=True, section=self._section
        )
        self._add_option(option)
        self.add_argument(name, type=self._reader(name, read, choices), action="append")

    def add_places(self, rules: str = RULES_TEXT, store: str = STORE_TEXT) -> None:
        """Declare `--rules` and `--store`, with their help; an empty text leaves one out."""
        if rules:
            self.add_value("--rules", "FILE", rules, unless_given=RULES_DEFAULT)
        if store:
            self.add_value("--store", "URL", store, unless_given=STORE_DEFAULT)

    def page(self) -> CommandPage:
        """Return the help as data."""
        return replace(self._page, options=(*self._options, *COMMON))

    @property
    def names_with_value(self) -> frozenset[str]:
        """The options that take a value."""
        return frozenset(self._with_value)

    @property
    def names(self) -> tuple[str, ...]:
        """All options, the common ones last."""
        return tuple(name for option in self.page().options for name in option.names)

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the options as attributes; `words` has the words that are no options.

        Raises:
            UsageError: an option is unknown, or its value is missing or wrong.
            SystemExit: with 0, after the help was asked for and written.
        """
        try:
            options, words = self.parse_known_args(list(self._joined(arguments)))
        except argparse.ArgumentError as error:
            raise UsageError(f"{self.prog}: {error.argument_name} takes no value") from None
        options.words = self._only_words(words)
        if options.help:
            sys.stdout.write(self.format_help())  # not print_help, which hides an error of writing
            sys.stdout.flush()
            raise SystemExit(0)
        VERBOSITY.set(quiet=options.quiet, verbose=options.verbose)
        describe(getattr(options, "rules", None), getattr(options, "store", None))
        return options

    def format_help(self) -> str:
        """Return the help as text."""
        return draw(self.page())

    def error(self, message: str) -> NoReturn:
        """Raise an error of argparse's as UsageError, where argparse would print it and exit."""
        raise UsageError(f"{self.prog}: {message}; see {self.prog} --help")

    def _joined(self, arguments: Sequence[str]) -> Iterator[str]:
        """Yield the arguments with each option and its value as one word, such as `--name=value`.

        Argparse would refuse a value that begins with a hyphen if it were a separate word. `--` is refused as a value,
        because argparse of Python 3.11 loses it.
        """
        words = iter(arguments)
        for word in words:
            name, equals, value = word.partition("=")
            if word == "--":
                yield word
                yield from words
            elif name in self._with_value:
                value = value if equals else next(words, "--")
                if value == "--":
                    raise UsageError(f"{self.prog}: {name} wants a value after it")
                yield f"{name}={value}"
            else:
                yield word

    def _only_words(self, words: list[str]) -> list[str]:
        """Return the words that argparse left over, without the first `--`. Before it, a word with a hyphen is an error."""
        end = words.index("--") if "--" in words else len(words)
        for word in words[:end]:
            if word.startswith("-") and word != "-":
                raise unknown_option(self.prog, word.partition("=")[0], self.names)
        return words[:end] + words[end + 1 :]

    def _add_option(self, option: OptionPage) -> None:
        self._options.append(option)
        self._with_value.update(option.names)

    def _reader(
        self, name: str, read: Callable[[str, str], T] | None, choices: Sequence[str]
    ) -> Callable[[str], T | str]:
        option = f"{self.prog}: {name}"

        def checked(text: str) -> T | str:
            if not text:
                raise UsageError(f"{option} wants a value, and got an empty one")
            if read is not None:
                return read(text, option)
            return choice(choices)(text, option) if choices else text

        return checked
