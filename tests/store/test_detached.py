"""The store process writes only to files that it opened itself, whatever files this process had open."""

import json
import os
import subprocess
import sys

import pytest

from autochron.store import open_store
from autochron.store.detached import Work, fork_twice
from autochron.store.own_descriptors import listed

AGENT = """
def tool(number):
    return number * 2

print(sum(tool(number) for number in range(40)))
"""

RULES = """
version = 1
project = ["."]

[[boundary]]
name = "{__name__}"
kind = "tool"
target = "agent:tool"
"""

needs_a_list = pytest.mark.skipif(not listed(), reason="this system lists no descriptors")


@pytest.mark.skipif(not hasattr(sys, "activate_stack_trampoline"), reason="needs Python 3.12")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="perf is a tool of Linux")
@pytest.mark.parametrize("options", [["-X", "perf"], []], ids=["option", "variable"])
def test_the_map_for_perf_is_not_written_into_the_store(tmp_path, options):
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "autochron.toml").write_text(RULES)
    command = [sys.executable, *options, "-m", "autochron", "run", "agent.py"]
    environment = os.environ if options else os.environ | {"PYTHONPERFSUPPORT": "1"}
    for _ in range(2):  # the second finds the store of the first
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "1560\n"), done.stderr
    store = open_store(str(tmp_path / ".autochron" / "traces.db"))
    assert [summary.crossings for summary in store.summaries()] == [40, 40]


@needs_a_list
def test_inherited_descriptors_stay_in_use_and_point_to_the_null_device(tmp_path):
    inherited = os.open(tmp_path / "held", os.O_WRONLY | os.O_CREAT)
    reader, writer = os.pipe()
    result_reader, result_writer = os.pipe()

    def work():
        number = os.open(tmp_path / "ours", os.O_WRONLY | os.O_CREAT)
        os.write(inherited, b"stray")
        os.write(writer, b"stray")
        os.write(number, b"ours")
        os.write(
            result_writer,
            json.dumps(
                [inherited, writer, number, os.path.samestat(os.fstat(inherited), os.stat(os.devnull))]
            ).encode(),
        )

    fork_twice(Work(work, keep=(result_writer,)))
    os.close(result_writer)
    os.close(writer)
    with open(result_reader, "rb") as file, open(reader, "rb") as stray:
        *numbers, leads_nowhere = json.loads(file.read())
        assert stray.read() == b""  # the read ends, so no process has the writing end open
    assert leads_nowhere
    assert len(set(numbers)) == len(numbers)
    os.close(inherited)
    assert (tmp_path / "held").read_bytes() == b""
    assert (tmp_path / "ours").read_bytes() == b"ours"
