import pytest

from tests.mutate.desks import made


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """A refund desk with its guard, recorded; nobody changes it."""
    folder = tmp_path_factory.mktemp("recorded") / "refund"
    folder.mkdir()
    return made(folder)
