"""Read `suites.toml`, which says how each library's tests are run, and `known.toml`, which says what may differ."""

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
    """A table says something that means nothing."""


@dataclass(frozen=True)
class Suite:
    """A library and its tests.

    Attributes:
        name: the distribution.
        version: the sdist that is pinned.
        tests: files and folders that pytest is given, from the sdist's root.
        needs: what is installed beside the library, with versions.
        extras: the library's own extras that its tests need.
        arguments: further arguments of pytest.
        deselect: test id (or its beginning) to the reason why it is left out.
        weave: module globs; mode `woven` weaves each definition in modules that fit one.
        leave: module globs of modules that are not woven all the same, such as tests inside the package.
        roots: folders of the sdist that hold the packages.
        build: whether each build runs it.
        limit: seconds that a run may take.
        environment: variables that the tests need.
        modes: the recorded modes that it takes; the others take too long.
        from_checkout: whether the sdist lacks the tests, so that it runs only where a checkout is given.
        sample: the files and folders that mode `woven` runs, where all of them would take hours; empty means all.
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
    """Return the known differences; refuse one without a cause."""
    found = [_known(table) for table in _load(path).get("known", ())]
    seen: set[tuple[str, str, str]] = set()
    for known in found:
        for mode in known.modes:
            for test in known.tests:
                for python in known.pythons or ("",):
                    key = (known.suite, f"{mode} {python}", test)
                    if key in seen:
                        raise TableError(f"{known.suite}: {test} is listed twice for mode {mode}")
                    seen.add(key)
    return found


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
        test: each.cause
        for each in known
        if each.suite == suite and mode in each.modes and python in (each.pythons or (python,))
        for test in each.tests
    }
