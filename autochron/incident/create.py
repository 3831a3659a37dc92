"""Make an incident of a trace: a folder with the trace, the rules that made it, and a test that fails until it is fixed."""

from __future__ import annotations

import re
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from string import Template
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
    markdown_text,
    python_comment,
    python_docstring,
    python_string,
    shell_word,
    toml_string,
)
from autochron.incident import generated
from autochron.incident.folder import move_in, refuse_occupied
from autochron.model import Command, Envelope, Footer, Incident, Rules
from autochron.redaction.redactor import Redactor
from autochron.replaying.plan import ReplayPlan, plan_for
from autochron.reproduction.outcomes import arguments_words, outcome_words
from autochron.rules.loading import load_rules
from autochron.rules.text import read_text
from autochron.session.calling import masked_arguments, obstacle
from autochron.session.record_context import refuse_unwoven
from autochron.store.tracefile import write_stream

if TYPE_CHECKING:
    from autochron.ports import Record

TRACE = "trace.jsonl"

TAKEN = "trace.snapshots"
"""The folder with the contents of snapshots that were taken along."""

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
_BLOCK = "with autochron.record(...)"
_FEW = 8
"""How many suspects a test names; of more the user has to say which are meant."""
_WIDE = 100


class IncidentRequest(NamedTuple):
    """What is asked for."""

    record: Record
    rules: Rules
    live: tuple[str, ...]
    inputs: str | None
    folder: str
    allow_unwoven: bool = False
    """Whether the test may run tools for real that no rule covers."""
    force: bool = False
    """Whether an incident that is there is replaced."""
    with_snapshots: bool = False
    """Whether the contents of snapshots are taken along."""
    rows: tuple[str, ...] = ()
    """`TABLE=WHERE`: which rows of a table are taken along."""
    accepted: tuple[str, ...] = ()
    """Names of the secrets that may be in what is taken along."""
    places: tuple[SnapshotFolder, ...] = ()
    """Where the contents of the trace's snapshots are."""

    def snapshots_at(self, folder: str) -> str | None:
        """Return where the test finds the contents of snapshots, where it would not look by itself."""
        footer = self.record.footer
        if footer is None or not any(each.digest for each in footer.snapshots) or self.with_snapshots:
            return None
        own = folder_of_store(default_store(None, self.rules.root or os.getcwd()))
        used = next(
            (each for each in self.places if any(each.has(one.digest) for one in footer.snapshots)), own
        )
        if used is None or own is None or used.path == own.path:
            return None
        return os.path.relpath(used.path, folder).replace(os.sep, "/")


def write(wanted: IncidentRequest, tree: Sequence[str]) -> Incident:
    """Write the folder, whole or not at all; `tree` is the trace, drawn.

    Raises:
        UsageError: the folder holds something already, or the trace was cut off.
        PlanError: the trace has nothing that is to be live.
        UnwovenToolError: the trace has tools that no rule wove, so that the test would run them for real, and that is not
            allowed.
    """
    folder = os.path.abspath(wanted.folder)
    plan, footer = _settled(wanted, folder)
    said = _Said(wanted, plan, folder, footer)
    files = {
        RULE_FILE: _rules_text(wanted.rules, said.root),
        said.file: said.test(),
        "README.md": said.readme(tree),
    }
    _make_folder(wanted, folder, files, footer)
    return Incident(
        folder=wanted.folder,
        trace=wanted.record.header.id,
        files=(TRACE, *files),
        test=os.path.join(wanted.folder, said.file),
        waits=said.is_block,
        raises=footer.error.rpartition(".")[2] if said.is_call and footer.error else None,
        warnings=tuple(_warnings(wanted, folder)),
        root=wanted.rules.root or os.getcwd(),
    )


def _make_folder(wanted: IncidentRequest, folder: str, files: Mapping[str, str], footer: Footer) -> None:
    """Write the files and the trace beside the folder, then move all into its place."""
    record, made = wanted.record, None
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        made = tempfile.mkdtemp(prefix=".autochron-", dir=os.path.dirname(folder))
        for name, text in files.items():
            with open(os.path.join(made, name), "w", encoding="utf-8") as file:
                file.write(text)
        if wanted.with_snapshots:
            taken = take_along(
                footer,
                wanted.places,
                os.path.join(made, TAKEN),
                wanted.rows,
                wanted.accepted,
                Redactor.of(wanted.rules).mask,
            )
            footer = structs.replace(footer, snapshots=taken)
        write_stream(record.header, record, footer, os.path.join(made, TRACE))
        os.chmod(made, 0o755)
        move_in(made, folder)
    except BaseException as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(
                f"{wanted.folder} can't be made ({error.strerror}); name another folder"
            ) from error
        raise


def suspects_of(wanted: IncidentRequest) -> list[Envelope]:
    """Return the recorded crossings that the test is about."""
    return incident_check.suspects(wanted.record, plan_for(wanted.record, wanted.live, inputs=wanted.inputs))


def test_text(wanted: IncidentRequest, volatile: Sequence[tuple[str, str]]) -> str:
    """Return the text of the test; `volatile` are fields that vary, each with examples."""
    footer = wanted.record.footer
    assert footer is not None  # noqa: S101 - a trace without one is refused
    plan = plan_for(wanted.record, wanted.live, inputs=wanted.inputs)
    return _Said(wanted, plan, os.path.abspath(wanted.folder), footer).test(volatile)


def _settled(wanted: IncidentRequest, folder: str) -> tuple[ReplayPlan, Footer]:
    """Refuse what can't become an incident; return what is live, and how the recorded run ended."""
    record = wanted.record
    refuse_occupied(folder, wanted.folder, force=wanted.force)
    plan = plan_for(record, wanted.live, inputs=wanted.inputs)
    if record.footer is None:
        raise UsageError(
            f"trace {record.header.id} was cut off before its end, so its test could not tell what the whole run did;"
            " record it again"
        )
    if wanted.allow_unwoven:
        refuse_uncovered(record, wanted.rules, live=plan)
    else:
        refuse_unwoven(record)
        refuse_uncovered(record, wanted.rules)
    return plan, record.footer


def _warnings(wanted: IncidentRequest, folder: str) -> list[str]:
    made, rules = wanted.record.header.rules, wanted.rules
    found = []
    if made != rules.digest:
        name = os.path.relpath(rules.file) if rules.file else "the shipped packs"
        found.append(
            f"the trace was not recorded with the rules that {name} holds today, which {RULE_FILE} repeats: "
            "what they weave otherwise is a divergence in the test (rules-changed)"
        )
    footer = wanted.record.footer
    state = [each for each in footer.snapshots if each.digest] if footer is not None else []
    if state and not wanted.with_snapshots:
        names = ", ".join(each.path for each in state[:_FEW]) + (", …" if len(state) > _FEW else "")
        found.append(
            f"what {names} held before the run stays in the local store, so the test runs on this machine alone;"
            " --with-snapshots takes it along (snapshots-stay)"
        )
    if load_rules(os.path.join(folder, RULE_FILE)).digest != rules.digest:
        found.append(f"{RULE_FILE} does not mean quite the same as the rules it was made of (rules-changed)")
    return found


def _rules_text(rules: Rules, root: str) -> str:
    """Repeat the rules, so that the incident keeps those that made its trace, with paths that start from the same folder."""
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


class _Said:
    """The words of an incident's files."""

    def __init__(self, wanted: IncidentRequest, plan: ReplayPlan, folder: str, footer: Footer) -> None:
        record, rules = wanted.record, wanted.rules
        self._wanted = wanted
        self._footer = footer
        self._home = rules.root or os.getcwd()
        self.root = os.path.relpath(self._home, folder).replace(os.sep, "/")
        self._shown = os.path.relpath(folder, self._home).replace(os.sep, "/")
        is_block = record.header.command.mode == "block"
        self._obstacle = obstacle(record.header, footer) if is_block else None
        self.is_call = is_block and self._obstacle is None
        """Whether the trace is of a call that can be made again."""
        self.is_block = is_block and not self.is_call
        self._title = os.path.basename(folder)
        self._name = re.sub(r"\W+", "_", self._title).strip("_").lower() or "incident"
        self.file = f"test_{self._name}.py"
        self._suspects = incident_check.suspects(record, plan)
        self._failed = incident_check.has_failed(record)
        self._models = plan.models

    def test(self, volatile: Sequence[tuple[str, str]] = ()) -> str:
        """Write the test; `volatile` are fields that vary, each with examples."""
        named = [] if self._failed or len(self._suspects) > _FEW else self._suspects
        example = self._suspects[-1] if self._suspects else None
        live = self._wanted.live
        plan: dict[str, generated.Argument] = {"live": live[0] if len(live) == 1 else tuple(live)}
        if self._wanted.inputs:
            plan["inputs"] = self._wanted.inputs
        plan["deny"] = self._denied()
        if self._wanted.allow_unwoven:
            plan["allow_unwoven"] = True
        arguments = [f"{key}={_argument(value)}" for key, value in plan.items()]
        if volatile:
            plan["volatile"] = tuple(field for field, _ in volatile)
            arguments.append(_volatile(volatile))
        title = f"The incident {self._name}: what happened then must not happen reproduced."
        place = f"{self.file}, in test_{self._name}"
        text = _filled(
            self._template(),
            title=python_docstring(title),
            shown=python_docstring(shell_word(self._shown)),
            name=self._name,
            plan=_arguments(['"trace.jsonl"', *arguments]),
            served=_comment(self._served()) + self._allowed(),
            place=python_docstring(place),
            until=_comment(f"{self._until(str)} Say here what should happen instead, such as"),
            example=python_comment(python_string(example.address if example else "NAME[1]")),
            suspects=_listed([python_string(each.address) for each in named]),
        )
        generated.refuse_other(
            text,
            generated.Intended(
                docstring=_filled("docstring.txt", title=title, shown=shell_word(self._shown)),
                name=self._name,
                arguments=plan,
                call=self._call(place),
                suspects=tuple(each.address for each in named),
            ),
        )
        return text

    def _call(self, place: str) -> tuple[str, str | None]:
        """Return what the test does first: a method of the replay; or one of pytest, with its message."""
        if self.is_block:
            return "fail", f"call the agent here as it was called when this was recorded: {place}"
        return ("call" if self.is_call else "run"), None

    def _denied(self) -> str:
        return "subprocess" if self._models else "network,subprocess"

    def _template(self) -> str:
        if self.is_call:
            return "test_call.py.txt"
        return "test_block.py.txt" if self.is_block else "test_command.py.txt"

    def _served(self) -> str:
        live = f"live is {', '.join(self._wanted.live)}, and the rest is served from the trace."
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
        return (
            f"The trace is of {_command(self._wanted.record.header.command, _in_ticks)}, and names no program that could be "
            f"run{self._why()}. Call the agent here as it was called there, in the place of the next line; {live}"
        )

    def _allowed(self) -> str:
        """Return the comment on a test that may run tools for real, in a line of its own."""
        if not self._wanted.allow_unwoven:
            return ""
        tools = python_comment(", ".join(self._footer.unwoven_tools)) or "what today's rules don't cover"
        return (
            f"\n    # allow_unwoven: the test may run {tools} for real, for no boundary is known to cover it."
        )

    def _why(self) -> str:
        is_of_call = self._footer.call is not None
        return f", and the call can't be made again: {self._obstacle}" if is_of_call else ""

    def _until(self, written: Callable[[str], str]) -> str:
        """Say until when the test fails; `written` escapes what is not ours."""
        if self._failed and self.is_call:
            return "This fails while the call fails."
        if self._failed:
            return "This fails while the program fails."
        if len(self._suspects) == 1:
            return f"This fails while {written(self._suspects[0].address)} does what it did in the incident."
        return (
            "This fails while all of these do what they did in the incident; leave only those here that went wrong."
            if len(self._suspects) <= _FEW
            else "This fails while all that is live does what it did in the incident; name here what went wrong."
        )

    def readme(self, tree: Sequence[str]) -> str:
        """Write the story."""
        header = self._wanted.record.header
        return _filled(
            "README.md.txt",
            name=markdown_text(self._title),
            command=_command(header.command, markdown_code),
            created=markdown_text(header.created),
            python=markdown_text(header.python or "?"),
            autochron=markdown_text(header.autochron or "?"),
            id=markdown_text(header.id),
            ended=self._ended(),
            tree=markdown_block("\n".join(tree)),
            show=markdown_code(f"autochron traces show --full {shell_word(f'{self._shown}/{TRACE}')}"),
            pytest=markdown_block(f"$ pytest {shell_word(self._shown)}", "console"),
            how=self._how(),
            until=self._until(markdown_text),
            fixes=self._fixes(),
            candidate=self._candidate(),
            root=markdown_code(f"root = {toml_string(self.root)}"),
            file=self.file,
        )

    def _ended(self) -> str:
        footer = self._footer
        error = markdown_text(footer.error or "")
        if footer.status is None:
            return f"It ended with {error}." if error else "It ended without an exception."
        return f"It ended with status {footer.status}" + (f" ({error})." if error else ".")

    def _how(self) -> str:
        runs = (
            "It waits for you to write into it how the agent is called."
            if self.is_block
            else "It makes the recorded call again: `replay.call()`."
            if self.is_call
            else "It runs the recorded command again in a process of its own."
        )
        what = "starting programs" if self._models else "the network and from starting programs"
        denied = (
            f" What is live is kept from {what}; leave out of `deny` what a tool needs. Files and SQLite databases it reads"
            " and writes on a scratch copy, which is made from what they held before the recorded run."
        )
        return f"{runs} Live is {markdown_text(', '.join(self._wanted.live))}, and the rest is served from the trace.{denied}"

    def _fixes(self) -> str:
        begin = (
            "The fix goes where the failure comes from."
            if self._failed
            else "The fix goes where it went wrong, or into what calls it."
        )
        rows = [self._row(each) for each in self._suspects[:_FEW]]
        more = [f"- and {len(self._suspects) - _FEW} more"] if len(self._suspects) > _FEW else []
        return "\n".join([f"{begin} What is live:\n", *rows, *more])

    def _row(self, each: Envelope) -> str:
        place = recorded_sites.place_of(self._home, each.site)
        arguments, outcome = markdown_code(arguments_words(each)), markdown_code(outcome_words(each))
        return f"- {markdown_code(each.address)}: {markdown_text(place)}. It was given {arguments} and {outcome}."

    def _candidate(self) -> str:
        for each in self._suspects:
            file, qualname, label = recorded_sites.parts_of(each.site)
            if file.endswith(".py") and label == qualname and "<locals>" not in qualname:
                options = " ".join(f"--live {shell_word(word)}" for word in self._wanted.live)
                options += " --allow-unwoven" if self._wanted.allow_unwoven else ""
                trace, swap = (
                    f"{self._shown}/{TRACE}",
                    f"{file}:{qualname}=fix.py:{qualname.rpartition('.')[2]}",
                )
                line = f"$ autochron replay {shell_word(trace)} {options} --swap {shell_word(swap)}"
                return _filled("candidate.md.txt", line=markdown_block(line, "console"))
        return ""


def _filled(name: str, /, **words: str) -> str:
    with open(os.path.join(_TEMPLATES, name), encoding="utf-8") as file:
        return Template(file.read()).substitute(words)


def _argument(value: generated.Argument) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(python_string, value))}]"
    return python_string(value) if isinstance(value, str) else str(value)


def _in_ticks(text: str) -> str:
    return f"`{text}`"


def _arguments(words: Sequence[str]) -> str:
    """Write the arguments of the marker, in one line where they fit."""
    line = ", ".join(words)
    if len(line) + len("@pytest.mark.autochron()") <= _WIDE and "\n" not in line:
        return line
    return "\n" + "".join(f"    {word},\n" for word in words)


def _volatile(fields: Sequence[tuple[str, str]]) -> str:
    """Write the fields that vary, each with a comment that says how."""
    lines = [f"        {python_string(field)},  # {python_comment(example)}" for field, example in fields]
    return "\n".join(["volatile=[", *lines, "    ]"])


def _comment(text: str) -> str:
    return "\n".join(f"    # {line}" for line in textwrap.wrap(python_comment(text), _WIDE - 6))


def _listed(arguments: Sequence[str]) -> str:
    line = ", ".join(arguments)
    if len(line) <= _WIDE:
        return line
    return "\n" + "".join(f"        {each},\n" for each in arguments) + "    "


def _command(command: Command, code: Callable[[str], str]) -> str:
    """Say how a trace was made; `code` writes what is no prose."""
    if command.mode == "block":
        return f"a call of {code(command.target)}" if command.target else f"a block {code(_BLOCK)}"
    prefix = {"script": [], "module": ["-m"], "console": ["--"]}[command.mode]
    return code(" ".join(["autochron run", *map(shell_word, [*prefix, command.target, *command.arguments])]))
