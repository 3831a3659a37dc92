"""Plugins of pytest that would come between a trial and its fork, switched off."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


class ConflictDisabler:
    """A pytest plugin that keeps the run in this process, and without measuring coverage.

    It does not use command-line options: where a plugin is installed and not loaded, pytest refuses that plugin's
    options.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Generator[None, Any, Any]:
        """Make pytest-cov measure nothing."""
        early_config.known_args_namespace.no_cov = True
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Make pytest-xdist start no workers."""
        if hasattr(config.option, "numprocesses"):
            config.option.numprocesses = 0
            config.option.distload = False
        return (yield)
