"""Requested calls that the agent declined are distinguished from calls of tools outside every boundary."""

import json

import pytest

from autochron.store import open_store
from tests.cli.processes import autochron, write

MODEL = """\
version = 1
packs = []

[[boundary]]
name = "agent"
kind = "model"
target = "agent:ask"
meta = { tools = ["outcome.calls.*.name"] }
"""
DEFINED = '\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "agent:*"\nexclude = ["ask", "act", "main"]\n'
TABLE = '\n[[boundary]]\nname = "{tool}"\nkind = "tool"\ncall = "TOOLS[$tool](...)"\n'
DISPATCHER = '\n[[boundary]]\nname = "{name}"\nkind = "tool"\ntarget = "agent:act"\n'


def only(*names):
    """Return the text of a rule for some functions of the agent."""
    targets = ", ".join(f'"agent:{name}"' for name in names)
    return f'\n[[boundary]]\nname = "{{__name__}}"\nkind = "tool"\ntarget = [{targets}]\n'


ASK = """
import json

with open("calls.json") as file:
    ANSWERS = json.load(file)


def ask(turn):
    return {"calls": ANSWERS[turn]}
"""
FUNCTIONS = """
def look_up(order):
    return {"order": order}


def refund(order, cents):
    print("refunded", order, cents)


def notify(order, text):
    print("told", text)


TOOLS = {"look_up": look_up, "refund": refund, "notify": notify}
"""
FIRST = """
def main():
    for turn in range(len(ANSWERS)):
        for call in ask(turn)["calls"][:1]:
            TOOLS[call["name"]](**call["arguments"])


main()
"""
LOOK_UP = {"name": "look_up", "arguments": {"order": "48213"}}
REFUND = {"name": "refund", "arguments": {"order": "48213", "cents": 500}}
OTHER = {"name": "refund", "arguments": {"order": "11111", "cents": 7}}
NOTIFY = {"name": "notify", "arguments": {"order": "48213", "text": "Done."}}
THREE = [[LOOK_UP, REFUND, NOTIFY]]


def record(folder, source, rules, answers):
    """Record an agent; return its (declined, unwoven) tools, and what `run` wrote to standard error."""
    write(folder, {"agent.py": source, "autochron.toml": MODEL + rules, "calls.json": json.dumps(answers)})
    ran = autochron(folder, "run", "--no-watch", "agent.py")
    assert ran.status == 0, ran.said
    footer = open_store(str(folder / ".autochron/traces.db")).load("last").footer
    return (footer.declined_tools, footer.unwoven_tools), ran.said


ACT = """
def act(name, arguments):
    return TOOLS[name](**arguments)
"""
BY_ACT = FIRST.replace('TOOLS[call["name"]](**call["arguments"])', 'act(call["name"], call["arguments"])')
BRANCHES = """
def main():
    for call in ask(0)["calls"][:1]:
        if call["name"] == "look_up":
            look_up(**call["arguments"])
        elif call["name"] == "refund":
            refund(**call["arguments"])


main()
"""
METHODS = """
class Shop:
    def look_up(self, order):
        return order

    def refund(self, order, cents):
        return cents


def main():
    shop = Shop()
    for call in ask(0)["calls"][:1]:
        getattr(shop, call["name"])(**call["arguments"])


main()
"""
DECORATED = """
import functools

TOOLS = {}


def tool(function):
    @functools.wraps(function)
    def wrapper(**arguments):
        return function(**arguments)

    TOOLS[function.__name__] = wrapper
    return wrapper


@tool
def look_up(order):
    return order


@tool
def refund(order, cents):
    return cents
"""
MARKED = """
import autochron

@autochron.boundary
def look_up(order):
    return order


@autochron.boundary("pay_back")
def refund(order, cents):
    return cents


TOOLS = {"look_up": look_up, "refund": refund}
"""
LAMBDAS = """
TOOLS = {"look_up": lambda order: order, "refund": lambda order, cents: print("refunded", cents)}
"""


@pytest.mark.parametrize(
    ("source", "rules", "answers", "declined"),
    [
        (FUNCTIONS + FIRST, DEFINED, THREE, ("refund", "notify")),
        (FUNCTIONS + FIRST, DEFINED, [[LOOK_UP], [LOOK_UP, REFUND]], ("refund",)),
        (FUNCTIONS + FIRST, DEFINED, [[REFUND, OTHER]], ("refund (1 of 2 calls)",)),
        (FUNCTIONS + BRANCHES, DEFINED, THREE[:1], ("refund", "notify")),
        (METHODS, only("Shop.look_up", "Shop.refund"), [[LOOK_UP, REFUND]], ("refund",)),
        (DECORATED + FIRST, only("look_up", "refund"), [[LOOK_UP, REFUND]], ("refund",)),
        (MARKED + FIRST, "", [[LOOK_UP, REFUND]], ("refund",)),
        (FUNCTIONS + FIRST, TABLE, THREE, ("refund", "notify")),
        (LAMBDAS + FIRST, TABLE, [[LOOK_UP, REFUND]], ("refund",)),
        (FUNCTIONS + ACT + BY_ACT, DISPATCHER, THREE, ("refund", "notify")),
    ],
    ids=[
        "functions", "in a later turn", "one of two calls", "branches", "methods", "decorated functions", "marked by hand",
        "a table", "a table of lambdas", "a dispatcher",
    ],
)  # fmt: skip
def test_a_tool_that_is_covered_and_not_called_is_declined(source, rules, answers, declined, tmp_path):
    tools, errors = record(tmp_path, ASK + source, rules, answers)
    assert tools == (declined, ())
    assert f"  declined: {', '.join(declined)}: asked for by the model" in errors
    assert "[[boundary]]" not in errors
    assert "(unwoven-tool)" not in errors


SILENT = FIRST.replace("[:1]", "[:0]")
DIRECTLY = """
def main():
    for call in ask(0)["calls"]:
        if call["name"] == "refund":
            refund(**call["arguments"])
        else:
            TOOLS[call["name"]](**call["arguments"])


main()
"""
UNBOUND = """
def main():
    for call in ask(0)["calls"]:
        function = TOOLS[call["name"]] if call["name"] == "refund" else None
        if function is not None:
            function(**call["arguments"])
        else:
            TOOLS[call["name"]](**call["arguments"])


main()
"""
ALL = FIRST.replace("[:1]", "")
HELPER = """
def look_up(order):
    return order


def refund(text):
    return text


def pay(order, cents):
    print("refunded", cents)


TOOLS = {"look_up": look_up, "refund": pay}
"""
NAMESAKE = HELPER.replace("def refund(text)", "def refund(order, cents)").replace(
    "return text", "return cents"
)
NESTED = """
def look_up(order):
    return order


def refund(order, cents):
    return cents


def tools():
    def refund(order, cents):
        print("refunded", cents)

    return {"look_up": look_up, "refund": refund}


TOOLS = tools()
"""
BRANCHED = """
def look_up(order):
    return order


def refund(order, cents):
    return cents


def pay(order, cents):
    print("refunded", cents)


def main():
    for call in ask(0)["calls"]:
        if call["name"] == "refund":
            pay(**call["arguments"])
        else:
            look_up(**call["arguments"])


main()
"""
REGISTERED = """
TOOLS = {}


def register(name, function):
    TOOLS[name] = function


def look_up(order):
    return order


def refund(order, cents):
    return cents


def pay(order, cents):
    print("refunded", cents)


register("look_up", look_up)
register("refund", pay)
"""
LATE = """
scope = {}
exec("def refund(order, cents): print(cents)", scope)
TOOLS = {name: scope[name] for name in ("refund",)}
"""
WORKER = """
import subprocess, sys
def main():
    for call in ask(0)["calls"]:
        if call["name"] == "refund":
            subprocess.run([sys.executable, "-S", "-E", "-c", "print('refunded')"])
        else:
            look_up(**call["arguments"])


main()
"""
CONDITION = DEFINED.replace("define =", 'when = { order = "9*" }\ndefine =')


@pytest.mark.parametrize(
    ("source", "rules", "answers", "unwoven"),
    [
        (FUNCTIONS + ALL, only("look_up"), THREE, ("refund", "notify")),
        (FUNCTIONS + FIRST, only("look_up"), THREE, ("refund", "notify")),
        (FUNCTIONS + SILENT, TABLE, THREE, ("look_up", "refund", "notify")),
        (FUNCTIONS + DIRECTLY, TABLE, [[LOOK_UP, REFUND]], ("refund",)),
        (FUNCTIONS + UNBOUND, TABLE, [[LOOK_UP, REFUND]], ("refund",)),
        (FUNCTIONS + FIRST, TABLE, [[LOOK_UP], [REFUND, OTHER]], ("refund (1 of 2 calls)",)),
        (FUNCTIONS + ACT + DIRECTLY.replace("TOOLS[call", "act(call").replace('"name"]](**', '"name"], '), DISPATCHER,
         [[LOOK_UP, REFUND]], ("refund",)),
        (LAMBDAS + FIRST, "", [[LOOK_UP, REFUND]], ("look_up", "refund")),
        (FUNCTIONS.partition("TOOLS")[0] + LAMBDAS + ALL, only("look_up", "refund"), [[REFUND]], ("refund",)),
        (FUNCTIONS.partition("TOOLS")[0] + LATE + ALL, only("look_up", "refund"), [[REFUND]], ("refund",)),
        (HELPER + ALL, only("look_up", "refund"), [[LOOK_UP, REFUND]], ("refund",)),
        (NAMESAKE + ALL, only("look_up", "refund"), [[LOOK_UP, REFUND]], ("refund",)),
        (NESTED + ALL, only("look_up", "refund"), [[LOOK_UP, REFUND]], ("refund",)),
        (BRANCHED, only("look_up", "refund"), [[LOOK_UP, REFUND]], ("refund",)),
        (REGISTERED + ALL, only("look_up", "refund"), [[LOOK_UP, REFUND]], ("refund",)),
        (FUNCTIONS + WORKER, DEFINED, [[LOOK_UP, REFUND]], ("refund",)),
        (FUNCTIONS + FIRST, CONDITION, [[LOOK_UP, REFUND]], ("look_up", "refund")),
    ],
    ids=[
        "no rule", "no rule and not called", "a table that nothing was taken from", "called past its table",
        "looked up elsewhere", "one of two calls through a table", "called past its dispatcher", "lambdas",
        "a lambda beside a helper",
        "a function that was handed to exec",
        "a helper with other parameters", "a helper with the same ones", "a nested function", "another in the branch",
        "another is registered", "a process that is not recorded", "a rule with a condition",
    ],
)  # fmt: skip
def test_a_tool_that_may_run_outside_its_boundary_is_unwoven(source, rules, answers, unwoven, tmp_path):
    tools, errors = record(tmp_path, ASK + source, rules, answers)
    assert tools == ((), unwoven)
    assert errors.count("(unwoven-tool)") == len(unwoven)


BUILT = """
class Desk:
    def tool_look_up(self, order):
        return order

    def tool_refund(self, order, cents):
        print("refunded", cents)


def look_up(order):
    return order


def refund(order, cents):
    return cents


desk = Desk()


def main():
    for call in ask(0)["calls"]:
        function = FUNCTION
        if call["name"] != "look_up" or function is None:
            function(**call["arguments"])
        else:
            look_up(**call["arguments"])


main()
"""
BUILDING = {
    "a sum": 'getattr(desk, "tool_" + call["name"])',
    "an f-string": "getattr(desk, f\"tool_{call['name']}\")",
    "a path in an f-string": "eval(f\"desk.tool_{call['name']}\")",
    "a template": 'getattr(desk, "tool_{}".format(call["name"]))',
    "a percent sign": 'getattr(desk, "tool_%s" % call["name"])',
    "a list of methods": '{each.removeprefix("tool_"): getattr(desk, each) for each in dir(desk)}.get(call["name"])',
}
HELPED = """
def look_up(order):
    return order


def _refund(order, cents):
    print(f"refunded_{cents}", "_")


def refund(order, cents):
    _refund(order, cents)


TOOLS = {"look_up": look_up, "refund": refund}
"""


@pytest.mark.parametrize("function", BUILDING.values(), ids=BUILDING)
def test_a_tool_whose_name_is_built_into_another_is_unwoven(function, tmp_path):
    source = BUILT.replace("FUNCTION", function)
    tools, _ = record(tmp_path, ASK + source, only("look_up", "refund"), [[LOOK_UP, REFUND]])
    assert tools == ((), ("refund",))


def test_a_helper_with_a_longer_name_is_no_other_way_to_a_tool(tmp_path):
    tools, _ = record(tmp_path, ASK + HELPED + FIRST, only("look_up", "refund"), [[LOOK_UP, REFUND]])
    assert tools == (("refund",), ())


IDLE = """
def look_up(order):
    return order


def refund(order, cents):
    return cents


def pay_back(order, cents):
    print("refunded", cents)


class Table:
    def __getitem__(self, name):
        return look_up if name == "look_up" else self.other(name)


"""
OTHER_WAYS = {
    "the name of a class": """
class PayBack:
    name = "refund"

    def run(self, order, cents):
        pay_back(order, cents)


TOOLS = {"look_up": look_up} | {each.name: each().run for each in [PayBack]}
""",
    "an enumeration": """
import enum

Name = enum.Enum("Name", {"REFUND": "refund"})
HANDLERS = {Name.REFUND: pay_back}


class Tools(Table):
    def other(self, name):
        return HANDLERS[Name(name)]


TOOLS = Tools()
""",
    "a constant": 'REFUND = "refund"\nTOOLS = {"look_up": look_up, REFUND: pay_back}\n',
    "two lists": 'TOOLS = dict(zip(["look_up", "refund"], [look_up, pay_back]))\n',
    "a text of the configuration": """
CONFIGURED = json.loads('{"refund": "pay_back"}')


class Tools(Table):
    def other(self, name):
        return globals()[CONFIGURED[name]]


TOOLS = Tools()
""",
    "a part of the name": """
class Tools(Table):
    def other(self, name):
        return {"r": pay_back}[name[0]]


TOOLS = Tools()
""",
    "a class with a name like it": """
class RefundTool:
    def __call__(self, order, cents):
        pay_back(order, cents)


class Tools(Table):
    def other(self, name):
        return globals()[name.title() + "Tool"]()


TOOLS = Tools()
""",
    "a lambda": """
class Tools(Table):
    def other(self, name):
        return lambda **given: pay_back(**given)


TOOLS = Tools()
""",
    "a default": """
class Tools(dict):
    def __missing__(self, name):
        return pay_back


TOOLS = Tools(look_up=look_up)
""",
}


@pytest.mark.parametrize("source", OTHER_WAYS.values(), ids=OTHER_WAYS)
def test_a_covered_function_that_nothing_calls_is_not_the_tool(source, tmp_path):
    tools, _ = record(tmp_path, ASK + IDLE + source + ALL, only("look_up", "refund"), [[LOOK_UP, REFUND]])
    assert tools == ((), ("refund",))


METHODS = """
class Desk:
    def look_up(self, order):
        return order

    def refund(self, order, cents):
        print("refunded", cents)
"""
MENTIONS = {
    "globals": FUNCTIONS.partition("TOOLS")[0]
    + FIRST.replace('TOOLS[call["name"]]', 'globals()[call["name"]]'),
    "a decorator": "TOOLS = {}\n\n\ndef tool(function):\n    TOOLS[function.__name__] = function\n    return function\n"
    + FUNCTIONS.partition("TOOLS")[0].replace("\ndef ", "\n@tool\ndef ")
    + FIRST,
}
TABLE_OF_BOTH = 'TOOLS = {"look_up": look_up, "refund": refund}\n'
BOTH = """
def look_up(order):
    return order


def refund(order, cents):
    print("refunded", cents)


"""
MENTIONS |= {
    "an enumeration": "import enum\n\nName = enum.Enum('Name', {'LOOK_UP': 'look_up', 'REFUND': 'refund'})\n"
    + BOTH
    + "TOOLS = {Name.LOOK_UP: look_up, Name.REFUND: refund}\n"
    + FIRST.replace('TOOLS[call["name"]]', 'TOOLS[Name(call["name"])]'),
    "a wrapper": """
def logged(function):
    def wrapper(**given):
        return function(**given)

    return wrapper


"""
    + BOTH.strip().replace("def ", "@logged\ndef ")
    + "\n\n\n"
    + TABLE_OF_BOTH
    + FIRST,
    "partial": "import functools\n"
    + BOTH.replace("cents):", "cents, log=None):")
    + 'TOOLS = {"look_up": look_up, "refund": functools.partial(refund, log=print)}\n'
    + FIRST,
    "a class of errors": "class RefundError(Exception):\n    pass\n\n\nSTATUS = 'Error'\n"
    + BOTH
    + TABLE_OF_BOTH
    + FIRST,
}
OF_CLASSES = """
class Tool:
    def __call__(self, **given):
        return self.run(**given)


class LookUp(Tool):
    name = "look_up"

    def run(self, order):
        return order


class Refund(Tool):
    name = "refund"

    def run(self, order, cents):
        print("refunded", cents)


TOOLS = {tool.name: tool for tool in (LookUp(), Refund())}
"""
OF_METHODS = {
    "getattr": FIRST.replace('TOOLS[call["name"]]', 'getattr(Desk(), call["name"])'),
    "attributes": "desk = Desk()\nTOOLS = {each.__name__: each for each in [desk.look_up, desk.refund]}\n"
    + FIRST,
}


@pytest.mark.parametrize("source", MENTIONS.values(), ids=MENTIONS)
def test_a_function_that_the_source_may_call_is_declined(source, tmp_path):
    tools, _ = record(tmp_path, ASK + source, only("look_up", "refund"), [[LOOK_UP, REFUND]])
    assert tools == (("refund",), ())


@pytest.mark.parametrize("source", OF_METHODS.values(), ids=OF_METHODS)
def test_a_method_that_the_source_may_call_is_declined(source, tmp_path):
    rules = only("Desk.look_up", "Desk.refund")
    tools, _ = record(tmp_path, ASK + METHODS + source, rules, [[LOOK_UP, REFUND]])
    assert tools == (("refund",), ())


def test_a_tool_that_its_base_class_runs_is_declined(tmp_path):
    rules = "".join(
        f'\n[[boundary]]\nname = "{name}"\nkind = "tool"\ntarget = "agent:{cls}.run"\n'
        for name, cls in (("look_up", "LookUp"), ("refund", "Refund"))
    )
    tools, _ = record(tmp_path, ASK + OF_CLASSES + FIRST, rules, [[LOOK_UP, REFUND]])
    assert tools == (("refund",), ())


def test_a_replay_is_refused_for_an_unwoven_tool_and_not_for_a_declined_one(tmp_path):
    source = ASK + FUNCTIONS + FIRST
    tools, errors = record(tmp_path, source, only("look_up", "refund"), THREE)
    assert tools == (("refund",), ("notify",))
    assert "the model asked for notify, and no boundary is known to cover it" in errors
    refused = autochron(tmp_path, "replay", "last")
    assert (refused.status, refused.out) == (2, b"")
    assert "the model asked for notify, which no crossing answers" in refused.said
    shown = autochron(tmp_path, "traces", "show", "last").text
    assert (
        "not woven: the model asked for notify (unwoven-tool)\ndeclined: refund: asked for by the model"
        in shown
    )


def test_a_trace_with_declined_calls_is_replayed(tmp_path):
    tools, _ = record(tmp_path, ASK + FUNCTIONS + FIRST, DEFINED, THREE)
    assert tools == (("refund", "notify"), ())
    replayed = autochron(tmp_path, "replay", "last")
    assert replayed.status == 0, replayed.said
    assert "the same" in replayed.said


def test_a_declined_tool_that_is_called_on_a_replay_does_not_run(tmp_path):
    record(tmp_path, ASK + FUNCTIONS + FIRST, DEFINED, THREE)
    write(tmp_path, {"agent.py": ASK + FUNCTIONS + ALL})
    replayed = autochron(tmp_path, "replay", "last")
    assert replayed.status == 1
    assert b"refunded" not in replayed.out
