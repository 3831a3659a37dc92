"""Start commands as users do: no hash seed is set, so `run` and `replay` restart Python with one."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def without_a_seed():
    """Remove the hash seed that `tests/conftest.py` sets for all other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONHASHSEED", raising=False)
        yield
