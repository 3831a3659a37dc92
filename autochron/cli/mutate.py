"""`autochron mutate`."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from typing import Any, Self

from autochron.cli.command_parser import CommandParser
from autochron.cli.option_values import number, percentage, seconds
from autochron.errors import UsageError
from autochron.mutate.model import Study
from autochron.mutate.report import tallies
from autochron.mutate.report.edge_tests import write_tests
from autochron.mutate.report.files import write_all
from autochron.mutate.report.text import write_study
from autochron.mutate.study import Arguments, StudyOptions, folders_of, read_arguments, study_of
from autochron.report.text import is_terminal

_OUT = os.path.join(".autochron", "mutation")


def mutate(arguments: list[str]) -> int:
    """Make a study, or put shards together."""
    options = _parser().read(arguments)
    words = options.words
    if words[:1] == ["merge"]:
        from autochron.mutate.merging import merged, read_study  # lazy: few put shards together

        if len(words) < 2:
            raise UsageError("autochron mutate merge wants the folders of the shards after it")
        study = merged([(folder, read_study(folder)) for folder in words[1:]])
    else:
        made = _made(options)
        if made is None:
            return 130
        study = made
    return _written(study, options)


def _made(options: Namespace) -> Study | None:
    """Make the study; None where it was interrupted."""
    if options.scheduler is not None and options.executor != "dask":
        raise UsageError(
            "autochron mutate: --scheduler names that of a Dask cluster; say --executor dask, too"
        )
    wanted = StudyOptions(
        operators=options.operators,
        jobs=options.jobs or os.cpu_count() or 1,
        shard=options.shard,
        out=options.out,
        tools=tuple(options.tool or ()),
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
    with _StudyBar(quiet=options.quiet) as bar:
        try:
            return study_of(folders_of(options.words), wanted, bar.tell)
        except KeyboardInterrupt:
            bar.end()
            sys.stderr.write(
                f"autochron: stopped after {bar.tried} trials; they are kept in {options.out}, and the same command goes on"
                " from there\n"
            )
            return None


def _written(study: Study, options: Namespace) -> int:
    """Write the study's files and its text, and return the status."""
    out, least = options.out, options.fail_under
    paths = write_all(study, out)
    if options.write_tests is not None:
        paths += write_tests(study, options.write_tests)
    if options.json:
        with open(paths[0], encoding="utf-8") as file:
            sys.stdout.write(file.read())
    else:
        write_study(study, sys.stdout, quiet=options.quiet, survivors=options.survivors)
        if not options.quiet:
            names = ", ".join(os.path.basename(path) for path in paths)
            sys.stdout.write(f"\nin {out}: {names}\n")
    results = tallies.all_results(study)
    escapes = any(tallies.is_escape(each) for each in results)
    found = tallies.tally(results, tallies.CUT_POINT)
    if least is not None and found.tried and 100 * found.killed / found.tried < least:
        sys.stderr.write(
            f"autochron: the cut-point test kills {found.killed} of {found.tried}, less than {least:g} % (--fail-under)\n"
        )
        return 1
    wrong = [
        each.mutant for incident in study.incidents for each in incident.agreement if each.ours != each.theirs
    ]
    if wrong:
        sys.stderr.write(
            f"autochron: plain cosmic-ray disagrees on {', '.join(wrong)}, so these results are in doubt; see what differs"
            " between a run of pytest and a trial (what is left in files, what takes long), and report it\n"
        )
    return int(escapes or bool(wrong))


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


def _parser() -> CommandParser:
    parser = CommandParser(
        "mutate",
        "[INCIDENT ...] [OPTION ...]\n       autochron mutate merge FOLDER ... [--out FOLDER]",
        "Change the tool that a cut-point test guards, one place at a time, and say which changes the test notices: "
        "beside a test that serves everything, one of mocks, one that compares all that the tools give, and one with "
        "other inputs. INCIDENT is a folder with a trace and its test; without one, the incidents below this folder. "
        "0: the test notices each change that lets the unsafe action through; 1: it does not, or notices fewer than "
        "--fail-under says, or plain cosmic-ray disagrees; 2: it could not be tried.",
    )
    _add_what(parser)
    _add_limits(parser)
    _add_output(parser)
    return parser


def _add_what(parser: CommandParser) -> None:
    """Declare the options for what is changed, and where the trials run."""
    parser.add_value(
        "--operators",
        "SET",
        "what is changed: paper, core, extended or thresholds; extended unless given",
        default="extended",
    )
    parser.add_list(
        "--tool",
        "FILE:NAME",
        "the function to change, from the incident's folder; unless given, what the tests swap in, or what is live; "
        "may be given again",
    )
    parser.add_flag("--include-signature", "also change decorators, defaults, docstrings and f-strings")
    parser.add_value(
        "--jobs",
        "N",
        "so many processes at a time; as many as there are cores unless given",
        read=number(1, 1024),
    )
    parser.add_value(
        "--shard", "K/N", "the K-th of N parts; `merge` puts them together", read=_shard, default=(1, 1)
    )
    parser.add_value(
        "--executor",
        "dask",
        "one incident a task on a Dask cluster: --scheduler's, or one of this machine",
        read=_executor,
        default="local",
    )
    parser.add_value("--scheduler", "ADDRESS", "the scheduler of the Dask cluster")


def _add_limits(parser: CommandParser) -> None:
    """Declare the options for what a trial may take, and how much is tried."""
    parser.add_value(
        "--timeout",
        "S",
        "seconds that a trial may take; ten times what the fix takes unless given, and at least 2",
        read=seconds,
    )
    parser.add_value(
        "--memory",
        "MB",
        "megabytes that a trial may take; 1024 unless given",
        read=number(16, 1 << 20),
        default=1024,
    )
    parser.add_value(
        "--inputs",
        "N",
        "so many inputs for a call at most; 96 unless given",
        read=number(1, 10_000),
        default=96,
    )
    parser.add_value(
        "--hypothesis", "N", "and so many that hypothesis draws", read=number(1, 10_000), default=0
    )
    parser.add_value(
        "--crosscheck",
        "PERCENT",
        "so many of the mutants are tried by plain cosmic-ray, too; 2 unless given, 0 for none",
        read=percentage,
        default=2.0,
    )


def _add_output(parser: CommandParser) -> None:
    """Declare the options for what is written, and how the study is judged."""
    parser.add_value(
        "--out",
        "FOLDER",
        "where results go, and what was tried so far: the same command goes on from there; .autochron/mutation "
        "unless given",
        default=_OUT,
    )
    parser.add_value(
        "--write-tests",
        "FILE",
        "write the inputs that tell mutants from the fix as a test of pytest; {incident} stands for its name",
    )
    parser.add_value(
        "--explanations",
        "FILE",
        "why mutants live: TOML with [[equivalent]], those that can't be told from the fix, and [[survivor]], those "
        "that it would take something else to kill: tables of incident, mutant and why",
    )
    parser.add_value(
        "--fail-under",
        "P",
        "1 where the cut-point test notices fewer than so many percent",
        read=percentage,
    )
    parser.add_flag("--survivors", "list what the cut-point test does not notice, too")
    parser.add_flag("--json", "the study as JSON")
    parser.add_flag("--quiet", "only how it came out")


# --- progress -------------------------------------------------------------------------------------------------------

_WORDS = {
    "cut": "cut-point",
    "stub": "full-stub",
    "mocks": "mocks",
    "widen": "other inputs",
    "sample": "plain cosmic-ray",
}


class _StudyBar:
    """How far it is, on a terminal: a line for each incident that is tried now, with rate and time left."""

    def __init__(self, *, quiet: bool) -> None:
        self.tried = 0
        self._bars: dict[str, Any] = {}
        self._progress: Any = None
        if not quiet and is_terminal(sys.stderr):
            from rich.console import Console  # lazy: only for people
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.fields[name]:14}"),
                TextColumn("{task.description:16}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=Console(file=sys.stderr), transient=True)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Take it away."""
        if self._progress is not None:
            self._progress.stop()

    def tell(self, incident: str, what: str, done: int, total: int) -> None:
        """Draw it; from any thread."""
        self.tried += 1
        if self._progress is None:
            return
        if incident not in self._bars:
            bar = self._progress.add_task("", total=total, name=incident, rate="")
            self._bars[incident] = (bar, time.monotonic(), done)
        bar, began, first = self._bars[incident]
        took = time.monotonic() - began
        rate = f"{(done - first) / took:.1f}/s" if took > 1 else ""
        self._progress.update(bar, completed=done, total=total, description=_WORDS.get(what, what), rate=rate)
        if done >= total:
            self._progress.update(bar, visible=False)
