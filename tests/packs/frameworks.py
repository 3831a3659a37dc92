"""Record a program on a framework once, and replay it in a fresh process with its provider gone."""

import importlib.metadata
import re
import shutil
from pathlib import Path

import pytest

from autochron import provider
from autochron.store import open_store
from tests.agents.workshop import Fresh, assert_same

PROGRAMS = Path(__file__).parent / "programs"


def needs(*distributions):
    """Mark tests as slow, and skip them where a distribution isn't installed. Imports nothing: frameworks take seconds."""
    missing = [name for name in distributions if version(name) is None]
    reason = f"{', '.join(missing)} is not installed"
    return [pytest.mark.slow, pytest.mark.skipif(bool(missing), reason=reason)]


def version(distribution):
    """Give the version of what is installed, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def record(folder, name, script, **more):
    """Record a program of `programs/`: give how it ended and its trace. Each call of the provider is a model crossing."""
    shutil.copy(PROGRAMS / f"{name}.py", folder)
    (folder / "autochron.toml").write_text("version = 1\n", encoding="utf-8")
    with provider.serve(script=script) as model:
        ran = Fresh().run(folder, "run", f"{name}.py", model=model, **more)
        assert ran.status == 0, ran.stderr
        trace = open_store(str(folder / ".autochron" / "traces.db")).load("last")
        assert sum(envelope.kind == "model" for envelope in trace.envelopes) == model.calls, ran.stderr
    return ran, trace


def replay_again(folder, recorded):
    """Replay the last trace in a process that knows no provider."""
    assert_same(recorded, Fresh().run(folder, "replay", "last"), 0)


def told(ran):
    """Give the slugs of what a run was told of."""
    return set(re.findall(r"^  .*\(([a-z-]+)\)$", ran.stderr, re.MULTILINE))


def addresses(trace, *kinds):
    """Give the addresses in their order, of all kinds or of some."""
    return [envelope.address for envelope in trace.envelopes if not kinds or envelope.kind in kinds]
