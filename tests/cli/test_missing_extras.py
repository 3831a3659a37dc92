"""A package that isn't installed is told in one line with a slug, wherever a command or an option needs it."""

import json
import subprocess
import sys

import pytest

from tests.cli.processes import ROOT, environment, write

PROGRAM = """
import contextlib, io, json, runpy, sys

missing, commands = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(missing))  # an import of these raises ModuleNotFoundError
ended = []
for module, *words in commands:
    sys.argv = [module, *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            status = 0
        except SystemExit as exit:
            status = exit.code
    ended.append([status, out.getvalue()[:200], err.getvalue()])
print(json.dumps(ended))
"""

INCIDENT = {
    "refund/test_refund.py": "def test_it(): pass\n",
    "refund/trace.jsonl": "",
    "labels.jsonl": '{"subject": "x", "label": true}\n',
}
JUDGE = ("autochron", "judge", "labels.jsonl", "--rubric", "It is.", "--model")
CASES = {
    "mutate": (
        ("parso", "cosmic_ray"),
        {
            (
                "autochron",
                "mutate",
            ): "autochron mutate needs {}, which isn't installed: pip install 'autochron[mutate]'",
            (
                "autochron",
                "mutate",
                "refund",
                "--hypothesis",
                "3",
            ): "autochron mutate needs {}, which isn't installed: pip install 'autochron[mutate]'",
        },
    ),
    "pytest": (
        ("pytest",),
        {
            (
                "autochron",
                "mutate",
                "refund",
            ): "autochron mutate needs pytest, which isn't installed: pip install 'autochron[mutate]'",
        },
    ),
    "the others": (
        ("hypothesis", "distributed", "openai", "pydantic_ai"),
        {
            (
                "autochron",
                "mutate",
                "refund",
                "--hypothesis",
                "3",
            ): "--hypothesis needs hypothesis, which isn't installed: pip install 'autochron[hypothesis]'",
            (
                "autochron",
                "mutate",
                "refund",
                "--executor",
                "dask",
            ): "--executor dask needs distributed, which isn't installed: pip install 'autochron[dask]'",
        },
    ),
}


def ended(folder, missing, commands):
    """Run commands one after the other in one process that lacks some packages; return how each ended."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([missing, commands])],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_what_needs_a_missing_package_says_so_before_anything_is_tried(tmp_path, case):
    write(tmp_path, INCIDENT)
    missing, messages = CASES[case]
    results = ended(tmp_path, missing, list(messages))
    assert results == [
        [2, "", f"autochron: {message.format('parso')} (missing-extra)\n"] for message in messages.values()
    ]
    assert not (tmp_path / ".autochron").exists()


def test_help_and_all_other_commands_work_without_the_extras(tmp_path):
    write(tmp_path, INCIDENT | {"agent.py": "import time\n"})
    missing = (
        "parso",
        "cosmic_ray",
        "hypothesis",
        "distributed",
        "openai",
        "starlette",
        "uvicorn",
        "chronicle",
    )
    commands = [
        ("autochron", command, "--help") for command in ("mutate", "judge", "impact", "incident", "check")
    ]
    commands += [("autochron", "check", "."), ("autochron", "rules"), ("autochron", "traces", "list")]
    results = ended(tmp_path, missing, commands)
    assert [(status, said) for status, _, said in results] == [(0, "")] * len(commands)


def test_the_provider_names_its_extra(tmp_path):
    ((status, out, said),) = ended(tmp_path, ("starlette",), [("autochron.provider", "--port", "0")])
    assert (status, out) == (2, "")
    assert said == (
        "the provider needs starlette and uvicorn: pip install 'autochron[provider]' (missing-extra)\n"
    )


def test_a_judge_names_its_package(tmp_path):
    write(tmp_path, INCIDENT)
    program = "import sys; sys.modules['openai'] = None; sys.argv[0] = 'autochron'; from autochron.cli import main; main()"
    sitecustomize = "import sys\nsys.modules['openai'] = None\n"  # the model is asked in a process of its own
    write(tmp_path, {"site/sitecustomize.py": sitecustomize})
    done = subprocess.run(
        [sys.executable, "-c", program, *JUDGE[1:], "openai:gpt-5-mini"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=f"{tmp_path / 'site'}:{ROOT}"),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("; pip install 'autochron[judge]' (judge-setup)\n")
