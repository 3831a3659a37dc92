"""Read `suites.toml`, which defines how to run each library's tests, and `known.toml`, which lists known differences."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MODES = ("plain", "packs", "woven")
RECORDED = MODES[1:]
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
SHORTEST_CAUSE = 40


class TableError(ValueError):
    """A table is malformed."""


@dataclass(frozen=True)
class Suite:
    """A library and its tests.

    Attributes:
        name: the distribution.
        version: the version of the pinned sdist.
        tests: files and folders for pytest, relative to the sdist's root.
        needs: packages to install beside the library, with versions.
        extras: the library's own extras that its tests need.
        arguments: further arguments of pytest.
        deselect: maps a test id (or its beginning) to the reason why it is left out.
        weave: module globs; mode `woven` weaves each definition in matching modules.
        leave: module globs of modules to leave unwoven, such as tests inside the package.
        roots: folders of the sdist that contain the packages.
        build: whether each build runs it.
        limit: seconds that a run may take.
        environment: variables that the tests need.
        modes: the recorded modes to run; the others would take too long.
        from_checkout: whether the sdist lacks the tests, so that the suite needs a checkout.
        sample: the files and folders that mode `woven` runs if all would take hours; empty means all.
    """

    name: str
    version: str
    tests: tuple[str, ...]
    weave: tuple[str, ...]
    needs: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    deselect: dict[str, str] = field(default_factory=dict)
    leave: tuple[str, ...] = ()
    roots: tuple[str, ...] = (".",)
    build: bool = False
    limit: int = 600
    environment: dict[str, str] = field(default_factory=dict)
    modes: tuple[str, ...] = RECORDED
    from_checkout: bool = False
    sample: tuple[str, ...] = ()

    def of_mode(self, mode: str) -> Suite:
        """Return the suite with the tests that a mode runs."""
        return replace(self, tests=self.sample) if mode == "woven" and self.sample else self


@dataclass(frozen=True)
class Known:
    """A difference whose cause is known.

    Attributes:
        suite: the suite's name.
        modes: the recorded modes in which it occurs.
        tests: ids of the tests that differ.
        cause: why, in a plain sentence.
        pythons: the versions on which it occurs; empty means all.
    """

    suite: str
    modes: tuple[str, ...]
    tests: tuple[str, ...]
    cause: str
    pythons: tuple[str, ...] = ()


def read_suites(path: Path = HERE / "suites.toml") -> dict[str, Suite]:
    """Return the suites by name, in the order of the file."""
    return {name: _suite(name, table) for name, table in _load(path)["suite"].items()}


def _suite(name: str, table: dict[str, Any]) -> Suite:
    unknown = table.keys() - (Suite.__dataclass_fields__.keys() - {"name"})
    if unknown:
        raise TableError(f"suite {name} has an unknown key: {', '.join(sorted(unknown))}")
    missing = {"version", "tests", "weave"} - table.keys()
    if missing:
        raise TableError(f"suite {name} lacks {', '.join(sorted(missing))}")
    return Suite(name, **_tuples(table))


def read_known(path: Path = HERE / "known.toml") -> list[Known]:
    """Return the known differences; raise TableError for a malformed one."""
    differences = [_known(table) for table in _load(path).get("known", ())]
    keys: set[tuple[str, str, str]] = set()
    for known in differences:
        for mode in known.modes:
            for test in known.tests:
                for python in known.pythons or ("",):
                    key = (known.suite, f"{mode} {python}", test)
                    if key in keys:
                        raise TableError(f"{known.suite}: {test} is listed twice for mode {mode}")
                    keys.add(key)
    return differences


def _known(table: dict[str, Any]) -> Known:
    unknown = table.keys() - Known.__dataclass_fields__.keys()
    if unknown:
        raise TableError(f"a known difference has an unknown key: {', '.join(sorted(unknown))}")
    known = Known(**_tuples(table))
    if not set(known.modes) <= set(RECORDED) or not known.modes:
        raise TableError(f"a known difference of {known.suite} has modes other than {', '.join(RECORDED)}")
    if len(known.cause) < SHORTEST_CAUSE:
        raise TableError(
            f"a known difference of {known.suite} has no cause that explains it: {known.cause!r}"
        )
    return known


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def known_tests(known: list[Known], suite: str, mode: str, python: str = PYTHON) -> dict[str, str]:
    """Return the tests that are known to differ, each with its cause."""
    return {
        test: difference.cause
        for difference in known
        if difference.suite == suite
        and mode in difference.modes
        and python in (difference.pythons or (python,))
        for test in difference.tests
    }
