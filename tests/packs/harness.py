"""What the tests of packs share: a program is recorded once, and replayed with its provider stopped."""

import importlib.metadata
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from autochron import provider
from autochron.model import Trace
from autochron.store import open_store
from tests.agents.cases import Case
from tests.agents.workshop import Fresh, Ran, assert_same, record

PROGRAMS = Path(__file__).parent / "programs"


def needs(*distributions):
    """Mark a test as slow, and skip it where a distribution isn't installed. Imports nothing: frameworks take seconds."""
    missing = [name for name in distributions if not is_installed(name)]
    return [
        pytest.mark.slow,
        pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed"),
    ]


def is_installed(distribution):
    """Tell whether a distribution is there."""
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


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

    def addresses(self, *kinds, below=None):
        """Give addresses in order of start: of these kinds, and right inside of another."""
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


def record_and_replay(program, folder, script, *, tools="", rules="", **environment):
    """Record a program of `programs/`, and replay it in a process that knows no provider; give the record."""
    case = Case(program, tools, rules)
    shutil.copy(PROGRAMS / f"{program}.py", folder)
    (folder / "autochron.toml").write_text(case.rule_file(), encoding="utf-8")
    with provider.serve(script=script, seed=7) as model:
        runner = Surrounded({"ANTHROPIC_API_BASE": model.origin, **environment})
        ran = record(runner, case, folder, model)
        calls = model.calls
    assert_same(ran, Surrounded(environment).run(folder, "replay", "last"), 0)
    return Recorded(ran, open_store(str(folder / ".autochron" / "traces.db")).load("last"), calls)


class Surrounded(Fresh):
    """Starts interpreters with more in their environment."""

    def __init__(self, environment):
        self._environment = environment

    def run(self, folder, *arguments, **more):
        return super().run(folder, *arguments, **{**self._environment, **more})
