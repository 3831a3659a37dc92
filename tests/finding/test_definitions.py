"""The search for functions that may be a tool: what it finds by name, what it leaves alone, and that it runs no code."""

import asyncio
import functools
import sys
import types

import pytest

from autochron.finding.definitions import DefinitionSearch, fits, names_of
from autochron.project import Project
from autochron.recording.call_facts import DeclaredTool

HEAD = """
import functools
from types import SimpleNamespace as Made

def weather(city):
    return city

library = {"__name__": "library"}
exec(compile("def dump(obj): return obj", "/lib/site-packages/library.py", "exec"), library)
dump = library["dump"]

def wrapped_in_a_library(function):
    space = {"__name__": "library"}
    source = "def wrap(f):\\n    def call(**given):\\n        return f(**given)\\n    return call"
    exec(compile(source, "/lib/site-packages/library.py", "exec"), space)
    return space["wrap"](function)

class Desk:
    def __init__(self):
        self.tools = {"open_desk": self.opened}
        self.name = "desk_tool"

    def opened(self, number):
        return number

    def run(self, number):
        return number

"""

WRAPPED = """
def swap(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

weather = swap(weather)
"""

CALLER = """
import sys

def caller():
    def local(city):
        return city
    return sys._getframe()

frame = caller()
"""
MARKED = """
def marked(name):
    def mark(function):
        function.__shop_function_name__ = name
        return function
    return mark

class Plugin:
    @marked("look")
    def see(self, city):
        return city

@marked("find")
def seek(city):
    return city
"""
"""Functions on which a framework's decorator leaves the name of the tool."""

WAITING = """
import asyncio, sys, threading

frames = []

async def model_call():
    frames.append(sys._getframe())
    return search()

async def main():
    def local(city):
        return city
    return await asyncio.create_task(model_call())

def in_a_thread():
    def lonely(city):
        return city
    return threaded(search)

def threaded(function):
    got = []
    thread = threading.Thread(target=lambda: got.append(function()))
    thread.start()
    thread.join()
    return got[0]
"""

ENDLESS = """
nested = []
for _ in range(50):
    nested = [nested, dict.fromkeys(range(1000), nested)]
ring = []
ring.append(ring)
made = Made(items=[Made(number=number, inner=[Made()]) for number in range(5000)])
made.own = made
"""


@pytest.fixture
def project(tmp_path):
    """Return a function that makes a module of a project, and searches it for tools."""
    made = []

    def search(source, *tools, frame=None):
        name = f"searched_{len(made)}"
        file = tmp_path / f"{name}.py"
        file.write_text(HEAD + source)
        module = types.ModuleType(name)
        module.__file__ = str(file)
        sys.modules[name] = module
        made.append(name)
        exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
        project = Project((str(tmp_path),), str(tmp_path))
        found = DefinitionSearch(tools, project).functions(frame, project.loaded_modules())
        return {
            tool: sorted(function.__qualname__ for function in functions) for tool, functions in found.items()
        }

    yield search
    for name in made:
        del sys.modules[name]


def tool(name, *parameters, required=None):
    return DeclaredTool(name, frozenset(parameters), frozenset(parameters if required is None else required))


@pytest.mark.parametrize(
    ("source", "declared", "expected"),
    [
        ("", tool("weather", "city"), ["weather"]),
        ("", tool("weather", "town"), ["weather"]),  # it may take all arguments as one object
        ("", tool("desk__weather", "city"), ["weather"]),
        ("", tool("Desk-weather", "city"), ["weather"]),
        ("TOOLS = {'look': weather}", tool("look", "city"), ["weather"]),
        ("TOOLS = {'look': {'call': weather, 'about': 'x'}}", tool("look", "city"), ["weather"]),
        ("TOOLS = [{'name': 'look', 'call': weather}]", tool("look", "city"), ["weather"]),
        ("TOOLS = [weather]", tool("weather", "city"), ["weather"]),
        ("TOOLS = {'look': functools.partial(weather)}", tool("look", "city"), ["weather"]),
        ("TOOLS = {'look': functools.lru_cache(weather)}", tool("look", "city"), ["weather"]),
        ("TOOLS = {'look': lambda city: city}", tool("look", "city"), ["<lambda>"]),
        ("desk = Desk()", tool("opened", "number"), ["Desk.opened"]),
        ("desk = Desk()", tool("open_desk", "number"), ["Desk.opened"]),
        ("desk = Desk()", tool("desk_tool", "number"), ["Desk.opened", "Desk.run"]),
        ("", tool("opened", "number"), ["Desk.opened"]),
        (WRAPPED, tool("weather", "city"), ["weather"]),
        (MARKED, tool("look", "city"), ["Plugin.see"]),
        (MARKED, tool("Shop-look", "city"), ["Plugin.see"]),
        (MARKED + "plugin = Plugin()", tool("look", "city"), ["Plugin.see"]),
        (MARKED, tool("find", "city"), ["seek"]),
        # Objects that a library made of functions.
        ("climate = Made(function=weather)", tool("climate", "city"), ["weather"]),
        ("made = Made(name='look', function=weather)", tool("look", "city"), ["weather"]),
        ("made = Made(_tool_name='look', _function=functools.partial(weather))", tool("look", "city"), ["weather"]),
        ("made = Made(name='Look at it', function=weather)", tool("look_at_it", "city"), ["weather"]),
        ("made = Made(about=Made(name='look'), function=weather)", tool("look", "city"), ["weather"]),
        ("made = Made(about={'name': 'look'}, function=weather)", tool("look", "city"), ["weather"]),
        ("made = Made(name='look', component=Desk())", tool("look", "number"), ["Desk.run"]),
        ("agent = Made(tools=[Made(name='look', function=weather)])", tool("look", "city"), ["weather"]),
        ("team = Made(agents=[Made(kit=Made(all={'look': Made(call=weather)}))])", tool("look", "city"), ["weather"]),
        ("agent = Made(tools=[lambda city: city, Desk()])", tool("open_desk", "number"), ["Desk.opened"]),
        ("made = Made(name='look', model=Made(call=weather))", tool("look", "city"), ["weather"]),
        # A helper has the name of the tool that an object is.
        ("made = Made(name='weather', function=lambda city: city)", tool("weather", "city"), ["<lambda>", "weather"]),
        # Functions of a library in an object that has the tool's name count where the project has none.
        ("made = Made(name='write', call=dump)", tool("write", "obj"), ["dump"]),
        ("made = Made(name='write', call=dump, own=weather)", tool("write", "city"), ["weather"]),
        ("made = Made(name='look', call=wrapped_in_a_library(weather))", tool("look", "city"), ["weather"]),
        ("made = Made(name='look', call=wrapped_in_a_library(len))", tool("look", "city"), ["wrap.<locals>.call"]),
    ],
)  # fmt: skip
def test_a_function_is_found_by_the_name_of_its_tool(project, source, declared, expected):
    assert project(source, declared) == {declared.name: expected}


@pytest.mark.parametrize(
    ("source", "declared"),
    [
        ("", tool("climate", "city")),
        ("TOOLS = {'look': len}", tool("look", "city")),
        ("TOOLS = {'look': {'call': weather}}", tool("look", "town", "day")),
        ("def weather():\n    pass", tool("weather", "city")),
        ("made = Made(name='look', hook=weather)", tool("look", "town")),
        ("made = Made(name='look', function=Made(name='see', call=len))", tool("look", "city")),
        ("a = Made(b=Made(c=Made(d=Made(e=Made(name='look', function=weather)))))", tool("look", "city")),
    ],
)
def test_nothing_is_found_where_no_function_fits(project, source, declared):
    assert project(source, declared) == {}


def test_functions_of_libraries_are_no_tools(project):
    assert project("from json import dumps", tool("dumps", "obj")) == {}


@pytest.mark.parametrize(
    ("source", "declared", "expected"),
    [
        ("kit = Made(name='look', call=stats.mean)", tool("look", "data"), ["mean"]),
        ("look = Made(call=stats.mean)", tool("look", "data"), ["mean"]),
        ("TOOLS = {'look': {'call': stats.mean}}", tool("look", "data"), ["mean"]),
        ("TOOLS = [Made(name='look', call=stats.mean), {'name': 'look', 'call': lambda data: 1}]", tool("look", "data"),
         ["<lambda>"]),
        ("kit = Made(name='look', call=stats.median)", tool("look", "data"), ["median"]),
        ("kit = Made(name='look', call=stats.mean)", tool("look", "city"), None),  # other parameters
        ("kit = Made(name='look', call=stats.mean)", tool("look"), None),  # fewer than it needs
        ("kit = Made(name='look', call=stats.pass_on)", tool("look", "data"), None),  # it only passes arguments on
        ("kit = Made(name='look', model=Made(call=stats.tell))", tool("look", "data"), ["tell"]),
        ("kit = Made(name='look', call=stats.tell)", tool("look", "data", "weight"), None),
        ("from stats import mean", tool("mean", "data"), None),  # a helper
        ("from json import dumps\nkit = Made(name='dumps', call=dumps)", tool("dumps", "obj"), None),
    ],
)  # fmt: skip
def test_a_function_of_a_library_is_found_where_an_object_names_it_as_a_tool(
    project, monkeypatch, source, declared, expected
):
    stats = types.ModuleType("stats")
    stats.__file__ = "/usr/lib/site-packages/stats.py"
    text = """
def mean(data, weights=None):
    return data

def median(data, *rest, low=False, **options):
    return data

def pass_on(**options):
    return options

class Run:
    pass

def tell(run: Run, data, *, top=1):
    return data
"""
    exec(compile(text, "/usr/lib/site-packages/stats.py", "exec"), stats.__dict__)
    monkeypatch.setitem(sys.modules, "stats", stats)
    assert project(f"import stats\n{source}", declared) == (
        {} if expected is None else {declared.name: expected}
    )


def test_variables_of_callers_are_searched(project):
    project(CALLER)
    frame = sys.modules["searched_0"].frame
    assert project("", tool("local", "city"), frame=frame) == {"local": ["caller.<locals>.local"]}


def test_variables_of_what_waits_for_a_task_are_searched(project):
    project(WAITING)
    module = sys.modules["searched_0"]
    module.search = lambda: project("", tool("local", "city"), frame=module.frames[0])
    assert asyncio.run(module.main()) == {"local": ["main.<locals>.local"]}


def test_variables_of_what_waits_for_a_thread_are_searched(project):
    project(WAITING)
    module = sys.modules["searched_0"]
    module.search = lambda: project("", tool("lonely", "city"), frame=sys._getframe())
    assert module.in_a_thread() == {"lonely": ["in_a_thread.<locals>.lonely"]}


def test_a_search_runs_no_code_of_the_program(project):
    source = """
RAN = []

class Meta(type):
    def __getattribute__(cls, name):
        RAN.append(name)
        return super().__getattribute__(name)

class Loud(metaclass=Meta):
    def __getattr__(self, name):
        RAN.append(name)
        raise AttributeError(name)
    def __getattribute__(self, name):
        RAN.append(name)
        return super().__getattribute__(name)
    def __iter__(self):
        RAN.append("iter")
        return iter(())
    def __hash__(self):
        RAN.append("hash")
        return 1
    def __eq__(self, other):
        RAN.append("eq")
        return False
    @property
    def name(self):
        RAN.append("property")
        return "look"

class Keys(dict):
    def items(self):
        RAN.append("items")
        return []
    def __contains__(self, key):
        RAN.append("contains")
        return False

loud = Loud()
values = [loud, Keys(look=loud), {loud: 1}, (loud,)]
RAN.clear()
"""
    project(source, tool("look", "city"))
    assert sys.modules["searched_0"].RAN == []


def test_a_search_ends_in_a_project_of_any_size(project):
    assert project(ENDLESS, tool("weather", "city")) == {"weather": ["weather"]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("refund", ("refund",)),
        ("Shop-refund", ("Shop-refund", "Shop_refund", "refund")),
        ("mcp__shop__refund", ("mcp__shop__refund", "mcp_shop_refund", "refund")),
        ("shop.refund", ("shop.refund", "shop_refund", "refund")),
        ("not a name!", ("not a name!",)),
        ("-", ("-",)),
    ],
)
def test_names_of_a_tool(name, expected):
    assert names_of(name) == expected


def test_a_function_with_the_same_parameters_fits_exactly():
    def same(self, city, *, day=1):
        pass

    def other(query):
        pass

    assert fits(same, tool("x", "city", "day"), exactly=True)
    assert not fits(other, tool("x", "city"), exactly=True)
    assert fits(other, tool("x", "city"))
    assert fits(functools.partial(same, None).func, tool("x", "city"))
