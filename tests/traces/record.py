"""Record the stored traces again: run `python -m tests.traces.record` in the root, with `autochron[provider]` installed.

The stored traces show that old recordings still replay, so they are recorded again only when the program or its rules
change. Each version gets an environment of its own, with packages from pip's configured index. PYTHON names the
interpreter, which has to be the oldest supported one.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from autochron import provider

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VERSIONS = ("2.54.0", "3.52.0")
"""Versions of openai: the last one that used httpx, and one that uses httpx2."""


def main() -> None:
    """Record one trace for each version."""
    interpreter = os.environ.get("PYTHON", sys.executable)
    with TemporaryDirectory() as folder, provider.serve(script=HERE / "script.json", seed=1) as model:
        for version in VERSIONS:
            python = Path(folder, version, "bin", "python")
            run(interpreter, "-m", "venv", str(python.parents[1]))
            run(str(python), "-m", "pip", "install", "--quiet", str(ROOT), f"openai=={version}")
            store = f"sqlite:///{folder}/{version}.db"
            environment = {**os.environ, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
            words = ("-m", "autochron", "run", "--store", store, "agent.py")
            run(str(python), *words, cwd=HERE, env=environment)
            version_output = run(str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])", stdout=-1)
            file = f"openai_{version.partition('.')[0]}_python_{version_output.stdout.strip()}.jsonl"
            run(str(python), "-m", "autochron", "traces", "export", "last", file, "--store", store, cwd=HERE)


def run(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    """Run a command, and raise if it fails."""
    return subprocess.run(words, check=True, text=True, **more)  # type: ignore[call-overload, no-any-return]


if __name__ == "__main__":
    main()
