"""Record the incidents anew from the provider of the suite: `python -m incidents.record [NAME ...]`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from autochron import provider
from incidents.suite import INCIDENTS, Incident, IncidentError, load, load_all

TIMEOUT = 120.0
_SEED = 48213


def record(incident: Incident, into: Path) -> str:
    """Record an incident into a trace file; gives what the agent printed.

    Raises:
        IncidentError: the agent can't run, or something of it was not recorded.
    """
    missing = incident.missing()
    if missing:
        raise IncidentError(f"{incident.name} needs {', '.join(missing)}: pip install {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as scratch:
        store = ("--store", f"sqlite:///{scratch}/traces.db")
        with provider.serve(script=incident.folder / "provider.json", seed=_SEED) as model:
            ran = _autochron(incident.folder, "run", "--strict", *store, "agent.py", model=model)
        if ran.returncode:
            raise IncidentError(f"{incident.name} ended with status {ran.returncode}:\n{ran.stderr.strip()}")
        exported = _autochron(incident.folder, "traces", "export", "last", str(into), *store)
        if exported.returncode:
            raise IncidentError(exported.stderr.strip())
    return ran.stdout


def _autochron(
    folder: Path, *words: str, model: provider.Provider | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))
    }
    environment |= {"NO_PROXY": "*", "PYTHONHASHSEED": str(_SEED), "PYTHONPATH": str(INCIDENTS.parent)}
    if model is not None:
        environment |= {"OPENAI_BASE_URL": model.url, "ANTHROPIC_BASE_URL": model.origin}
        environment |= {"OPENAI_API_KEY": "sk-suite", "ANTHROPIC_API_KEY": "sk-suite"}
    return subprocess.run(
        [sys.executable, "-m", "autochron", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def main(names: list[str]) -> int:
    """Record some, or all."""
    try:
        chosen = [load(INCIDENTS / name, recorded=False) for name in names] or load_all(recorded=False)
        for incident in chosen:
            with tempfile.TemporaryDirectory() as scratch:
                fresh = Path(scratch) / "trace.jsonl"
                record(incident, fresh)
                fresh.replace(incident.folder / "trace.jsonl")
            sys.stdout.write(f"incidents/{incident.name}/trace.jsonl: recorded\n")
    except IncidentError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
