"""Record the incidents anew from the provider of the suite: `python -m incidents.record [NAME ...]`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from autochron import provider
from autochron.provider import ProviderError, ScriptError
from incidents.suite import INCIDENTS, Incident, IncidentError, load, load_all, surroundings

RUNS = (("provider.json", "trace.jsonl"), ("twin.json", "twin.jsonl"))
"""The runs of an agent that are recorded: the script of the model, and the trace."""
TIMEOUT = 120.0
_SEED = 48213


def record(incident: Incident, into: Path, script: str = "provider.json") -> str:
    """Record a run of an incident's agent into a trace file, and return what the agent printed.

    Args:
        incident: the incident.
        into: the trace file.
        script: what the model says, a file of the folder.

    Raises:
        IncidentError: the agent can't run, or something of it was not recorded.
    """
    missing = incident.missing()
    if missing:
        raise IncidentError(f"{incident.name} needs {', '.join(missing)}: pip install {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as scratch:
        store = ("--store", f"sqlite:///{scratch}/traces.db")
        try:
            with provider.serve(script=incident.folder / script, seed=_SEED) as model:
                ran = _autochron(incident, "run", "--strict", *store, "agent.py", model=model)
        except (ProviderError, ScriptError) as error:
            raise IncidentError(f"{incident.name} has no model to be recorded from: {error}") from error
        if ran.returncode:
            raise IncidentError(f"{incident.name} ended with status {ran.returncode}:\n{ran.stderr.strip()}")
        exported = _autochron(incident, "traces", "export", "last", str(into), *store)
        if exported.returncode:
            raise IncidentError(exported.stderr.strip())
    return ran.stdout


def _autochron(
    incident: Incident, *words: str, model: provider.Provider | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [sys.executable, "-m", "autochron", *words],
            cwd=incident.folder,
            env=surroundings(model) | {"PYTHONHASHSEED": str(_SEED)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise IncidentError(
            f"{incident.name} has not ended in {TIMEOUT:g} s; does the script of its model answer everything that it asks?"
        ) from error


def main(names: list[str]) -> int:
    """Record some, or all."""
    try:
        chosen = [load(INCIDENTS / name, recorded=False) for name in names] or load_all(recorded=False)
        for incident in chosen:
            for script, trace in RUNS:
                # Beside the file that it replaces, so that it does so in one step.
                with tempfile.TemporaryDirectory(dir=incident.folder, prefix=".recorded-") as scratch:
                    fresh = Path(scratch) / "trace.jsonl"
                    record(incident, fresh, script)
                    fresh.replace(incident.folder / trace)
                sys.stdout.write(f"incidents/{incident.name}/{trace}: recorded\n")
    except (IncidentError, OSError) as error:
        sys.stderr.write(f"incidents.record: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
