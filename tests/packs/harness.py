"""Helpers of the tests of packs: a program is recorded once, and replayed with its provider stopped.

Only lines of the program itself may make calls outside boundaries. Each test names them with `findings`; most have none.
"""

import functools
import importlib.metadata
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from autochron import provider
from autochron.model import Trace
from autochron.store import open_store
from tests.agents import workshop
from tests.agents.cases import Case
from tests.agents.workshop import CompletedCommand, Fresh, assert_same

PROGRAMS = Path(__file__).parent / "programs"


def needs(*distributions):
    """Return marks that make a test slow, and skip it if a distribution isn't installed. Frameworks are not imported."""
    missing = [name for name in distributions if version(name) is None]
    return [
        pytest.mark.slow,
        pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed"),
    ]


@functools.cache
def version(distribution):
    """Return the version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Recorded:
    """A recorded program: its command, its trace and its number of provider calls."""

    command: CompletedCommand
    trace: Trace
    calls: int
    """How many requests its provider received."""

    @property
    def output(self):
        """Return what the program printed."""
        return self.command.stdout.decode()

    @property
    def slugs(self):
        """Return the slugs of the warnings that the run reported."""
        return reported_slugs(self.command)

    def addresses(self, *kinds, below=None):
        """Return addresses in order of start: of the given kinds, and of the children of `below` if it is given."""
        above = (
            None
            if below is None
            else next(envelope.seq for envelope in self.trace.envelopes if envelope.address == below)
        )
        return [
            envelope.address
            for envelope in self.trace.envelopes
            if (not kinds or envelope.kind in kinds) and (below is None or envelope.parent == above)
        ]


def reported_slugs(command):
    """Return the slugs of the warnings that a run reported."""
    return set(re.findall(r"^  .*\(([a-z-]+)\)$", command.stderr, re.MULTILINE))


def record(folder, case, script, *, seed=None, **environment):
    """Record a program of `programs/`."""
    with provider.serve(script=script, seed=seed) as model:
        runner = Surrounded({"ANTHROPIC_API_BASE": model.origin, **environment})
        command = workshop.record(runner, set_up(folder, case), folder, model)
        return Recorded(command, trace_of(folder), model.calls)


def record_models(folder, program, script, *, findings=(), slugs=(), **environment):
    """Record a program, and check that each call of its provider is a model crossing."""
    recorded = record(folder, Case(program, findings=findings, slugs=slugs), script, **environment)
    assert len(recorded.addresses("model")) == recorded.calls, recorded.command.stderr
    return recorded


def record_and_replay(program, folder, script, *, tools="", rules="", findings=(), **environment):
    """Record a program and replay it in a process without a provider. Return the recorded program."""
    case = Case(program, tools, rules, findings=findings)
    recorded = record(folder, case, script, seed=7, **environment)
    replay_again(folder, recorded, **environment)
    return recorded


def replay_again(folder, recorded, **environment):
    """Replay the last trace in a process without a provider."""
    assert_same(recorded.command, Surrounded(environment).run(folder, "replay", "last"), 0)


def set_up(folder, case):
    """Copy a program of `programs/` into a folder and write its rules. Return its case."""
    shutil.copy(PROGRAMS / f"{case.module}.py", folder)
    (folder / "autochron.toml").write_text(case.rule_file(), encoding="utf-8")
    return case


def trace_of(folder):
    """Return the last trace in a folder's store."""
    return open_store(str(folder / ".autochron" / "traces.db")).load("last")


class Surrounded(Fresh):
    """Runs commands in new interpreters, with more variables in their environment."""

    def __init__(self, environment):
        self._environment = environment

    def run(self, folder, *arguments, **more):
        return super().run(folder, *arguments, **{**self._environment, **more})
