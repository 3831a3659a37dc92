"""Find the package that `-m` or a console script runs: it is the user's own code, wherever it is installed."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec, PathFinder

from msgspec import structs

from autochron._runtime.unpatched import os
from autochron.model import Command, Rules
from autochron.program.main_module import find_command
from autochron.project import Project

LAUNCHERS = frozenset(
    {
        *(
            "accelerate",
            "bentoml",
            "celery",
            "chainlit",
            "coverage",
            "cProfile",
            "daphne",
            "debugpy",
            "dramatiq",
        ),
        *("fastapi", "fastapi_cli", "fastmcp", "flask", "gevent", "gradio", "granian", "gunicorn", "honcho"),
        *(
            "hypercorn",
            "ipykernel",
            "IPython",
            "jupyter",
            "jupyter_core",
            "langgraph_cli",
            "litestar",
            "locust",
        ),
        *(
            "marimo",
            "memray",
            "modal",
            "nbconvert",
            "nbclient",
            "notebook",
            "nox",
            "papermill",
            "pex",
            "pip",
            "prefect",
        ),
        *(
            "py_spy",
            "pyinstrument",
            "pytest",
            "ray",
            "robyn",
            "rq",
            "sanic",
            "scalene",
            "streamlit",
            "torch",
            "tox",
        ),
        *("unittest", "uv", "uvicorn", "viztracer", "waitress", "watchfiles"),
    }
)
"""Libraries that run the code of others: servers, test runners, debuggers and notebooks. What they run is in the working
folder. A launcher that is missing here counts as the user's own code, and `project` in the rules says otherwise."""

_HEAD = 4_096
"""How many bytes of a console script are read."""


def with_own_package(rules: Rules, command: Command) -> Rules:
    """Return rules whose project includes the package that a command runs; the same rules if it does so already.

    Args:
        rules: the rules. If they have a `project`, that decides.
        command: the command. A script's folder is known without this.
    """
    if rules.project or command.mode not in {"module", "console"}:
        return rules
    module = command.target if command.mode == "module" else _imported_by(find_command(command.target))
    package = None if module is None else _place_of(module)
    root = rules.root or os.getcwd()
    if package is None or module is None or Project((root,), root).owns(package):
        return rules
    is_folder = os.path.basename(package) == "__init__.py"
    path = os.path.dirname(package) if is_folder else package
    if module.partition(".")[0] in LAUNCHERS or not Project((path,), root).owns(package):
        return rules  # the latter for the standard library
    return rules if _names_code(command, root) else structs.replace(rules, project=(root, path))


def _imported_by(script: str | None) -> str | None:
    """Return the module that a console script imports its function from; None if the script has another form."""
    if script is None:
        return None
    try:
        with open(script, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    lines = head.decode("utf-8", "replace").splitlines() if head.startswith(b"#!") else []
    for line in lines:
        words = line.split()
        is_import = line.startswith("from ") and words[2:3] == ["import"]
        if is_import and words[1].partition(".")[0] not in sys.stdlib_module_names:
            return words[1]
    return None


def _place_of(module: str) -> str | None:
    """Return the file of the outermost package around a module that has one, without importing any; None if there is none."""
    top, *rest = module.split(".")
    spec = PathFinder.find_spec(top, [os.getcwd(), *sys.path]) or _spec_of(top)
    name = top
    # A namespace package belongs to nobody: google.adk is a program, and google is not.
    while spec is not None and spec.origin is None and rest:
        name = f"{name}.{rest.pop(0)}"
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations or ()))
    origin = None if spec is None else spec.origin
    return origin if origin is not None and origin.endswith(".py") else None


def _spec_of(top: str) -> ModuleSpec | None:
    """Return the spec of a package that a finder of its own finds, as that of an editable installation; None without one."""
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None


def _names_code(command: Command, root: str) -> bool:
    """Return whether an argument names code of the working folder, as in `serve app:app`: then the package launches that."""
    for argument in command.arguments:
        module, colon, name = argument.partition(":")
        parts = module.split(".")
        if colon and all(map(str.isidentifier, (*parts, *name.split(".")))):
            path = os.path.join(root, *parts)
            if os.path.isfile(f"{path}.py") or os.path.isdir(path):
                return True
    return False
