"""What others add to a run of pytest that would stand between a trial and its fork, set aside."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


class Alone:
    """A plugin of pytest that keeps the run in this process, and unmeasured.

    Not by options: where a plugin is installed and not loaded, pytest refuses those that it would have.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Generator[None, Any, Any]:
        """Have pytest-cov measure nothing."""
        early_config.known_args_namespace.no_cov = True
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Have pytest-xdist start no workers."""
        if hasattr(config.option, "numprocesses"):
            config.option.numprocesses = 0
            config.option.distload = False
        return (yield)
