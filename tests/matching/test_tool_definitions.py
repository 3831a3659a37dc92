"""The search of the project's source for the definitions that a tool may be, in all ways to define and dispatch one."""

import pytest

from autochron.diagnostics.tool_definitions import find_definitions
from autochron.project import Project
from tests.cli.processes import write

TOOLS = """\
from typing import Protocol


class Ledger(Protocol):
    def refund(self, order: str) -> str: ...


def refund(order):
    return order


def do_note(text):
    return text


class GetWeather:
    name = "weather"

    def run(self, city):
        return city


class FindTrain:
    def _run(self, town):
        return town


class Desk:
    def __init__(self):
        self.handlers = {"pay_now": self.pay, "close": lambda cents: cents}

    def pay(self, cents):
        return cents


@tool("lookup")
def find(order):
    return order


def make():
    def nested(order):
        return order

    return nested


def send_mail(to, body):
    return body


async def get_time(zone):
    return zone
"""

AGENT = """\
from shop import tools
from shop.tools import do_note, send_mail as mail

TOOLS = {"note": do_note, "mail": {"function": mail, "schema": {}}}
TOOLS["letter"] = mail
register(name="post", function=mail)


def act(name, arguments):
    print(name)
    if name == "zone_time":
        return tools.get_time(**arguments)
    match name:
        case "made":
            return tools.make()
"""

PLACES = {
    "refund": ["shop.tools:refund shop/tools.py:8"],
    "note": ["shop.tools:do_note shop/tools.py:12"],
    "mail": ["shop.tools:send_mail shop/tools.py:48"],
    "letter": ["shop.tools:send_mail shop/tools.py:48"],
    "post": ["shop.tools:send_mail shop/tools.py:48"],
    "weather": ["shop.tools:GetWeather.run shop/tools.py:19"],
    "find_train": ["shop.tools:FindTrain._run shop/tools.py:24"],
    "pay_now": ["shop.tools:Desk.pay shop/tools.py:32"],
    "lookup": ["shop.tools:find shop/tools.py:36"],
    "nested": ["shop.tools:make.<locals>.nested shop/tools.py:42"],
    "zone_time": ["shop.tools:get_time shop/tools.py:52"],
    "made": ["shop.tools:make shop/tools.py:41"],
    "Shop-refund": ["shop.tools:refund shop/tools.py:8"],
    "mcp__shop__refund": ["shop.tools:refund shop/tools.py:8"],
    "sendMail": ["shop.tools:send_mail shop/tools.py:48"],
    "send-mail": ["shop.tools:send_mail shop/tools.py:48"],
    "close": [],
    "never_defined": [],
    "no name!": [],
}


@pytest.fixture
def places(tmp_path):
    def find(files, tools):
        write(tmp_path, files)
        found = find_definitions(Project((str(tmp_path),), str(tmp_path)), tools)
        return {
            tool: [f"{definition.target} {definition.file}:{definition.line}" for definition in definitions]
            for tool, definitions in found.items()
        }

    return find


def test_each_way_to_define_a_tool_leads_to_its_function(places):
    files = {
        "shop/tools.py": TOOLS,
        "shop/agent.py": AGENT,
        "tests/test_tools.py": "def refund(order):\n    return None\n",
        "broken.py": "def refund(:\n",
    }
    assert places(files, dict.fromkeys(PLACES)) == PLACES


def test_the_modules_name_is_the_one_that_the_project_imports_it_by(places):
    source = "def refund(order):\n    return order\n"
    assert places({"app/tools.py": source, "app/main.py": "import tools\n"}, {"refund": None}) == {
        "refund": ["tools:refund app/tools.py:1"]
    }
    assert places({"app/main.py": "from .tools import refund\n"}, {"refund": None}) == {
        "refund": ["app.tools:refund app/tools.py:1"]
    }
    assert places({"app/__init__.py": "", "app/main.py": "import tools\n"}, {"refund": None}) == {
        "refund": ["app.tools:refund app/tools.py:1"]
    }


def test_below_src_the_folder_is_no_part_of_the_name(places):
    files = {
        "src/shop/tools.py": "def refund(order):\n    return order\n",
        "src/run.py": "import shop.tools\n",
    }
    assert places(files, {"refund": None}) == {"refund": ["shop.tools:refund src/shop/tools.py:1"]}


SEVERAL = {
    "a.py": "def refund(order, cents):\n    return order\n",
    "b.py": "def refund(path):\n    return path\n",
    "c.py": "def refund(*, order, cents=0, **more):\n    return order\n",
    "d.py": "def refund(who, where):\n    return who\n",
}


def test_of_several_definitions_those_stay_that_take_the_declared_parameters(places):
    assert places(SEVERAL, {"refund": frozenset({"order", "cents"})}) == {
        "refund": ["a:refund a.py:1", "b:refund b.py:1", "c:refund c.py:1"]  # b's may take them in one object
    }
    assert places({}, {"refund": frozenset({"who", "where"})}) == {
        "refund": ["b:refund b.py:1", "c:refund c.py:1", "d:refund d.py:1"]
    }
    assert len(places({}, {"refund": None})["refund"]) == 4


def test_a_definition_that_takes_none_of_the_parameters_is_better_than_none(places):
    files = {"a.py": "def refund(who, where):\n    return who\n"}
    assert places(files, {"refund": frozenset({"order"})}) == {"refund": ["a:refund a.py:1"]}


def test_definitions_in_tests_and_stubs_count_only_where_there_is_no_other(places):
    assert places({"tests/fakes.py": "def refund(order):\n    return 1\n"}, {"refund": None}) == {
        "refund": ["fakes:refund tests/fakes.py:1"]
    }
    stub = '"""Ours."""\n\n\ndef refund(order):\n    """Pay back."""\n    raise NotImplementedError\n'
    assert places({"desk.py": stub}, {"refund": None}) == {"refund": ["desk:refund desk.py:4"]}
