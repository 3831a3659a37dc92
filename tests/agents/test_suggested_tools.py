"""`rules --suggest` after a run with no rule for its tools: what it shows is enough for the next run to replay."""

import json

import pytest

from autochron.provider.script import Call, Script, Step
from tests.agents.unruled_cases import LEARNS
from tests.agents.workshop import assert_same

TURNS = Script(
    (
        Step(turn=0, calls=(Call.of("refund", order="48213", cents=500),)),
        Step(turn=1, calls=(Call.of("note", text="done"),)),
        Step(text="Done."),
    )
)

AGENT = """\
import json
import time

from openai import OpenAI

from shop.tools import TOOLS

def schema(name, *keys):
    parameters = {"type": "object", "properties": {key: {"type": "string"} for key in keys}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}

SCHEMAS = [schema("refund", "order", "cents"), schema("note", "text")]
messages = [{"role": "user", "content": "Pay back."}]
for _ in range(5):
    reply = OpenAI().chat.completions.create(model="m", messages=messages, tools=SCHEMAS).choices[0].message
    messages.append(reply)
    if not reply.tool_calls:
        print(reply.content)
        break
    for call in reply.tool_calls:
        given = json.loads(call.function.arguments)
        result = json.dumps(TOOLS[call.function.name](**given))
        print(result)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
started = time.time()
"""

SHOP = """\
def refund(order, cents):
    open("ran", "a").close()
    return {"order": order, "cents": cents}

class Log:
    def write(self, text):
        return {"text": text}

TOOLS = {"refund": refund, "note": Log().write}
"""

LEDGER = "def refund(order, cents):\n    return order\n\ndef refund_all(order):\n    return order\n"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "shop/tools.py").write_text(SHOP)
    return tmp_path


def record(runner, provider, folder):
    with provider.serve(script=TURNS) as model:
        return runner.run(folder, "run", "agent.py", model=model)


def suggested(runner, folder, *options):
    done = runner.run(folder, "rules", "--suggest", *options)
    assert done.status == 0, done.stderr
    return done.stdout.decode()


BLOCKING = "# A replay is refused: it would run these tools again. Give each a table, and record again.\n"
REFUND = """\
# refund: the model asked for it, and no crossing answers: shop/tools.py:1
[[boundary]]
name = "refund"
kind = "tool"
target = "shop.tools:refund"

"""
NOTE = """\
# note: the model asked for it, and no crossing answers; the project's source has no definition of that name; write \
MODULE and FUNCTION of the one that runs it
# [[boundary]]
# name = "note"
# kind = "tool"
# target = "MODULE:FUNCTION"

"""
MORE = (
    "1 more table for calls outside every boundary that nothing has shown to matter: --all shows it, and autochron impact "
    "last finds out which calls change the run\n"
)


def test_what_a_replay_is_refused_for_comes_first(home, forked, provider):
    record(forked, provider, home)
    assert forked.run(home, "replay", "last").status == 2
    assert suggested(forked, home) == (
        f"{BLOCKING}{REFUND}{NOTE}{MORE}1 table for autochron.toml; --yes writes them\n"
    )
    assert 'call = "time.time"' in suggested(forked, home, "--all")


def test_with_the_suggested_tables_the_next_run_replays(home, forked, provider):
    source = SHOP.replace(
        "class Log:\n    def write(self, text):\n        return", "def note(text):\n    return"
    )
    (home / "shop/tools.py").write_text(source.replace("Log().write", "note"))
    record(forked, provider, home)
    assert "2 tables written to autochron.toml" in suggested(forked, home, "--yes")
    shown = suggested(forked, home)
    assert "refund: a rule fits refund at shop/tools.py:1 by now; record again" in shown
    recorded = record(forked, provider, home)
    assert "(unwoven-tool)" not in recorded.stderr
    (home / "ran").unlink()
    assert_same(recorded, forked.run(home, "replay", "last"), 0)
    assert not (home / "ran").exists()
    assert "replay is refused" not in suggested(forked, home)


def test_several_definitions_are_listed_and_none_is_written(home, forked, provider):
    (home / "shop/ledger.py").write_text(LEDGER)
    record(forked, provider, home)
    of_tool = (
        "# refund: the model asked for it, and no crossing answers: shop/{file}.py:1 (one of 2 definitions that it may "
        "be)\n"
    )
    table = '# [[boundary]]\n# name = "refund"\n# kind = "tool"\n# target = "shop.{file}:refund"\n\n'
    listed = "".join((of_tool + table).format(file=file) for file in ("ledger", "tools"))
    assert suggested(forked, home, "--yes") == f"{BLOCKING}{listed}{NOTE}{MORE}"
    assert not (home / "autochron.toml").exists()


def test_a_helper_of_the_tools_name_that_returned_something_else_is_a_comment(home, forked, provider):
    """Its table would make a replay run the real tool, which is in the loop of the agent."""
    helper = "def refund(order, cents):\n    return 1\n\ndef note(text):\n    return 'noted'\n"
    (home / "shop/tools.py").write_text(f"{helper}TOOLS = {{'refund': refund, 'note': note}}\n")
    inline = "TOOLS[call.function.name](**given) and {'paid to': 'Ada', 'receipt': 'R-2217'}"
    (home / "agent.py").write_text(AGENT.replace("TOOLS[call.function.name](**given)", inline))
    recorded = record(forked, provider, home)
    assert (
        "refund (shop/tools.py:1) ran when the model asked for it, but the model got another result (other-result)"
        in " ".join(recorded.stderr.split())
    )
    shown = suggested(forked, home, "--yes")
    assert (
        "# refund: the model asked for it, and no crossing answers: shop/tools.py:1 (it ran, but the model got another "
        "result)\n"
        '# [[boundary]]\n# name = "refund"\n# kind = "tool"\n# target = "shop.tools:refund"\n' in shown
    )
    assert not (home / "autochron.toml").exists()
    assert forked.run(home, "replay", "last").status == 2


LOADED = "import sys\nprint('autochron.finding.finder' in sys.modules)\n"
RULED = """\
version = 1

[[boundary]]
name = "refund"
kind = "tool"
target = "shop.tools:refund"

[[boundary]]
name = "note"
kind = "tool"
target = "shop.tools:Log.note"
"""


@pytest.mark.parametrize(("rules", "expected"), [(RULED, "False"), (RULED.partition("[[")[0], "True")])
def test_tools_are_sought_only_if_one_has_no_rule(home, forked, provider, rules, expected):
    (home / "autochron.toml").write_text(rules)
    (home / "shop/tools.py").write_text(SHOP.replace("def write", "def note").replace(".write", ".note"))
    with (home / "agent.py").open("a") as file:
        file.write(LOADED)
    recorded = record(forked, provider, home)
    assert (recorded.status, recorded.stdout.decode().splitlines()[-1]) == (0, expected)
    assert ("(unwoven-tool)" in recorded.stderr) == (rules != RULED)


def test_calls_that_impact_found_harmful_come_before_the_others(home, forked, provider):
    record(forked, provider, home)
    report = home / "found.json"
    with provider.serve(script=TURNS) as model:
        forked.run(home, "run", "--report", "found.json", "agent.py", model=model)
    (finding,) = json.loads(report.read_bytes())["findings"]
    key = f"{finding['site']['file']}|{finding['site']['hash']}|{finding['call']}"
    known = {"version": 1, "sites": {key: {"trace": "T", "impact": "HARMFUL: changes the output"}}}
    (home / ".autochron/impact.json").write_text(json.dumps(known))
    shown = suggested(forked, home)
    harmful = "# The run changes with what these calls give (autochron impact).\n"
    assert shown.index(BLOCKING) < shown.index(harmful) < shown.index("# HARMFUL: changes the output\n")
    assert ("more table" in shown, "2 tables for autochron.toml" in shown) == (False, True)


def test_after_init_the_next_run_replays_with_no_rule_written_by_hand(home, forked, provider):
    source = SHOP.replace(
        "class Log:\n    def write(self, text):\n        return", "def note(text):\n    return"
    )
    (home / "shop/tools.py").write_text(source.replace("Log().write", "note"))
    record(forked, provider, home)
    done = forked.run(home, "init", "--store", ".autochron/traces.db")
    assert done.stdout.decode() == (
        "autochron.toml written, with 2 tools\n"
        "  note  shop/tools.py:5\n"
        "  refund  shop/tools.py:1\n"
        "  pack openai, which agent.py:4 imports the library of\n"
        "next:\n"
        "  autochron run agent.py\n"
        "  autochron replay last\n"
    )
    assert "# note: declared to the model in the latest run\n" in (home / "autochron.toml").read_text()
    recorded = record(forked, provider, home)
    assert_same(recorded, forked.run(home, "replay", "last"), 0)
    assert "it lacks nothing that was found" in forked.run(home, "init").stdout.decode()


LEAVING_OUT = """\
version = 1

[[boundary]]
name = "{__name__}"
kind = "tool"
define = ["nowhere:*", "shop.tools:*"]
"""

METHODS = """\
import time

class Desk:
    def refund(self, order, cents):
        return {"order": order, "cents": cents}

    def note(self, text):
        return self._stamp(text)

    def _stamp(self, text):
        time.time()
        return {"text": text}

    def opened(self):
        return time.time()

    def unused(self):
        return time.time()

DESK = Desk()
DESK.opened()
TOOLS = {"refund": DESK.refund, "note": DESK.note}
"""


def test_methods_that_were_called_and_that_a_glob_leaves_out_are_named_with_the_pattern_that_takes_them(
    home, forked, provider
):
    (home / "shop/tools.py").write_text(METHODS)
    (home / "autochron.toml").write_text(LEAVING_OUT)
    said = record(forked, provider, home).stderr
    lines = [line.strip() for line in said.splitlines() if "(methods-left-out)" in line]
    reason = (
        "`shop.tools:*` (autochron.toml:3) fits its module, but it leaves out methods; write `shop.tools:**`"
    )
    assert lines == [
        f"Desk.opened (shop/tools.py:15) is no boundary, and calls time.time: {reason} (methods-left-out)",
        f"Desk.refund (shop/tools.py:4) is no boundary, and the model asked for refund: {reason} (methods-left-out)",
        f"Desk.note (shop/tools.py:7) is no boundary, and the model asked for note: {reason} (methods-left-out)",
    ]
    assert "nowhere:*: autochron.toml:3: it fits no definition" in said
    explained = forked.run(home, "rules", "--explain", "shop/tools.py:4").stdout.decode()
    assert "Desk.refund doesn't fit `*`; it leaves out methods; write `shop.tools:**`" in explained
    (home / "autochron.toml").write_text(LEAVING_OUT.replace("tools:*", "tools:**"))
    recorded = record(forked, provider, home)
    assert "(methods-left-out)" not in recorded.stderr
    assert_same(recorded, forked.run(home, "replay", "last"), 0)


DESK = """\
def refund(order, cents):
    return order

class Desk:
    def tool_refund(self, order, cents):
        open("ran", "a").close()
        return {"paid": "Ada Lovelace", "receipt": "R-2217"}

    def tool_note(self, text):
        return {"noted": "at noon, by the porter"}

    def __getitem__(self, name):
        return getattr(self, "tool_" + name)

TOOLS = Desk()
"""
HELPER = """\
[[boundary]]
name = "refund"
kind = "tool"
target = "shop.tools:refund"
"""


def test_a_helper_of_the_tools_name_that_did_not_run_is_a_comment(home, forked, provider):
    (home / "shop/tools.py").write_text(DESK)
    recorded = record(forked, provider, home)
    ran = " ".join(recorded.stderr.split())
    assert (
        "refund (shop/tools.py:1) has its name, and did not run when the model asked for it (not-called)"
        in ran
    )
    shown = suggested(forked, home, "--yes")
    assert (
        "# refund: the model asked for it, and no crossing answers: shop/tools.py:1 (it did not run, and "
        "the project makes the name of another function from the tool's)\n# [[boundary]]\n" in shown
    )
    assert 'target = "shop.tools:refund"' not in (home / "autochron.toml").read_text() if LEARNS else True
    assert forked.run(home, "replay", "last").status == 2


def test_a_rule_for_a_helper_that_does_not_run_is_no_reason_to_record_again(home, forked, provider):
    """The real tool has a name that is built from the tool's, so the call was not declined."""
    (home / "shop/tools.py").write_text(DESK)
    (home / "autochron.toml").write_text(f"version = 1\n{HELPER}")
    recorded = record(forked, provider, home)
    assert "the model asked for refund, and no boundary is known to cover it" in recorded.stderr
    shown = suggested(forked, home)
    assert "record again\n" not in shown.replace("and record again.\n", "")
    assert (
        "# refund: the model asked for it, and no crossing answers; refund at shop/tools.py:1 has a rule and did not run for "
        "it; write MODULE and FUNCTION of the one that runs it\n"
        '# [[boundary]]\n# name = "refund"\n# kind = "tool"\n# target = "MODULE:FUNCTION"\n' in shown
    )
    assert forked.run(home, "replay", "last").status == 2


LAMBDAS = ('lambda order, cents: {"paid": "Ada"}', 'lambda text: {"noted": "at noon"}')


def test_lambdas_on_one_line_are_to_be_separated(home, forked, provider):
    refund, note = LAMBDAS
    (home / "shop/tools.py").write_text(f'TOOLS = {{"refund": {refund}, "note": {note}}}\n')
    recorded = record(forked, provider, home)
    remedy = "put each in a line of its own, or use `def`"
    told = f"shop/tools.py:1 has two lambdas, so neither is taken for it: {remedy}"
    assert f"not woven: refund: {told} (ambiguous-tool)" in " ".join(recorded.stderr.split())
    assert f"# refund: the model asked for it, and no crossing answers; {told}; write MODULE" in suggested(
        forked, home
    )
    assert forked.run(home, "replay", "last").status == 2


def test_a_lambda_that_is_found_gets_no_table(home, forked, provider):
    refund, note = LAMBDAS
    (home / "shop/tools.py").write_text(f'TOOLS = {{\n"refund": {refund},\n"note": {note}}}\n')
    recorded = record(forked, provider, home)
    shown = suggested(forked, home, "--yes")
    assert (
        "# refund: found by name in the latest run: shop/tools.py:2, a lambda, which a table can't name: use `def`\n"
        '# [[boundary]]\n# name = "refund"\n# kind = "tool"\n# target = "shop.tools:FUNCTION"\n' in shown
    )
    assert not (home / "autochron.toml").exists()
    assert_same(recorded, forked.run(home, "replay", "last"), 0)


@pytest.mark.skipif(not LEARNS, reason="needs Python 3.12, which sees the lambdas run")
def test_lambdas_that_ran_on_one_line_are_to_be_separated(home, forked, provider):
    (home / "shop/tools.py").write_text(
        f"FUNCTIONS = [{', '.join(LAMBDAS)}]\n\nclass Table:\n    def __getitem__(self, name):\n"
        '        return FUNCTIONS[["refund", "note"].index(name)]\n\nTOOLS = Table()\n'
    )
    record(forked, provider, home)
    assert "no crossing answers; shop/tools.py:1 has two lambdas" in suggested(forked, home)
    assert forked.run(home, "replay", "last").status == 2
