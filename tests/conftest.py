"""What all tests share: the `slow` marker, and hypothesis without a deadline."""

import os

import hypothesis
import pytest

# On a busy machine a deadline fails tests that are right. It adds to the profile in use, so that CI's stays.
hypothesis.settings.register_profile("autochron", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("autochron")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too (as CI=true does)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow") or os.environ.get("CI", "").lower() == "true":
        return
    skip = pytest.mark.skip(reason="slow: needs --slow or CI=true")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
