"""Start commands as users do: in a fresh process, without a hash seed, so `run` and `replay` restart Python with one."""

import pytest

from tests.cli import fork_server


@pytest.fixture(scope="module")
def as_users_do():
    """Remove the hash seed that `tests/conftest.py` sets for all other tests, and start no process as a fork."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONHASHSEED", raising=False)
        patch.setattr(fork_server, "is_on", False)
        yield


@pytest.fixture(scope="module", autouse=True)
def as_users_do_in_builds(request):
    """Do so for every test of this folder where slow tests run: a fresh start costs three times as much as a fork."""
    if not fork_server.is_on_in_cli:
        request.getfixturevalue("as_users_do")
