"""What the tests of packs share: a program is recorded once, and replayed with its provider stopped.

Whatever escapes the record must stand in the program's own lines: each test names these with `findings`, mostly none.
"""

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
from tests.agents.workshop import Fresh, Ran, assert_same

PROGRAMS = Path(__file__).parent / "programs"


def needs(*distributions):
    """Mark a test as slow, and skip it where a distribution isn't installed. Imports nothing: frameworks take seconds."""
    missing = [name for name in distributions if version(name) is None]
    return [
        pytest.mark.slow,
        pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed"),
    ]


def version(distribution):
    """Return the version of what is installed, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Recorded:
    """A program that was recorded."""

    ran: Ran
    trace: Trace
    calls: int
    """How often its provider was asked."""

    @property
    def said(self):
        """What it printed."""
        return self.ran.stdout.decode()

    @property
    def told(self):
        """The slugs of what the run was told of."""
        return told(self.ran)

    def addresses(self, *kinds, below=None):
        """Return addresses in order of start: of these kinds, and right inside of another."""
        above = (
            None
            if below is None
            else next(each.seq for each in self.trace.envelopes if each.address == below)
        )
        return [
            each.address
            for each in self.trace.envelopes
            if (not kinds or each.kind in kinds) and (below is None or each.parent == above)
        ]


def told(ran):
    """Return the slugs of what a run was told of."""
    return set(re.findall(r"^  .*\(([a-z-]+)\)$", ran.stderr, re.MULTILINE))


def record(folder, case, script, *, seed=None, **environment):
    """Record a program of `programs/`."""
    with provider.serve(script=script, seed=seed) as model:
        runner = Surrounded({"ANTHROPIC_API_BASE": model.origin, **environment})
        ran = workshop.record(runner, set_up(folder, case), folder, model)
        return Recorded(ran, trace_of(folder), model.calls)


def record_models(folder, program, script, *, findings=(), slugs=(), **environment):
    """Record a program of which each call of the provider is a model crossing."""
    recorded = record(folder, Case(program, findings=findings, slugs=slugs), script, **environment)
    assert len(recorded.addresses("model")) == recorded.calls, recorded.ran.stderr
    return recorded


def record_and_replay(program, folder, script, *, tools="", rules="", findings=(), **environment):
    """Record a program, and replay it in a process that knows no provider; give the record."""
    case = Case(program, tools, rules, findings=findings)
    recorded = record(folder, case, script, seed=7, **environment)
    replay_again(folder, recorded, **environment)
    return recorded


def replay_again(folder, recorded, **environment):
    """Replay the last trace in a process that knows no provider."""
    assert_same(recorded.ran, Surrounded(environment).run(folder, "replay", "last"), 0)


def set_up(folder, case):
    """Lay a program of `programs/` out in a folder, with its rules; give its case."""
    shutil.copy(PROGRAMS / f"{case.module}.py", folder)
    (folder / "autochron.toml").write_text(case.rule_file(), encoding="utf-8")
    return case


def trace_of(folder):
    """Return what was recorded last in a folder."""
    return open_store(str(folder / ".autochron" / "traces.db")).load("last")


class Surrounded(Fresh):
    """Starts interpreters with more in their environment."""

    def __init__(self, environment):
        self._environment = environment

    def run(self, folder, *arguments, **more):
        return super().run(folder, *arguments, **{**self._environment, **more})
