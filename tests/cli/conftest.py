"""Start commands as users do: in a fresh process, without a hash seed, so `run` and `replay` restart Python with one."""

import contextlib

import pytest

from tests.cli import fork_server


@contextlib.contextmanager
def start_as_users_do():
    """Remove the hash seed that `tests/conftest.py` sets for all other tests, and start no process as a fork."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONHASHSEED", raising=False)
        patch.setattr(fork_server, "is_on", False)
        yield


@pytest.fixture(scope="module")
def as_users_do():
    """Do so for all tests of a module whose point is how processes start."""
    with start_as_users_do():
        yield


@pytest.fixture(scope="module", autouse=True)
def as_users_do_in_thorough_runs(request):
    """Do so for every test of this folder in a thorough run or with `--fresh`: a fresh start costs three times a fork."""
    if request.config.getoption("--thorough") or not fork_server.is_on:
        request.getfixturevalue("as_users_do")


@pytest.fixture
def samples_as_users_do(request):
    """Do so for the tests of a module that are not marked slow: a sample. In a thorough run, do so for all of them."""
    if "slow" in request.keywords:
        yield
        return
    with start_as_users_do():
        yield
