"""The search of the project's source for functions that run tools themselves, and for the field with the tool's name."""

import pytest

from autochron.diagnostics.dispatchers import find_dispatchers
from autochron.project import Project
from tests.cli.processes import write

DISPATCHERS = {
    "a parameter": (
        "def act(name, arguments):\n    if name == 'refund':\n        return arguments['order']\n",
        ["act {name}"],
    ),
    "an attribute, and a guard before": (
        "def act(call):\n    if call.function.name == 'refund' and call.id:\n        return call.function.arguments\n",
        ["act {call.function.name}"],
    ),
    "an item": (
        "async def act(block):\n    if 'refund' == block['name']:\n        return block['input']\n",
        ["act {block[name]}"],
    ),
    "an item by get, in a variable": (
        "def act(block):\n    name = block.get('name')\n    if name in ('refund', 'note'):\n        return block['input']\n",
        ["act {block[name]}"],
    ),
    "variables that are assigned together": (
        "def act(call):\n    name, given = call.name, call.arguments\n    if name == 'refund':\n        return given\n",
        ["act {call.name}"],
    ),
    "a match in a method": (
        "class Desk:\n  def act(self, name, order):\n    match name:\n      case 'refund' | 'repay':\n        return order\n",
        ["Desk.act {name}"],
    ),
    "keywords": (
        "def act(name, **given):\n    if name == 'refund':\n        return given['order']\n",
        ["act {name}"],
    ),
}

NO_DISPATCHERS = {
    "a name that is changed before": (
        "def act(name, order):\n    name = name.lower()\n    if name == 'refund':\n        return order\n"
    ),
    "an attribute that is assigned": (
        "def act(call):\n    call.name = call.name.lower()\n    if call.name == 'refund':\n        return call.order\n"
    ),
    "a computed name": ("def act(call):\n    if call.name.lower() == 'refund':\n        return call.order\n"),
    "a loop with no function of its own": (
        "for call in calls():\n    if call.name == 'refund':\n        print(call.order)\n"
    ),
    "a name that a rule can't read": "def act(model, order):\n    if model == 'refund':\n        return order\n",
    "a guard that looks at the name": "def act(name, order):\n    if name == 'refund':\n        return 'never'\n",
    "a guard that allows a call": (
        "def act(name, order):\n    if name == 'refund':\n        return order < 5\n    return True\n"
    ),
    "a guard by its annotation": (
        "def act(name, order) -> bool:\n    if name == 'refund':\n        return check(order)\n"
    ),
    "what returns nothing": "def act(name, order, told):\n    if name == 'refund':\n        told.append(order)\n",
    "another tool": "def act(name, order):\n    if name == 'note':\n        return order\n",
    "a variable of the outer function": (
        "def act(name):\n    def inner(order):\n        if name == 'refund':\n            return order\n    return inner\n"
    ),
    "no Python": "def act(name, order:\n    if name == 'refund'\n",
}


@pytest.fixture
def find(tmp_path):
    def dispatchers(files, parameters=("order",)):
        write(tmp_path, files)
        project = Project((str(tmp_path),), str(tmp_path))
        return find_dispatchers(project, {"refund": None if parameters is None else frozenset(parameters)})[
            "refund"
        ]

    return dispatchers


def named(dispatchers):
    return [f"{dispatcher.qualname} {dispatcher.field}" for dispatcher in dispatchers]


@pytest.mark.parametrize(("source", "expected"), DISPATCHERS.values(), ids=DISPATCHERS)
def test_a_function_that_asks_for_the_name_is_found_with_its_field(find, source, expected):
    found = find({"desk.py": source})
    assert named(found) == expected
    assert [(entry.module, entry.file, entry.is_only) for entry in found] == [("desk", "desk.py", True)]


@pytest.mark.parametrize("source", NO_DISPATCHERS.values(), ids=NO_DISPATCHERS)
def test_a_function_whose_table_would_not_work_is_none(find, source):
    assert find({"desk.py": source}) == ()


def test_a_tool_without_parameters_needs_no_other_argument(find):
    source = "def act(name):\n    if name == 'refund':\n        return 'paid'\n"
    assert named(find({"desk.py": source}, parameters=())) == ["act {name}"]


def test_other_places_that_ask_for_the_name_make_it_unsure(find):
    source = "def act(name, order):\n    if name == 'refund':\n        return order\n"
    loop = "for call in calls():\n    if call.name == 'refund':\n        print(call.order)\n"
    assert [entry.is_only for entry in find({"desk.py": source, "loop.py": loop})] == [False]
