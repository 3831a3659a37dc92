"""The helpers of a guard are mutated with it: the project's functions that it calls."""

import importlib.util
import sys

import pytest

from autochron.mutate.merging import read_study
from autochron.mutate.server.guard_helpers import helpers_of
from tests.mutate.desks import GUARDED, mutate, record_incident
from tests.mutate.test_unsafe import JUDGED, PREDICATE, TOOLS

RULES = """
def limit_of(order):
    return base()


def base():
    return 4900


def unused():
    return 1


class Policy:
    def __call__(self, cents):
        return cents > 1

    def allows(self, order, cents):
        return self.most(order) >= cents

    def most(self, order):
        return limit_of(order)

    @staticmethod
    def name():
        return "policy"
"""
GUARD = """
import functools
import json

import rules
from rules import Policy, limit_of
from tools import refund as pay

POLICIES = {"small": lambda cents: cents < 10, "large": rules.base}
policy = Policy()


def capped(most):
    def wrap(function):
        @functools.wraps(function)
        def inner(*arguments):
            return function(*arguments) if arguments[1] <= most() else None

        return inner

    return wrap


def direct(order, cents):
    return pay(order, cents) if cents <= limit_of(order) else json.dumps("no")


def by_module(order, cents):
    return [pay(order, cents) for _ in "a" if cents <= rules.limit_of(order)]


def by_object(order, cents):
    return policy.allows(order, cents) and policy(cents)


def by_table(order, cents):
    return POLICIES["small"](cents)


@capped(rules.base)
def decorated(order, cents):
    return pay(order, cents)


class Desk:
    def refund(self, order, cents):
        return self.check(cents) and pay(order, cents)

    def check(self, cents):
        return cents < base_of(self)

    def other(self):
        return 1


def base_of(desk):
    return Policy.name()
"""


@pytest.fixture(scope="module")
def guards(tmp_path_factory):
    """Return the module with guards."""
    folder = tmp_path_factory.mktemp("project")
    sys.path.insert(0, str(folder))
    modules = {}
    try:
        for name, text in (
            ("rules", RULES),
            ("tools", "def refund(order, cents):\n    return 1\n"),
            ("guards", GUARD),
        ):
            (folder / f"{name}.py").write_text(text)
            spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
            modules[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(modules[name])
        yield modules["guards"]
    finally:
        sys.path.remove(str(folder))
        for name in modules:
            sys.modules.pop(name)


@pytest.mark.parametrize(
    ("name", "depth", "expected"),
    [
        ("direct", 1, {"limit_of"}),
        ("direct", 2, {"limit_of", "base"}),
        ("direct", 0, set()),
        ("by_module", 2, {"limit_of", "base"}),
        ("by_object", 1, {"Policy.allows", "Policy.__call__"}),
        ("by_object", 3, {"Policy.allows", "Policy.__call__", "Policy.most", "limit_of"}),
        ("by_table", 1, {"<lambda>", "base"}),
        ("decorated", 1, {"base", "decorated"}),
        ("Desk.refund", 1, {"Desk.check"}),
        ("Desk.refund", 3, {"Desk.check", "base_of", "Policy.name"}),
    ],
)
def test_what_a_guard_calls_is_found(guards, name, depth, expected):
    function = guards
    for part in name.split("."):
        function = getattr(function, part)
    folder = guards.__file__.removesuffix("guards.py")
    tool = (f"{folder}tools.py", "refund")
    helpers = helpers_of(function, depth, lambda file: file.startswith(folder), {tool})
    assert {helper.__qualname__ for helper in helpers} == expected


CALLING = GUARDED.replace(
    "def refund", "def most_of(order):\n    return PAID[order] - 0\n\n\ndef refund"
).replace("if cents > PAID[order]", "if cents > most_of(order)")


@pytest.mark.thorough
def test_helpers_are_mutated_unless_the_depth_is_0(tmp_path):
    folder = tmp_path / "refund"
    folder.mkdir()
    record_incident(folder, guarded=CALLING)
    for words, expected in (((), {"refund", "most_of"}), (("--depth", "0"), {"refund"})):
        command = mutate(tmp_path, folder, "--out", tmp_path / "out", *words)
        assert command.status == 0, command.said
        (incident,) = read_study(tmp_path / "out").incidents
        assert {target.function for target in incident.targets} == expected
        assert {result.mutant.target.function for result in incident.results} == expected


DECORATED = """
import functools

from tools import PAID
from tools import refund as pay


def limited(most):
    def wrap(function):
        @functools.wraps(function)
        def inner(order, cents):
            if cents > most():
                return {"status": "blocked"}
            return function(order, cents)

        return inner

    return wrap


def most_cents():
    return 4900


@limited(most_cents)
def refund(order: str, cents: int) -> dict:
    return pay(order, cents)
"""


@pytest.mark.thorough
def test_the_decorator_of_what_is_swapped_in_is_mutated(tmp_path):
    folder = tmp_path / "refund"
    folder.mkdir()
    record_incident(folder, guarded=DECORATED)
    command = mutate(tmp_path, folder, "--out", tmp_path / "out")
    assert command.status == 0, command.said
    (incident,) = read_study(tmp_path / "out").incidents
    mutated = {result.mutant.target.function for result in incident.results}
    assert mutated >= {"limited.<locals>.wrap.<locals>.inner", "most_cents"}
    unsafe = [result for result in incident.results if result.is_unsafe]
    assert {result.mutant.target.function for result in unsafe} >= {"limited.<locals>.wrap.<locals>.inner"}
    assert all(result.verdicts["cut-point"].is_killed for result in unsafe)


@pytest.mark.slow
def test_a_tool_that_the_fix_keeps_from_running_is_refused(tmp_path):
    """The fix is a decorator, so that the tool that crossed never runs: its mutants say nothing of the fix."""
    folder = tmp_path / "refund"
    folder.mkdir()
    record_incident(folder, tools=TOOLS, predicate=PREDICATE, test_incident=UNSWAPPED)
    (folder / "guards.py").write_text(DECORATOR)
    (folder / "tools.py").write_text(
        TOOLS.replace("def refund", "@guards.capped\ndef refund", 1).replace(
            "\npaid", "\nimport guards\npaid"
        )
    )
    refused = mutate(tmp_path, folder)
    assert refused.status == 2
    assert (
        "refund: refund of tools.py never runs in the test of the incident, so no mutant of it could do harm; name the"
        " function that stops the call with --tool FILE:NAME (usage)" in " ".join(refused.said.split())
    )
    words = ("--tool", "guards.py:capped.<locals>.inner", "--out", tmp_path / "out")
    command = mutate(tmp_path, folder, *words)
    assert command.status == 0, command.text + command.said
    (incident,) = read_study(tmp_path / "out").incidents
    assert any(result.harm for result in incident.results)


DECORATOR = """
import functools


def capped(function):
    @functools.wraps(function)
    def inner(order, cents):
        if cents > 4900:
            return {"status": "blocked"}
        return function(order, cents)

    return inner
"""
UNSWAPPED = (
    JUDGED.replace(' swap={"tools.py:refund": "guarded.py:refund"},', " check=False,")
    .replace('\n    assert replay.called("refund", cents=9900)', "")
    .replace("(replay)", "()")
)
