import pytest

from tests.mutate.desks import record_incident


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """Return the folder of a recorded refund desk with its guard. No test may change it."""
    folder = tmp_path_factory.mktemp("recorded") / "refund"
    folder.mkdir()
    return record_incident(folder)
