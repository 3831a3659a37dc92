"""Commands that we start are silent by default, can lead a session, and are killed with the processes they started."""

import os
import signal
import subprocess

import pytest

from autochron.workers.commands import start_python
from autochron.workers.ending import kill_child, kill_group

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
print(child.pid, flush=True)
child.wait()
"""


def test_streams_that_are_not_redirected_are_silent(capfd):
    process = start_python(["-c", "import sys; print('out'); print('err', file=sys.stderr)"], os.environ)
    assert process.wait() == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("own", [True, False])
def test_a_command_leads_a_session_on_request(own):
    words = ["-c", "import os; print(os.getsid(0) == os.getpid())"]
    process = start_python(words, os.environ, stdout=subprocess.PIPE, own_session=own)
    assert process.communicate()[0].split() == [str(own).encode()]


def test_a_command_is_killed_with_the_processes_it_started():
    with start_python(["-c", PARENT], os.environ, stdout=subprocess.PIPE) as process:
        assert int(process.stdout.readline()) != process.pid
        assert os.WTERMSIG(kill_child(process.pid, with_group=True)) == signal.SIGKILL
        assert process.stdout.read() == b""  # no process has the pipe open any more


def test_killing_a_group_that_is_gone_returns_false():
    process = start_python(["-c", ""], os.environ)
    process.wait()
    assert not kill_group(process.pid)
