"""The command `autochron mutate`: its options, and the calls that do the work."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.cli.option_values import as_written, number, percentage, seconds
from autochron.cli.statuses import INTERRUPTED
from autochron.cli.study_progress import StudyProgress
from autochron.errors import UsageError
from autochron.escaping import terminal_lines
from autochron.extras import extra
from autochron.mutate.model import Study, written
from autochron.mutate.report import tallies
from autochron.mutate.report.edge_tests import refuse_shared_path, write_tests
from autochron.mutate.report.files import write_all
from autochron.mutate.report.text import write_study

if TYPE_CHECKING:
    from autochron.mutate.options import StudyOptions

_OUT = os.path.join(".autochron", "mutation")


def mutate(arguments: list[str]) -> int:
    """Run `autochron mutate`: make a mutation study, or with `merge` combine its shards, and write the results.

    Returns:
        The exit status: 0 if the tests notice each unsafe change, 1 if they don't or the results are in doubt, 130 if the
        study was interrupted.

    Raises:
        UsageError: an option is wrong, or an incident can't be tried.
    """
    is_merge = arguments[:1] == ["merge"]
    options = merge_parser().read(arguments[1:]) if is_merge else parser().read(arguments)
    if options.words[:1] == ["merge"] and not is_merge:
        raise UsageError(
            "autochron mutate: merge is the first word, before the options: autochron mutate merge FOLDER ..."
        )
    if is_merge:
        from autochron.mutate.merging import merged, read_study  # lazy: few combine shards

        if not options.words:
            raise UsageError("autochron mutate merge wants the folders of the shards after it")
        study: Study | None = merged([(folder, read_study(folder)) for folder in options.words])
    else:
        study = _make_study(options)
    return INTERRUPTED if study is None else _write_results(study, options, is_merge=is_merge)


def _make_study(options: Namespace) -> Study | None:
    """Return the finished study; None where ctrl-C interrupted it."""
    if options.scheduler is not None and options.executor != "dask":
        raise UsageError(
            "autochron mutate: --scheduler names that of a Dask cluster; say --executor dask, too"
        )
    _refuse_missing_extras(options)
    from autochron.mutate.options import (  # lazy: `--help` works without the extra
        check_baselines,
        folders_of,
    )
    from autochron.mutate.study import study_of

    folders = folders_of(options.words)
    check_baselines(folders, options.baseline or ())
    if options.write_tests is not None:
        refuse_shared_path(options.write_tests, len(folders))
    with StudyProgress(quiet=options.quiet) as progress:
        try:
            return study_of(folders, _study_options(options), progress.show)
        except KeyboardInterrupt:
            progress.end()
            sys.stderr.write(
                f"autochron: stopped after {progress.tried} trials; they are kept in {options.out}, and the same command goes"
                " on from there\n"
            )
            return None


def _refuse_missing_extras(options: Namespace) -> None:
    """Import what the study needs, before anything is tried.

    Raises:
        MissingExtraError: a package isn't installed.
    """
    with extra("mutate", "autochron mutate"):
        import pytest  # noqa: F401 - the processes that try mutants need it

        import autochron.mutate.study  # noqa: F401 - as above
    if options.hypothesis:
        with extra("hypothesis", "--hypothesis"):
            import hypothesis  # noqa: F401 - as above
    if options.executor == "dask":
        with extra("dask", "--executor dask"):
            import distributed  # noqa: F401 - as above


def _study_options(options: Namespace) -> StudyOptions:
    """Return the options of the study that the words of the command line ask for."""
    from autochron.mutate.options import Arguments, StudyOptions, read_arguments  # lazy: as above

    return StudyOptions(
        operators=options.operators,
        jobs=options.jobs or os.cpu_count() or 1,
        shard=options.shard,
        out=options.out,
        tools=tuple(options.tool or ()),
        depth=options.depth,
        baselines=tuple(options.baseline or ()),
        timeout=options.timeout,
        memory=options.memory << 20,
        inputs=options.inputs,
        drawn=options.hypothesis,
        sample=options.crosscheck / 100,
        everything=options.include_signature,
        arguments=Arguments() if options.explanations is None else read_arguments(options.explanations),
        executor=options.executor,
        scheduler=options.scheduler,
    )


def _write_results(study: Study, options: Namespace, *, is_merge: bool) -> int:
    """Write the study's files and its text, and return the exit status."""
    out, least = options.out, options.fail_under
    paths = write_all(study, out)
    if options.json:
        with open(paths[0], encoding="utf-8") as file:
            sys.stdout.write(file.read())
    else:
        write_study(study, sys.stdout, quiet=options.quiet, survivors=options.survivors or options.verbose)
        if not options.quiet:
            names = ", ".join(os.path.basename(path) for path in paths)
            sys.stdout.write(f"\nin {out}: {names}\n")
    if options.write_tests is not None:
        sys.stdout.flush()
        _write_tests(study, options, [] if is_merge else options.words)
    results = tallies.all_results(study)
    escapes = any(tallies.is_escape(result) for result in results)
    method = written(study.methods)
    count = tallies.tally(results, method)
    if least is not None and count.tried and 100 * count.killed / count.tried < least:
        sys.stderr.write(
            f"autochron: {method} kills {count.killed} of {count.tried}, less than {least:g} % (--fail-under)\n"
        )
        return 1
    doubtful = [
        check.mutant
        for incident in study.incidents
        for check in incident.agreement
        if check.ours != check.theirs
    ]
    if doubtful:
        sys.stderr.write(
            f"autochron: plain cosmic-ray disagrees on {', '.join(doubtful)}, so these results are in doubt; see what differs"
            " between a run of pytest and a trial (what is left in files, what takes long), and report it\n"
        )
    return int(escapes or bool(doubtful))


def _write_tests(study: Study, options: Namespace, words: list[str]) -> None:
    """Write the inputs that tell mutants from the fix as tests, and print where they are and what is left out.

    Raises:
        UsageError: no test can be written that passes on the fix, or not to that place.
    """

    def note(line: str) -> None:
        sys.stderr.write(f"autochron: {terminal_lines(line)}\n")

    if not any(edge_input.is_kept for incident in study.incidents for edge_input in incident.inputs):
        note(
            "--write-tests: there is nothing to write, for no other input is needed to tell a mutant from the fix"
        )
        return
    from autochron.mutate.options import folders_of  # lazy: as above

    folders = {folder.resolve().name: folder for folder in folders_of(words)}
    paths = write_tests(study, options.write_tests, folders, note)
    if not options.quiet and not options.json:
        sys.stdout.write(f"tests that pass on the fix: {', '.join(paths)}\n")


# --- options --------------------------------------------------------------------------------------------------------


def _shard(text: str, option: str) -> tuple[int, int]:
    which, slash, count = text.partition("/")
    if not slash or not which.isdecimal() or not count.isdecimal() or not 1 <= int(which) <= int(count):
        raise UsageError(f"{option} takes K/N with K from 1 to N, such as 1/4, not {text}")
    return int(which), int(count)


def _executor(text: str, option: str) -> str:
    if text not in {"local", "dask"}:
        raise UsageError(f"{option} takes local or dask, not {text}")
    return text


def _baseline(text: str, _option: str) -> tuple[str, str]:
    from autochron.mutate.options import read_baseline  # lazy: as above

    return read_baseline(text)


def parser() -> CommandParser:
    """Return the parser of the command without an action."""
    parser = CommandParser(
        "mutate",
        "[INCIDENT ...] [OPTION ...]",
        "Change the tool that a cut-point test guards, one place at a time, and say which changes the test notices: "
        "beside a test that serves everything, one of mocks, one that compares all that the tools give, and one with "
        "other inputs. INCIDENT is a folder with a trace and its test; without one, the incidents below this folder.",
        examples=(
            ("autochron mutate incidents/refund", "one incident"),
            ("autochron mutate --shard 1/4 --out part1", "a quarter of the incidents below this folder"),
            (
                "autochron mutate incidents/refund --write-tests tests/test_edges.py",
                "keep the inputs that tell",
            ),
        ),
        shape=shapes.MUTATE,
        actions=(merge_parser(),),
    )
    _add_what(parser)
    _add_places(parser)
    _add_limits(parser)
    _add_output(parser)
    parser.section("the result")
    parser.add_value(
        "--explanations",
        "FILE",
        "why mutants survive: a TOML file with tables of incident, mutant and why; [[equivalent]] for mutants that "
        "behave as the fix does, [[survivor]] for those that only another kind of test could notice",
    )
    return parser


def merge_parser() -> CommandParser:
    """Return the parser of `mutate merge`."""
    parser = CommandParser(
        "mutate merge",
        "FOLDER ... [OPTION ...]",
        "Put the results of shards together, as if one study had made them.",
        summary="put the results of shards together",
        examples=(("autochron mutate merge part1 part2 --out all", "two shards of --shard 1/2 and 2/2"),),
        shape=shapes.MUTATE,
    )
    _add_output(parser)
    return parser


def _add_what(parser: CommandParser) -> None:
    """Declare the options that say what is changed."""
    parser.section("what is changed")
    parser.add_value(
        "--operators",
        "SET",
        "what is changed",
        choices=("paper", "core", "extended", "thresholds"),
        read=as_written,
        default="extended",
    )
    parser.add_list(
        "--tool",
        "FILE:NAME",
        "the function to change, from the incident's folder",
        unless_given="what the tests swap in, or what is live",
    )
    parser.add_value(
        "--depth",
        "N",
        "also change the functions of the project that it calls, and those that these call, N calls deep; 0 for none",
        read=number(0, 16),
        default=2,
    )
    parser.add_list(
        "--baseline",
        "NAME=FILE",
        "another way of testing to compare with: tests that replay no trace, in a file or a folder from the "
        "incident's folder",
        read=_baseline,
    )
    parser.add_flag("--include-signature", "also change decorators, defaults, docstrings and f-strings")


def _add_places(parser: CommandParser) -> None:
    """Declare the options that say where the trials run."""
    parser.section("where it runs")
    parser.add_value(
        "--jobs",
        "N",
        "how many processes run at a time",
        read=number(1, 1024),
        unless_given="as many as there are cores",
    )
    parser.add_value(
        "--shard",
        "K/N",
        "the K-th of N parts; `merge` puts them together",
        read=_shard,
        default=(1, 1),
        unless_given="1/1",
    )
    parser.add_value(
        "--executor",
        "WHERE",
        "where it runs: local, or dask: one incident a task on a cluster, --scheduler's or one of this machine",
        choices=("local", "dask"),
        read=_executor,
        default="local",
    )
    parser.add_value("--scheduler", "ADDRESS", "the scheduler of the Dask cluster")


def _add_limits(parser: CommandParser) -> None:
    """Declare the options that limit a trial, and the number of trials."""
    parser.section("limits")
    parser.add_value(
        "--timeout",
        "S",
        "seconds that a trial may take",
        read=seconds,
        unless_given="ten times what the fix takes, and at least 2",
    )
    parser.add_value(
        "--memory",
        "MB",
        "megabytes that a trial may take",
        read=number(16, 1 << 20),
        default=1024,
    )
    parser.add_value(
        "--inputs",
        "N",
        "the most inputs for a call",
        read=number(1, 10_000),
        default=96,
    )
    parser.add_value(
        "--hypothesis",
        "N",
        "how many inputs hypothesis draws in addition",
        read=number(1, 10_000),
        default=0,
    )
    parser.add_value(
        "--crosscheck",
        "PERCENT",
        "the share of the mutants that plain cosmic-ray tries, too; 0 for none",
        read=percentage,
        default=2.0,
    )


def _add_output(parser: CommandParser) -> None:
    """Declare the options that say what is written, and how the study is judged."""
    parser.section("the result")
    parser.add_value(
        "--out",
        "FOLDER",
        "where results go, and what was tried so far: the same command goes on from there",
        default=_OUT,
    )
    parser.add_value(
        "--write-tests",
        "FILE",
        "write the inputs that tell mutants from the fix as a test of pytest; {incident} stands for its name, {function} "
        "for the function's",
    )
    parser.add_value(
        "--fail-under",
        "P",
        "status 1 if the tests that replay a trace notice fewer than P percent of the mutants",
        read=percentage,
    )
    parser.add_flag(
        "--survivors", "also list the mutants that the cut-point test does not notice, as -v does"
    )
