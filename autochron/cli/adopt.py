"""The command `autochron adopt`: its options, and the calls that do the work."""

from __future__ import annotations

import sys

from autochron._runtime.unpatched import os
from autochron.cli.command_parser import CommandParser
from autochron.errors import AdoptionError, UsageError


def adopt(arguments: list[str]) -> int:
    """Run `autochron adopt`: take Chronicle's marks out of sources, and write rules that do the same.

    Returns:
        The exit status: 0; with --check 1 if something would change.

    Raises:
        UsageError: an option or a path is wrong.
        AdoptionError: a file has something that can't be taken over. Nothing was changed.
        RuleError: the rules can't be read or written. Nothing was changed.
    """
    options = parser().read(arguments)
    if not options.words:
        raise UsageError("autochron adopt wants files or folders after it")
    for path in options.words:
        if not os.path.exists(path):
            raise UsageError(f"there is no {path}; name a Python file or a folder")
    from autochron.adopt.adoption import carry_out, plan  # lazy: libcst takes 0.2 s, which --help saves
    from autochron.adopt.report import differences, refusal, summary

    adoption = plan(options.words, options.rules)
    if adoption.refusals:
        if options.check and not options.json:
            sys.stdout.write(differences(adoption))
        raise AdoptionError(refusal(adoption))
    if not options.check:
        carry_out(adoption)
    if options.json:
        from msgspec.json import encode

        data = {
            "rules": os.path.relpath(adoption.rule_file),
            "files": [{"path": change.source.path, "marks": change.marks} for change in adoption.changes],
            "tables": len(adoption.tables),
            "notes": adoption.notes,
            "written": not options.check,
            "diff": differences(adoption) if options.check else "",
        }
        sys.stdout.write(encode(data).decode() + "\n")
    else:
        if options.check:
            sys.stdout.write(differences(adoption))
        if not options.quiet:
            sys.stdout.write(summary(adoption, is_check=options.check))
    return int(options.check and bool(adoption.changes or adoption.changes_rules))


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "adopt",
        "PATH ... [OPTION ...]",
        "Take the marks of agent-chronicle out of sources (`@boundary`, `wrap_llm`, `wrap`, `instrument`), and write the "
        "rules that do the same. Formatting and comments stay. Nothing is written if one of the files can't be taken over.",
        examples=(
            ("autochron adopt --check src", "show what would change"),
            ("autochron adopt src", "change it"),
        ),
        shape=(
            ("rules", "the rule file"),
            ("files", "a list: of each file that changes its path and how many marks are taken out"),
            ("tables", "how many tables are added to the rules"),
            ("notes", "what should be known, each as file:line: text"),
            ("written", "whether it was written; false with --check"),
            ("diff", "with --check: the unified diff of all files; else empty"),
        ),
        epilog="Chronicle's fixtures become traces by `autochron traces import FOLDER`.",
    )
    parser.add_flag("--check", "show what would change, and change nothing; status 1 if something would")
    parser.add_places("the rules, or a new file", store="")
    return parser
