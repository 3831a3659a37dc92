"""The corpora are what they claim to be: enough, marked, and programs that run."""

import json
import subprocess
import sys

import pytest

from tests.detect import corpus

RUN = """
import contextlib, io, json, runpy, sys
failed = {}
for file in sys.argv[1:]:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_path(file, run_name="__main__")
    except BaseException as error:
        failed[file] = repr(error)
print(json.dumps(failed))
"""


def test_there_are_enough_of_each():
    assert len(corpus.cases()) >= 350
    assert len(corpus.traps()) >= 70
    assert {category for case in corpus.cases() for category in case.expected.values()} == {
        "clock", "random", "uuid", "env", "host", "files", "network", "subprocess", "ordering", "set-order", "identity",
        "native",
    }  # fmt: skip


def test_each_case_has_one_call_and_no_trap_has_any():
    assert [case.name for case in corpus.cases() if len(case.expected) != 1] == []
    assert [case.name for case in corpus.traps() if case.expected or case.tolerated] == []


@pytest.mark.slow
def test_every_program_runs_to_its_end(tmp_path):
    files = corpus.write(str(tmp_path), [*corpus.cases(), *corpus.traps()])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, *files],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == {}
