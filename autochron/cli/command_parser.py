"""A parser for the options of a command, based on argparse, whose errors are `UsageError`.

`run` and `replay` don't use this module: see `cli.options`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, TypeVar

from autochron.cli.options import unknown_option
from autochron.errors import UsageError

T = TypeVar("T")


class CommandParser(argparse.ArgumentParser):
    """A parser for the words after a command.

    It differs from argparse in four ways. Options and other words may stand in any order. The value of an option may begin
    with a hyphen. An option isn't abbreviated. And a mistake raises `UsageError`, which the command line writes as one line.
    """

    def __init__(self, command: str, synopsis: str, description: str | None, *, epilog: str = "") -> None:
        """Make the parser of a command.

        Args:
            command: its name, such as `check`.
            synopsis: what follows the name in the first line of the help.
            description: the help's text before the options; None for none.
            epilog: the help's text after the options.
        """
        super().__init__(
            prog=f"autochron {command}",
            usage=f"autochron {command} {synopsis}",
            description=description,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )
        self._names: list[str] = []
        self._with_value: set[str] = set()
        self.add_argument("-h", "--help", action="store_true", help="show this text")
        self._names += ["-h", "--help"]

    def add_flag(self, name: str, text: str) -> None:
        """Declare an option without a value. It is True where it is given, else False; `text` is its help."""
        self.add_argument(name, action="store_true", help=text)
        self._names.append(name)

    def add_value(
        self,
        name: str,
        metavar: str,
        text: str,
        *,
        read: Callable[[str, str], T] | None = None,
        default: T | None = None,
    ) -> None:
        """Declare an option with a value. If it is given several times, the last value counts.

        Args:
            name: the option with its hyphens.
            metavar: the value's name in the help.
            text: the option's help.
            read: converts the text; its second argument is the command and option, for an error's message.
            default: the value where the option isn't given.
        """
        self.add_argument(name, metavar=metavar, help=text, type=self._reader(name, read), default=default)
        self._names.append(name)
        self._with_value.add(name)

    def add_list(
        self, name: str, metavar: str, text: str, *, read: Callable[[str, str], T] | None = None
    ) -> None:
        """Declare an option that may be given several times. Its value is a list, or None where it isn't given.

        The arguments are those of `add_value`.
        """
        self.add_argument(name, metavar=metavar, help=text, type=self._reader(name, read), action="append")
        self._names.append(name)
        self._with_value.add(name)

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
        return options

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
                raise unknown_option(self.prog, word.partition("=")[0], self._names)
        return words[:end] + words[end + 1 :]

    def _reader(self, name: str, read: Callable[[str, str], T] | None) -> Callable[[str], T | str]:
        option = f"{self.prog}: {name}"

        def checked(text: str) -> T | str:
            if not text:
                raise UsageError(f"{option} wants a value, and got an empty one")
            return text if read is None else read(text, option)

        return checked
