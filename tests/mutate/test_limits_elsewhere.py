"""Edge inputs come near limits that are not in the guard itself, and tell mutants by what a call does to the modules."""

import os

import pytest
from msgspec import json

from autochron.mutate.merging import read_study
from autochron.mutate.model import Receiver
from autochron.mutate.server.guard_constants import GuardConstants, held_while
from autochron.mutate.server.module_state import receiver_of
from tests.mutate.desks import TEST, mutate, record_incident

pytestmark = pytest.mark.timeout(400)

HEAD = '''
import json
import os

from tools import refund as pay


def refund(order: str, cents: int) -> dict:
    """Pay up to a limit."""
'''
REFUSE = '    return {"status": "blocked"}\n'
HELPER = (
    HEAD
    + "    if is_allowed(cents):\n        return pay(order, cents)\n"
    + REFUSE
    + """

def is_allowed(cents):
    return cents <= 731
"""
)
FILE = (
    HEAD
    + "    if cents <= limits()[order]:\n        return pay(order, cents)\n"
    + REFUSE
    + """

def limits():
    with open(os.path.join(os.path.dirname(__file__), "limits.json")) as file:
        return json.load(file)
"""
)
LOCAL = (
    HEAD
    + """    with open(os.path.join(os.path.dirname(__file__), "limits.json")) as file:
        most = json.load(file)[order]
    if cents <= most:
        return pay(order, cents)
"""
    + REFUSE
)
OBJECT = (
    HEAD
    + "    if Policy(700).allows(cents):\n        return pay(order, cents)\n"
    + REFUSE
    + """

class Policy:
    def __init__(self, most):
        self.most = most

    def allows(self, cents):
        most = self.most + 31
        return cents <= most
"""
)
TABLE = (
    HEAD
    + '    if LIMITS["refund"](cents):\n        return pay(order, cents)\n'
    + REFUSE
    + """

def up_to(cents):
    return cents <= 731


LIMITS = {"refund": up_to}
"""
)
LIMITS = """
EXTRA = 0


class Desk:
    def __init__(self, most):
        self.most = most


desk = Desk(731)
"""
MODULE = (
    HEAD.replace("import json\n", "import json\n\nimport limits\n")
    + "    if cents <= limits.desk.most + limits.EXTRA:\n        return pay(order, cents)\n"
    + REFUSE
)
LARGE_TABLE = (
    HEAD
    + "    if cents <= LIMITS[order]['cents']:\n        return pay(order, cents)\n"
    + REFUSE
    + """

LIMITS = {f"B{number}": {"cents": number} for number in range(30)} | {"A1": {"cents": 731}}
"""
)
DEFAULT = (
    HEAD.replace("cents: int)", "cents: int, most: int = 731)")
    + "    if cents <= most:\n        return pay(order, cents)\n"
    + REFUSE
)
CLOSURE = """
from tools import refund as pay


def up_to(most):
    def refund(order: str, cents: int) -> dict:
        \"\"\"Pay up to a limit.\"\"\"
        if cents <= most:
            return pay(order, cents)
        return {"status": "blocked"}

    return refund


refund = up_to(731)
"""
RERUN = """
import pytest


@pytest.mark.autochron("trace.jsonl", live=["refund"], swap={"tools.py:refund": "guarded.py:refund"})
def test_no_more_than_was_paid(replay):
    replay.run()
    assert replay["refund[1]"].result["status"] == "blocked"
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("guarded", "test"),
    [
        (HELPER, TEST),
        (FILE, TEST),
        (LOCAL, TEST),
        (OBJECT, TEST),
        (TABLE, TEST),
        (MODULE, TEST),
        (LARGE_TABLE, TEST),
        (DEFAULT, TEST),
        (CLOSURE, TEST),
        pytest.param(FILE, RERUN, marks=pytest.mark.thorough),
        pytest.param(HELPER, RERUN, marks=pytest.mark.thorough),
    ],
    ids=[
        *("helper", "file", "local", "object", "table"),
        *("module", "large table", "default", "closure"),
        *("file, own process", "helper, own process"),
    ],
)
def test_a_mutant_of_a_limit_differs_on_an_input_beside_it(guarded, test, tmp_path):
    """`<` for `<=` can only be told by the limit itself."""
    folder = tmp_path / "refund"
    folder.mkdir()
    (folder / "limits.json").write_text('{"A1": 731}')
    (folder / "limits.py").write_text(LIMITS)
    record_incident(folder, guarded=guarded, test_incident=test)
    command = mutate(tmp_path, folder, "--out", tmp_path / "out", "--depth", "2")
    assert command.status == 0, command.said
    (incident,) = read_study(tmp_path / "out").incidents
    strict = [
        result
        for result in incident.results
        if any(line.startswith("+") and "cents < " in line for line in result.diff.splitlines())
    ]
    assert strict
    for result in strict:
        told = [
            each.value
            for each in incident.inputs
            if each.number in result.inputs and each.argument == "cents"
        ]
        assert result.behaviour == "other-input"
        assert told == ["731"]


QUIET = (
    HEAD
    + """    if cents <= 731:
        pay(order, cents)
    return {"status": "blocked"}
"""
)


BY_CHANCE = QUIET.replace("import os\n", "import os\nimport uuid\n\nASKED = {}\n").replace(
    "    if cents", "    ASKED[uuid.uuid4().hex] = order\n    if cents"
)


@pytest.mark.thorough
@pytest.mark.parametrize("test", [TEST, RERUN], ids=["in process", "own process"])
def test_a_mutant_that_answers_the_same_is_told_by_what_it_does(test, tmp_path):
    """It pays on another input, and answers that it did not; the next input starts from the state of before."""
    folder = tmp_path / "refund"
    folder.mkdir()
    record_incident(folder, guarded=QUIET, test_incident=test)
    command = mutate(tmp_path, folder, "--out", tmp_path / "out")
    assert command.status == 0, command.said
    (incident,) = read_study(tmp_path / "out").incidents
    paid = [each for each in incident.inputs if "paid" in each.outcome]
    assert {each.value for each in paid} >= {"731", "730", "0", "1"}
    assert all('"modules":{"tools.py:paid, ' in each.outcome for each in paid)
    (strict,) = [
        result
        for result in incident.results
        if any(line.startswith("+") and "cents < 731" in line for line in result.diff.splitlines())
    ]
    assert strict.behaviour == "other-input"
    assert [each.value for each in incident.inputs if each.number in strict.inputs] == ["731"]


@pytest.mark.slow
def test_changes_at_places_that_chance_names_tell_nothing(tmp_path):
    folder = tmp_path / "refund"
    folder.mkdir()
    record_incident(folder, guarded=BY_CHANCE)
    command = mutate(tmp_path, folder, "--out", tmp_path / "out")
    assert command.status == 0, command.said
    (incident,) = read_study(tmp_path / "out").incidents
    (strict,) = [
        result
        for result in incident.results
        if any(line.startswith("+") and "cents < 731" in line for line in result.diff.splitlines())
    ]
    assert (strict.inputs, strict.behaviour) == ((), "same")


SECRET = "sk-" + "proj-4fJ9aQ2mZ7xV1bN8kL3cR6tY5wP0sD"


SHORT_SECRET = "sk-" + "ant-" + "api03-9fJ4aQ2mZ7xV1bN8kL3c"


def most(order):
    """Return a limit; a text that is a secret stands beside it."""
    limits = {"A1": 731, "key": SHORT_SECRET}
    return limits[order] + 1


def test_what_functions_hold_while_they_run_is_taken_without_secrets():
    constants = GuardConstants([most])
    held = json.decode(held_while(lambda: most("A1"), constants.places))
    assert held == [
        ["int", "731", "limits of most['A1']"],
        ["int", "732", "what most returns"],
        ["str", "A1", "a key of limits of most"],
        ["str", "key", "a key of limits of most"],
        ["str", SHORT_SECRET, "limits of most['key']"],
    ]
    found = constants.at_call(most, "most", None, lambda: held)
    assert [each.value for each in found.numbers] == [731, 1, 732]
    assert [each.value for each in found.texts] == ["A1", "key"]
    assert json.decode(held_while(lambda: most("A1"), {})) == []


def test_an_object_that_holds_a_secret_is_not_written():
    desk = Desk(731, "")
    receiver = receiver_of({"self": desk, "cents": 1}, os.path.dirname(__file__))
    assert receiver == Receiver("self", "test_limits_elsewhere.py", "Desk", {"most": "731", "key": "''"})
    assert receiver_of({"self": Desk(731, SECRET)}, os.path.dirname(__file__)) is None
    assert receiver_of({"self": Desk(object(), "")}, os.path.dirname(__file__)) is None
    assert receiver_of({"cents": 1}, os.path.dirname(__file__)) is None


class Desk:
    def __init__(self, most, key):
        self.most, self.key = most, key
