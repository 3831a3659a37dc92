"""The incident suite: what the folder of an incident holds, read and checked.

A folder is an agent as its developer has written it, with no word of autochron, and beside it what makes a test of its
failure: the rules, the recorded trace, the fix, an edit that is none, and the test.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autochron.provider import Provider

INCIDENTS = Path(__file__).parent

PARTS = {
    "agent.py": "the agent, with a `main`",
    "tools.py": "its tools, without the guard",
    "guarded.py": "the tool with the guard",
    "benign.py": "the guarded tool after an edit that has nothing to do with the guard",
    "provider.json": "what the model says: a script for the loopback provider",
    "autochron.toml": "the rules",
    "pytest.ini": "what makes the folder a project of its own: [pytest] with pythonpath = .",
    "trace.jsonl": "the recorded incident: python -m incidents.record NAME",
    "twin.json": "what the model says in a run that must still go through",
    "twin.jsonl": "that run, recorded: python -m incidents.record NAME",
    "predicate.py": "what must never be true of the world, with an `unsafe`",
    "test_incident.py": "the cut-point test, with a `check` and a `check_twin`",
    "test_mocks.py": "a test of the agent by hand-written mocks",
    "README.md": "the story",
}
"""What a folder holds beside `incident.toml`, and what each part is."""

TRACES = ("trace.jsonl", "twin.jsonl")
"""The parts that are recorded."""

AGENT = ("agent.py", "tools.py", "guarded.py", "benign.py")
"""What is the agent's own, and knows nothing of autochron."""

_KEYS: dict[str, type] = {
    "title": str,
    "failure": str,
    "sdk": str,
    "needs": list,
    "tool": str,
    "live": list,
    "paper": str,
}
_OPTIONAL = frozenset({"paper"})


class IncidentError(Exception):
    """A folder is no whole incident: what is wrong, where, and what mends it."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident.

    Attributes:
        folder: where it lies; its name is the incident's.
        title, failure: what happened, in a few words and in a sentence.
        sdk: what the agent is written on, for people.
        needs: the distributions that it imports.
        tool: the function that lacked a guard, `tools.py:NAME`.
        live: the crossings at which the test cuts: the tool, and the models that hear of what it did.
        paper: the row of the paper's table that it stands for; empty where it has none.
    """

    folder: Path
    title: str
    failure: str
    sdk: str
    needs: tuple[str, ...]
    tool: str
    live: tuple[str, ...]
    paper: str = ""

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def function(self) -> str:
        """The name of the function that lacked a guard."""
        return self.tool.rpartition(":")[2]

    def marks(self) -> int:
        """Count the lines of the agent's own files that name autochron: what is marked by hand."""
        files = ((self.folder / name).read_text(encoding="utf-8") for name in AGENT)
        return sum("autochron" in line.lower() for text in files for line in text.splitlines())

    def missing(self) -> tuple[str, ...]:
        """Name the distributions that are needed and not installed."""
        return tuple(name for name in self.needs if importlib.util.find_spec(_module(name)) is None)


def load(folder: Path, *, recorded: bool = True) -> Incident:
    """Read one folder; `recorded` says that it must have its traces.

    Raises:
        IncidentError: a part is missing, or `incident.toml` doesn't say what it should.
    """
    described = folder / "incident.toml"
    if not described.is_file():
        raise IncidentError(f"{folder} has no incident.toml; name a folder of incidents/, or write one")
    for part, what in PARTS.items():
        if not (folder / part).is_file() and (recorded or part not in TRACES):
            raise IncidentError(f"{folder.name} has no {part}: {what}")
    try:
        data = tomllib.loads(described.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IncidentError(f"{folder.name}/incident.toml can't be read: {error}") from error
    incident = Incident(folder=folder, **_checked(folder.name, data))
    function = incident.function
    for file, name in (
        ("agent.py", "main"),
        ("test_incident.py", "check"),
        ("test_incident.py", "check_twin"),
        ("predicate.py", "unsafe"),
        *((each, function) for each in AGENT[1:]),
    ):
        if name not in _functions(folder / file):
            raise IncidentError(
                f"{folder.name}/{file} has no function `{name}`; write it, or name another in incident.toml"
            )
    return incident


def _functions(file: Path) -> set[str]:
    """Name the functions at the top of a module."""
    try:
        module = ast.parse(file.read_bytes())
    except SyntaxError as error:
        raise IncidentError(
            f"{file.parent.name}/{file.name}:{error.lineno} is no Python: {error.msg}"
        ) from error
    return {each.name for each in module.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def load_all(*, recorded: bool = True) -> tuple[Incident, ...]:
    """Read every incident: the paper's in its order, then ours by name."""
    found = [load(each.parent, recorded=recorded) for each in sorted(INCIDENTS.glob("*/incident.toml"))]
    order = {name: at for at, name in enumerate(PAPER)}
    return tuple(sorted(found, key=lambda each: (order.get(each.paper, len(order)), each.name)))


PAPER = ("Refund", "Invoice", "Trade", "Email", "Payout", "Deletion")
"""The rows of the paper's table, in its order."""


def _checked(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields, each of its type."""
    for key in data:
        if key not in _KEYS:
            raise IncidentError(f"{name}/incident.toml has `{key}`; it takes {', '.join(_KEYS)}")
    for key, kind in _KEYS.items():
        if key not in data and key not in _OPTIONAL:
            raise IncidentError(f"{name}/incident.toml has no `{key}`")
        if key in data and not isinstance(data[key], kind):
            raise IncidentError(f"{name}/incident.toml: `{key}` is no {'text' if kind is str else 'list'}")
        if kind is list and not (data[key] and all(isinstance(each, str) for each in data[key])):
            raise IncidentError(f"{name}/incident.toml: `{key}` is no list of texts, with one or more")
    if not data["tool"].startswith("tools.py:"):
        raise IncidentError(f"{name}/incident.toml: `tool` is {data['tool']}, and not tools.py:FUNCTION")
    if data.get("paper", "") not in {"", *PAPER}:
        raise IncidentError(
            f"{name}/incident.toml: `paper` is {data['paper']}; its table has {', '.join(PAPER)}"
        )
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}


_MODULES = {"openai-agents": "agents", "pydantic-ai-slim": "pydantic_ai"}


def _module(distribution: str) -> str:
    return _MODULES.get(distribution, distribution.replace("-", "_"))


def surroundings(model: Provider | None = None) -> dict[str, str]:
    """Return the environment in which an agent runs: with no key and no provider, but for the one that is given."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))
    }
    return (
        kept
        | {"NO_PROXY": "*", "PYTHONPATH": str(INCIDENTS.parent)}
        | ({} if model is None else reaching(model))
    )


def reaching(model: Provider) -> dict[str, str]:
    """Return what makes the SDKs call a provider."""
    return {
        "OPENAI_BASE_URL": model.url,
        "ANTHROPIC_BASE_URL": model.origin,
        "OPENAI_API_KEY": "sk-suite",
        "ANTHROPIC_API_KEY": "sk-suite",
    }
