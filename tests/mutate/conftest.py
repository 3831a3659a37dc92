import pytest

from autochron.mutate.prepared_process import PreparedProcess
from autochron.workers.prepared import PREPARED_REPLAYS
from tests.mutate.desks import record_incident


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """Return the folder of a recorded refund desk with its guard. No test may change it."""
    folder = tmp_path_factory.mktemp("recorded") / "refund"
    folder.mkdir()
    return record_incident(folder)


@pytest.fixture
def prepare(monkeypatch):
    """Return a function that starts a prepared process, which is ended after the test."""
    started = []

    def begin(seed):
        started.append(PreparedProcess(seed))
        monkeypatch.setenv(PREPARED_REPLAYS, started[-1].address)
        return started[-1]

    yield begin
    for process in started:
        process.end()
