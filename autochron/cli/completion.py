"""The command `autochron completion`: the completion scripts of shells, made of the pages of all commands.

Not shtab or argcomplete: both read argparse parsers, and `run` and `replay` have none; argcomplete would also start Python
for each key. The scripts start it for the names of traces alone.
"""

from __future__ import annotations

import re
import sys

from autochron._runtime.unpatched import os
from autochron.cli.command_parser import CommandParser
from autochron.cli.completion_scripts import SCRIPTS
from autochron.cli.statuses import OK
from autochron.errors import AutochronError, UsageError

_SAFE = re.compile(r"[\w.@+/-]+", re.ASCII)
"""A name that means nothing else to any shell. Others are not completed, for a trace may be anybody's."""

_MOST = 200
"""How many of the latest traces are completed."""


def completion(arguments: list[str]) -> int:
    """Run `autochron completion`: print the script of a shell, or the names of the traces, which the scripts ask for.

    Returns:
        The exit status, which is 0.

    Raises:
        UsageError: an option or a word is wrong.
    """
    options = parser().read(arguments)
    words: list[str] = options.words
    if words == ["traces"]:
        sys.stdout.writelines(f"{name}\n" for name in _trace_names(options.store, options.rules))
        return OK
    if len(words) != 1 or words[0] not in SCRIPTS:
        got = f", not {' '.join(words)}" if words else ""
        raise UsageError(
            f'autochron completion wants {", ".join(SCRIPTS)}{got}: eval "$(autochron completion bash)"'
        )
    from autochron.cli.reference import command_pages  # lazy: it imports every command

    sys.stdout.write(SCRIPTS[words[0]](command_pages()))
    return OK


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "completion",
        "bash|zsh|fish [OPTION ...]",
        "Print the script by which a shell completes commands, actions, options, their values, files and the names of "
        "traces.",
        examples=(
            (
                "autochron completion bash > ~/.local/share/bash-completion/completions/autochron",
                'once; or eval "$(autochron completion bash)" in ~/.bashrc',
            ),
            (
                "autochron completion zsh > ~/.zfunc/_autochron",
                "with fpath+=~/.zfunc before compinit in ~/.zshrc",
            ),
            ("autochron completion fish > ~/.config/fish/completions/autochron.fish", "once"),
        ),
        epilog="`autochron completion traces` prints the names and ids of traces; the scripts ask for them.",
        words=tuple(SCRIPTS),
    )
    parser.add_places()
    return parser


def _trace_names(store: str | None, rules: str | None) -> list[str]:
    """Return what a trace may be called by: `last`, the names, and the ids of the latest; nothing where there are none."""
    from autochron.config import default_store, find_rule_file
    from autochron.store import open_store

    url = store or default_store(rules or find_rule_file())
    if store is None and not os.path.exists(url):
        return []
    try:
        headers = [summary.header for summary in open_store(url).summaries()[-_MOST:]]
    except AutochronError:  # a completion has nobody to report it to
        return []
    names = [header.name for header in reversed(headers) if header.name]
    names += [header.id for header in reversed(headers)]
    safe = filter(_SAFE.fullmatch, dict.fromkeys(names))
    return ["last", *safe] if headers else []
