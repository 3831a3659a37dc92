"""Commands as users start them: no seed of hashes is set, so `run` and `replay` start Python anew with one."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def without_a_seed():
    """Take away the seed that `tests/conftest.py` sets for all other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONHASHSEED", raising=False)
        yield
