"""Make an incident from a trace: a folder with the trace, its rules, and a test that fails until the failure is fixed."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from autochron._runtime.unpatched import os
from autochron.config import RULE_FILE, default_store
from autochron.diagnostics import incident_check, recorded_sites
from autochron.diagnostics.woven_tools import refuse_uncovered
from autochron.effects.carrying import take_along
from autochron.effects.snapshots import SnapshotFolder, folder_of_store
from autochron.errors import UsageError
from autochron.escaping import (
    markdown_block,
    markdown_code,
    python_comment,
    python_docstring,
    python_string,
    shell_word,
    toml_string,
)
from autochron.incident import generated
from autochron.incident.folder import move_in, refuse_occupied
from autochron.incident.formatting import (
    describe_command,
    fill_template,
    format_argument,
    format_arguments,
    format_comment,
    format_list,
    format_volatile,
    in_ticks,
)
from autochron.model import Envelope, Footer, Incident, Rules
from autochron.redaction.redactor import Redactor
from autochron.replaying.plan import ReplayPlan, plan_for
from autochron.reproduction.baseline import FILE
from autochron.reproduction.outcomes import arguments_words, outcome_phrase
from autochron.rules.loading import load_rules
from autochron.rules.text import read_text
from autochron.session.calling import masked_arguments, obstacle
from autochron.session.record_context import refuse_unwoven
from autochron.store.tracefile import write_stream

if TYPE_CHECKING:
    from autochron.ports import Record

TRACE = "trace.jsonl"

TAKEN = "trace.snapshots"
"""The folder in the incident with the contents of snapshots that were taken along."""

_SNAPSHOT_ROW = f"\n| `{TAKEN}/` | what files and databases held before the recorded run |"

_MAX_LISTED = 8
"""How many suspects a test names. If there are more, the user has to choose."""


class IncidentRequest(NamedTuple):
    """The options of `autochron incident new`."""

    record: Record
    """The trace."""
    rules: Rules
    live: tuple[str, ...]
    """What is live in the test, as for a replay."""
    inputs: str | None
    """How the test compares inputs, as for a replay."""
    folder: str
    """The incident's folder."""
    allow_unwoven: bool = False
    """Whether the test may run tools for real that no rule covers."""
    force: bool = False
    """Whether an existing incident is replaced."""
    with_snapshots: bool = False
    """Whether the contents of snapshots are copied into the incident."""
    rows: tuple[str, ...] = ()
    """Which rows of a table are copied, as `TABLE=WHERE`."""
    accepted: tuple[str, ...] = ()
    """Names of the secrets that the copied contents may hold."""
    places: tuple[SnapshotFolder, ...] = ()
    """The folders that hold the contents of the trace's snapshots."""

    def snapshots_at(self, folder: str) -> str | None:
        """Return the folder with the contents of snapshots, relative to the incident's folder.

        Returns:
            The folder; None if the test finds the contents by itself, or if there are none.
        """
        footer = self.record.footer
        if footer is None or not any(snapshot.digest for snapshot in footer.snapshots) or self.with_snapshots:
            return None
        project_folder = folder_of_store(default_store(None, self.rules.root or os.getcwd()))
        used_folder = next(
            (
                place
                for place in self.places
                if any(place.has(snapshot.digest) for snapshot in footer.snapshots)
            ),
            project_folder,
        )
        if used_folder is None or project_folder is None or used_folder.path == project_folder.path:
            return None
        return os.path.relpath(used_folder.path, folder).replace(os.sep, "/")


def write(request: IncidentRequest, tree: Sequence[str]) -> Incident:
    """Write the incident's folder, completely or not at all.

    Args:
        request: the options.
        tree: the lines of the drawn trace, for the README.

    Raises:
        UsageError: the folder exists and may not be replaced, or the trace was cut off.
        PlanError: nothing in the trace fits `request.live`.
        UnwovenToolError: the trace has tools that no rule wove, so that the test would run them for real, and
            `request.allow_unwoven` is false.
    """
    folder = os.path.abspath(request.folder)
    plan, footer = _checked_plan(request, folder)
    text = _IncidentText(request, plan, folder, footer)
    files = {
        RULE_FILE: _rules_text(request.rules, text.root),
        text.file: text.test(),
        "README.md": text.readme(tree),
    }
    _make_folder(request, folder, files, footer)
    return Incident(
        folder=request.folder,
        trace=request.record.header.id,
        files=(TRACE, *files, FILE, *([f"{TAKEN}/"] if text.takes_snapshots else [])),
        test=os.path.join(request.folder, text.file),
        waits=text.is_block,
        raises=footer.error.rpartition(".")[2] if text.is_call and footer.error else None,
        warnings=tuple(_warnings(request, folder)),
        root=request.rules.root or os.getcwd(),
    )


def _make_folder(request: IncidentRequest, folder: str, files: Mapping[str, str], footer: Footer) -> None:
    """Write the files and the trace into a staging folder beside the incident's, then move them into place."""
    record, staging = request.record, None
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        staging = tempfile.mkdtemp(prefix=".autochron-", dir=os.path.dirname(folder))
        for name, text in files.items():
            with open(os.path.join(staging, name), "w", encoding="utf-8") as file:
                file.write(text)
        if request.with_snapshots:
            taken = take_along(
                footer,
                request.places,
                os.path.join(staging, TAKEN),
                request.rows,
                request.accepted,
                Redactor.of(request.rules).mask,
            )
            footer = structs.replace(footer, snapshots=taken)
        write_stream(record.header, record, footer, os.path.join(staging, TRACE))
        os.chmod(staging, 0o755)
        move_in(staging, folder)
    except BaseException as error:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(
                f"{request.folder} can't be made ({error.strerror}); name another folder"
            ) from error
        raise


def suspects_of(request: IncidentRequest) -> list[Envelope]:
    """Return the recorded crossings that may have gone wrong, and that the test judges."""
    return incident_check.suspects(
        request.record, plan_for(request.record, request.live, inputs=request.inputs)
    )


def test_text(request: IncidentRequest, volatile: Sequence[tuple[str, str]]) -> str:
    """Return the text of the test.

    Args:
        request: the options.
        volatile: the fields that vary, each with a comment that shows example values.
    """
    footer = request.record.footer
    assert footer is not None  # noqa: S101 - a trace without one is refused
    plan = plan_for(request.record, request.live, inputs=request.inputs)
    return _IncidentText(request, plan, os.path.abspath(request.folder), footer).test(volatile)


def _checked_plan(request: IncidentRequest, folder: str) -> tuple[ReplayPlan, Footer]:
    """Return the plan and the trace's footer. Raise if the trace can't become an incident, as `write` does."""
    record = request.record
    refuse_occupied(folder, request.folder, force=request.force)
    plan = plan_for(record, request.live, inputs=request.inputs)
    if record.footer is None:
        raise UsageError(
            f"trace {record.header.id} was cut off before its end, so its test could not tell what the whole run did;"
            " record it again"
        )
    if request.allow_unwoven:
        refuse_uncovered(record, request.rules, live=plan)
    else:
        refuse_unwoven(record, request.rules)
        refuse_uncovered(record, request.rules)
    return plan, record.footer


def _warnings(request: IncidentRequest, folder: str) -> list[str]:
    recorded_digest, rules = request.record.header.rules, request.rules
    messages = []
    if recorded_digest != rules.file_digest:
        name = os.path.relpath(rules.file) if rules.file else "the shipped packs"
        messages.append(
            f"the trace was not recorded with the rules that {name} holds today, which {RULE_FILE} repeats: "
            "what they weave otherwise is a divergence in the test (rules-changed)"
        )
    footer = request.record.footer
    snapshots = [snapshot for snapshot in footer.snapshots if snapshot.digest] if footer is not None else []
    if snapshots and not request.with_snapshots:
        names = ", ".join(snapshot.path for snapshot in snapshots[:_MAX_LISTED]) + (
            ", …" if len(snapshots) > _MAX_LISTED else ""
        )
        messages.append(
            f"what {names} held before the run stays in the local store, so the test runs on this machine alone;"
            " --with-snapshots takes it along (snapshots-stay)"
        )
    if load_rules(os.path.join(folder, RULE_FILE)).digest != rules.file_digest:
        messages.append(
            f"{RULE_FILE} does not mean quite the same as the rules it was made of (rules-changed)"
        )
    return messages


def _rules_text(rules: Rules, root: str) -> str:
    """Return the text of the incident's rule file: a copy of the rules with `root` set, so that their paths stay valid."""
    import tomlkit  # lazy: 30 ms

    head = "# The rules that made trace.jsonl. Their paths, and the trace's sites, start from `root`.\n"
    head += f"root = {toml_string(root)}\n"
    if rules.file is None:
        return f"version = 1\n{head}" if rules.children else f"version = 1\n{head}children = false\n"
    text = read_text(rules.file, os.path.relpath(rules.file))
    document = tomlkit.parse(text)
    if os.path.basename(rules.file) != RULE_FILE and "autochron" in document.get("tool", {}):
        table = document["tool"]["autochron"].unwrap()
        table.pop("root", None)
        return head + tomlkit.dumps(table)
    if "root" in document:
        document.remove("root")
        text = tomlkit.dumps(document)
    return head + text


class _IncidentText:
    """The texts of an incident's test and README."""

    def __init__(self, request: IncidentRequest, plan: ReplayPlan, folder: str, footer: Footer) -> None:
        record, rules = request.record, request.rules
        self._request = request
        self._footer = footer
        self._project_root = rules.root or os.getcwd()
        self.root = os.path.relpath(self._project_root, folder).replace(os.sep, "/")
        self._folder = os.path.relpath(folder, self._project_root).replace(os.sep, "/")
        is_block = record.header.command.mode == "block"
        self._obstacle = obstacle(record.header, footer) if is_block else None
        self.is_call = is_block and self._obstacle is None
        """Whether the trace is of a call that a replay can repeat."""
        self.is_block = is_block and not self.is_call
        self._title = os.path.basename(folder)
        self._name = re.sub(r"\W+", "_", self._title).strip("_").lower() or "incident"
        self.file = f"test_{self._name}.py"
        self._suspects = incident_check.suspects(record, plan)
        self._has_failed = incident_check.has_failed(record)
        self._models = plan.models
        self.takes_snapshots = request.with_snapshots and any(
            snapshot.digest for snapshot in footer.snapshots
        )
        """Whether the folder has contents of snapshots."""

    def test(self, volatile: Sequence[tuple[str, str]] = ()) -> str:
        """Return the text of the test, checked by `generated.refuse_unintended`; `volatile` is as for `test_text`."""
        named_suspects = [] if self._has_failed or len(self._suspects) > _MAX_LISTED else self._suspects
        example = self._suspects[-1] if self._suspects else None
        live = self._request.live
        plan: dict[str, generated.Argument] = {"live": live[0] if len(live) == 1 else tuple(live)}
        if self._request.inputs:
            plan["inputs"] = self._request.inputs
        plan["deny"] = self._denials()
        if self._request.allow_unwoven:
            plan["allow_unwoven"] = True
        arguments = [f"{key}={format_argument(value)}" for key, value in plan.items()]
        if volatile:
            plan["volatile"] = tuple(field for field, _ in volatile)
            arguments.append(format_volatile(volatile))
        title = f"The incident {self._name}: what happened then must not happen again."
        place = f"{self.file}, in test_{self._name}"
        text = fill_template(
            self._template(),
            title=python_docstring(title),
            shown=python_docstring(shell_word(self._folder)),
            name=self._name,
            plan=format_arguments(['"trace.jsonl"', *arguments]),
            served=format_comment(self._served_comment()) + self._allowed_comment(),
            place=python_docstring(place),
            until=format_comment(
                f"{self._failing_condition(str)} Say here what should happen instead, such as"
            ),
            example=python_comment(python_string(example.address if example else "NAME[1]")),
            suspects=format_list([python_string(suspect.address) for suspect in named_suspects]),
        )
        generated.refuse_unintended(
            text,
            generated.IntendedTest(
                docstring=fill_template("docstring.txt", title=title, shown=shell_word(self._folder)),
                name=self._name,
                arguments=plan,
                call=self._call(place),
                suspects=tuple(suspect.address for suspect in named_suspects),
            ),
        )
        return text

    def _call(self, place: str) -> tuple[str, str | None]:
        """Return the first call of the test: a method of the replay and None, or a function of pytest and its message."""
        if self.is_block:
            return "fail", f"call the agent here as it was called when this was recorded: {place}"
        return ("call" if self.is_call else "run"), None

    def _denials(self) -> str:
        return "subprocess" if self._models else "network,subprocess"

    def _template(self) -> str:
        if self.is_call:
            return "test_call.py.txt"
        return "test_block.py.txt" if self.is_block else "test_command.py.txt"

    def _served_comment(self) -> str:
        live = f"live is {', '.join(self._request.live)}, and the rest is served from the trace."
        if self.is_call:
            masked = masked_arguments(self._footer)
            mask = (
                f" What was masked when it was recorded is passed as its mask: {', '.join(masked)}."
                if masked
                else ""
            )
            return f"The recorded call, made again in this process; {live}{mask}"
        if not self.is_block:
            return f"The recorded command in a process of its own; {live}"
        command = describe_command(self._request.record.header.command, in_ticks)
        return (
            f"The trace is of {command}, and names no program that could be "
            f"run{self._obstacle_clause()}. Call the agent here as it was called there, in the place of the next line; {live}"
        )

    def _allowed_comment(self) -> str:
        """Return the comment line of a test that may run tools for real; an empty string for another test."""
        if not self._request.allow_unwoven:
            return ""
        tools = python_comment(", ".join(self._footer.unwoven_tools)) or "what today's rules don't cover"
        return (
            f"\n    # allow_unwoven: the test may run {tools} for real, for no boundary is known to cover it."
        )

    def _obstacle_clause(self) -> str:
        is_of_call = self._footer.call is not None
        return f", and the call can't be made again: {self._obstacle}" if is_of_call else ""

    def _failing_condition(self, escape: Callable[[str], str]) -> str:
        """Return a sentence on how long the test fails; `escape` escapes addresses from the trace."""
        if self._has_failed and self.is_call:
            return "This fails while the call fails."
        if self._has_failed:
            return "This fails while the program fails."
        if len(self._suspects) == 1:
            return f"This fails while {escape(self._suspects[0].address)} does what it did in the incident."
        return (
            "This fails while all of these do what they did in the incident; leave only those here that went wrong."
            if len(self._suspects) <= _MAX_LISTED
            else "This fails while all that is live does what it did in the incident; name here what went wrong."
        )

    def readme(self, tree: Sequence[str]) -> str:
        """Return the text of the README; `tree` is the lines of the drawn trace."""
        header = self._request.record.header
        return fill_template(
            "README.md.txt",
            name=markdown_code(self._title),
            command=describe_command(header.command, markdown_code),
            created=markdown_code(header.created),
            python=markdown_code(header.python or "?"),
            autochron=markdown_code(header.autochron or "?"),
            id=markdown_code(header.id),
            ended=self._ending(),
            tree=markdown_block("\n".join(tree)),
            view=markdown_code(f"autochron view {shell_word(f'{self._folder}/{TRACE}')}"),
            show=markdown_code(f"autochron traces show --full {shell_word(f'{self._folder}/{TRACE}')}"),
            pytest=markdown_block(f"$ pytest {shell_word(self._folder)}", "console"),
            how=self._how_it_runs(),
            until=self._failing_condition(markdown_code),
            fixes=self._fixes(),
            candidate=self._trial_of_fix(),
            root=markdown_code(f"root = {toml_string(self.root)}"),
            file=markdown_code(self.file),
            snapshots=_SNAPSHOT_ROW if self.takes_snapshots else "",
        )

    def _ending(self) -> str:
        footer = self._footer
        error = markdown_code(footer.error) if footer.error else ""
        if footer.status is None:
            return f"It ended with {error}." if error else "It ended without an exception."
        return f"It ended with status {footer.status}" + (f" ({error})." if error else ".")

    def _how_it_runs(self) -> str:
        runs = (
            "It waits for you to write into it how the agent is called."
            if self.is_block
            else "It makes the recorded call again: `replay.call()`."
            if self.is_call
            else "It runs the recorded command again in a process of its own."
        )
        live = ", ".join(map(markdown_code, self._request.live))
        denied = "starting programs" if self._models else "the network and from starting programs"
        return (
            f"{runs} Live is {live}, and the rest is served from the trace. What is live is kept from {denied}; leave out of"
            " `deny` what a tool needs. Files and SQLite databases it reads and writes on a scratch copy, which is made from"
            " what they held before the recorded run."
        )

    def _fixes(self) -> str:
        begin = (
            "The fix goes where the failure comes from."
            if self._has_failed
            else "The fix goes where it went wrong, or into what calls it."
        )
        rows = [self._suspect_line(suspect) for suspect in self._suspects[:_MAX_LISTED]]
        more = (
            [f"- and {len(self._suspects) - _MAX_LISTED} more"] if len(self._suspects) > _MAX_LISTED else []
        )
        return "\n".join([f"{begin} What is live:\n", *rows, *more])

    def _suspect_line(self, suspect: Envelope) -> str:
        place = recorded_sites.place_of(self._project_root, suspect, markdown_code)
        arguments = markdown_code(arguments_words(suspect))
        verb, value = outcome_phrase(suspect)
        outcome = f"{verb} {markdown_code(value)}"
        return f"- {markdown_code(suspect.address)}: {place}. It was given {arguments} and {outcome}."

    def _trial_of_fix(self) -> str:
        for suspect in self._suspects:
            function = self._function_of(suspect)
            if function is not None:
                file, qualname = function
                options = " ".join(f"--live {shell_word(word)}" for word in self._request.live)
                options += " --allow-unwoven" if self._request.allow_unwoven else ""
                trace, swap = (
                    f"{self._folder}/{TRACE}",
                    f"{file}:{qualname}=fix.py:{qualname.rpartition('.')[2]}",
                )
                line = f"$ autochron replay {shell_word(trace)} {options} --swap {shell_word(swap)}"
                return fill_template("candidate.md.txt", line=markdown_block(line, "console"))
        return ""

    def _function_of(self, suspect: Envelope) -> tuple[str, str] | None:
        """Return the file and the qualified name of a suspect's function in the project; None if no swap can name it."""
        file, qualname, label = recorded_sites.parts_of(suspect.site)
        if not file.endswith(".py"):
            tools = recorded_sites.tools_of(self._project_root, suspect)
            if len(tools) != 1:
                return None
            file, qualname = tools[0].file, tools[0].qualname
        elif label != qualname:
            return None
        return None if "<locals>" in qualname else (file, qualname)
