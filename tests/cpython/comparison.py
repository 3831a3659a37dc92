"""Compare the results of CPython's own tests plain and woven, using the list of expected differences."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAM = HERE / "weave_all.py"
EXPECTED = tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
LIMIT = 500
"""Seconds that a child may take."""

# Left out are tests of the network, of windows, of child processes and of big memory, and test_dis, test_peepholer and
# test_monitoring, which check the compiler's instructions and the events of each.
# The groups take about equally long. One process per module would weave the same imports each time.
GROUPS = {
    "first": """
        abc argparse array ast augassign baseexception bool builtin call class code codeop
        collections compare configparser contains context contextlib copy copyreg csv dataclasses
        decimal decorators defaultdict deque descr dict dictcomps dictviews difflib doctest dynamic
        dynamicclassattribute
    """,
    "second": """
        enum enumerate except_star exception_group exception_hierarchy exception_variations
        exceptions extcall fileinput fnmatch fractions frame fstring funcattrs functools future_stmt
        gc generator_stop generators genericalias genericclass genexps getopt gettext glob global
        grammar graphlib hash heapq html htmlparser index inspect isinstance iter iterlen itertools
        json keywordonlyarg linecache list listcomps
    """,
    "third": """
        long math metaclass named_expressions opcache operator optparse ordered_dict pathlib patma
        pickle pickletools pkgutil plistlib positional_only_arg posixpath pprint property raise
        random range re reprlib richcmp runpy sched scope secrets set setcomps shelve shlex shutil
        slice sort statistics string struct structseq subclassinit super syntax sys
    """,
    "fourth": """
        datetime sys_setprofile sys_settrace tempfile textwrap thread threading_local timeit
        tokenize tomllib trace traceback tuple type_params typechecks types typing unittest unpack
        unpack_ex unparse urlparse userdict userlist userstring uuid warnings weakref weakset with
        xml_etree yield_from
    """,
    # These tests mostly wait, so two groups that run side by side take half as long.
    "concurrent": """
        asyncio.test_base_events asyncio.test_context asyncio.test_futures asyncio.test_locks
        asyncio.test_pep492 asyncio.test_queues asyncio.test_runners asyncio.test_taskgroups
        asyncio.test_tasks asyncio.test_timeouts asyncio.test_waitfor
    """,
    "threads": "asyncgen contextlib_async coroutines logging threading",
    "few": "contextlib exceptions functools generators",
    # The modules that stress the splice most: each kind of function, unwinding, frames, closures, pickling.
    "on": """
        asyncgen asyncio.test_pep492 asyncio.test_runners asyncio.test_taskgroups class contextlib
        contextlib_async copy coroutines dataclasses decorators descr enum except_star exceptions frame
        funcattrs functools generators genexps inspect listcomps pickle raise scope sys super threading_local
        tomllib traceback typing with yield_from
    """,
    # With every call bound.
    "calls": """
        asyncio.test_taskgroups contextlib coroutines dataclasses decorators exceptions functools generators listcomps
        named_expressions raise scope super with
    """,
}


@dataclass(frozen=True)
class Run:
    """The report of a child process.

    Attributes:
        outcomes: test id to (outcome, detail).
        summary: counts of woven functions and crossings; empty if the child died.
        end: if the child died, its status and the module that it was running; else empty.
    """

    outcomes: dict[str, tuple[str, str]]
    summary: dict[str, Any]
    end: str


def modules_of(group: str) -> list[str]:
    """Return the test modules of a group that this Python has."""
    names = [f"test.test_{name}" for name in GROUPS[group].split()]
    return [name for name in names if _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@cache
def plain(group: str, place: Path) -> Run:
    """Run a group unwoven; later calls return the same run."""
    return run("plain", group, place)


def run(mode: str, group: str, place: Path) -> Run:
    """Run the tests of a group in a child; `place` is an empty folder for whatever they leave behind."""
    report = place / f"{mode}.jsonl"
    folder = place / mode
    folder.mkdir()
    excluded = " ".join(entry["test"] for entry in EXPECTED.get("excluded", ()))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONHASHSEED": "0", "WEAVE_ALL_SKIP": excluded}
    child = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(PROGRAM), mode, str(report), *modules_of(group)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    outcomes: dict[str, tuple[str, str]] = {}
    summary: dict[str, Any] = {}
    module = ""
    for line in report.read_text(encoding="utf-8").splitlines() if report.exists() else ():
        entry = json.loads(line)
        if "summary" in entry:
            summary = entry["summary"]
        elif entry["outcome"] == "begun":
            module = entry["test"]
        elif entry["outcome"] != "done":
            # An id occurs twice if two names refer to one test class. The first run counts, in both modes.
            outcomes.setdefault(entry["test"], (entry["outcome"], entry["detail"]))
    last = child.stderr.decode("utf-8", "replace")[-2000:]
    return Run(outcomes, summary, "" if summary else f"status {child.returncode} at {module}:\n{last}")


def worsened(before: Run, after: Run) -> dict[str, str]:
    """Map each test whose outcome differs to the difference, except tests that failed in the plain run."""
    differing = {}
    for test, (outcome, _) in before.outcomes.items():
        new_outcome, detail = after.outcomes.get(test, ("missing", ""))
        if new_outcome != outcome and outcome not in {"failed", "error"}:
            differing[test] = f"{outcome} -> {new_outcome}: {detail[-1500:]}"
    for test in after.outcomes.keys() - before.outcomes.keys():
        new_outcome, detail = after.outcomes[test]
        differing[test] = f"new -> {new_outcome}: {detail[-1500:]}"
    return differing


def listed(mode: str, group: str) -> set[str]:
    """Return the tests of a group that are listed as failing in a mode on this Python."""
    prefixes = tuple(f"{name}." for name in modules_of(group))
    return {
        entry["test"]
        for entry in EXPECTED["expected"]
        if mode in entry["modes"] and PYTHON in entry["pythons"] and entry["test"].startswith(prefixes)
    }
