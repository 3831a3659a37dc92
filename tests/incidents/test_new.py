"""`autochron incident new`: what it writes and what it refuses. Its test is red before the fix and green after it."""

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import sys
import time

import pytest
import tomli

import autochron
from autochron.errors import NotCrossedError, ReproducedError
from autochron.rules.loading import load_rules
from autochron.store import open_store
from autochron.store.tracefile import read_trace, write_trace
from tests.cli.processes import agreed, finish, python, start, write
from tests.cli.processes import autochron as command
from tests.incidents.verdicts import PLUGINS

pytestmark = pytest.mark.slow

SHOP = """
import json
import sys

def price(item):
    return {"item": item, "cents": 250}

def charge(item, cents):
    return {"item": item, "charged": cents * 100}

def main():
    found = price("mug")
    print(json.dumps(charge(**found)))

if __name__ == "__main__":
    main()
"""
RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "shop:*"\nexclude = ["main"]\n'
GUARDED = SHOP.replace('"charged": cents * 100', '"charged": cents')


@pytest.fixture
def shop(tmp_path):
    """Return a folder with a small program and its rules."""
    write(tmp_path, {"shop.py": SHOP, "autochron.toml": RULES})
    return tmp_path


def record(folder, *words, status=0):
    done = command(folder, "run", *(words or ("shop.py",)))
    assert done.status == status, done.said


def new(folder, *words, status=0, env=PLUGINS):
    done = agreed(folder, "incident", "new", *words, env=env)
    assert done.status == status, done.text + done.said
    return done.said if status == 2 else done.text


def run_test(folder, place, **env):
    words = ("-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", place)
    done = python(folder, *words, env=PLUGINS | env)
    return done.status, done.text


@pytest.fixture
def copied(shop, tmp_path_factory):
    """Return a function that makes an incident `x` of a program, and returns the report.

    All tests, also those of other workers, get copies of the one that was made first.
    """
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared

    def make(source, *words, status=0):
        place = shared / f"incident-{hashlib.sha256(repr((source, words)).encode()).hexdigest()}"
        report = place.with_suffix(".txt")
        with open(place.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not report.exists():
                shutil.rmtree(place, ignore_errors=True)  # what a test left that failed here
                write(place, {"shop.py": source, "autochron.toml": RULES})
                record(place, status=status)
                report.write_text(new(place, "last", *words, "x"), encoding="utf-8")
        shutil.copytree(place, shop, dirs_exist_ok=True)
        return report.read_text("utf-8")

    return make


@pytest.fixture
def new_and_red(request):
    """Return a function that makes an incident, sees that its test fails as it should, and returns the report.

    A trial runs the test four times. Without `--thorough` it is run once, after `incident new --no-try`.
    """

    def make(folder, *words):
        if request.config.getoption("--thorough"):
            report = new(folder, *words)
            assert "fails as it should" in report
            return report
        report = new(folder, "--no-try", *words)
        status, text = run_test(folder, words[-1])
        assert (status, "1 failed" in text, "ReproducedError" in text) == (1, True, True), text
        return report

    return make


# --- from red to green -----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_demos_incident_is_red_until_the_guard_is_in(project):
    report = new(project, "refund.jsonl", "incidents/refund")
    assert "incidents/refund/test_refund.py fails as it should on today's code:" in report
    assert "issue_refund[1] (issue_refund, tools.py:36)" in report
    status, text = run_test(project, "incidents/refund")
    assert (status, "ReproducedError: all 3 live crossings did again" in text) == (1, True)
    tools = project / "tools.py"
    refund = "    refund = Refund(order_id"
    guard = '    if amount_cents > order["paid_cents"]:\n        return {"blocked": True}\n'
    tools.write_text(tools.read_text("utf-8").replace(refund, guard + refund), encoding="utf-8")
    assert run_test(project, "incidents/refund")[0] == 0


@pytest.mark.thorough
def test_the_named_crossing_has_to_change(shop):
    record(shop)
    report = new(shop, "last", "--live", "charge[1]", "incidents/charge")
    assert "charge[1] did again what it did in the incident:" in report
    assert 'it was given cents: 250, item: "mug"' in report
    assert 'and gave {item: "mug", charged: 25000}' in report
    line = 1 + SHOP[: SHOP.index("def charge")].count("\n")
    assert f"the fix goes into charge, shop.py:{line}, or into what calls it" in report
    write(shop, {"shop.py": SHOP.replace('"cents": 250', '"cents": 251')})
    assert run_test(shop, "incidents/charge")[0] == 1  # only `price` has changed, and it is served
    write(shop, {"shop.py": GUARDED})
    assert run_test(shop, "incidents/charge")[0] == 0


def test_the_test_passes_if_the_crossing_no_longer_happens(shop):
    record(shop)
    new(shop, "last", "--no-try", "incidents/charge")
    new(shop, "last", "--no-try", "--live", "charge[1]", "incidents/reached")
    write(shop, {"shop.py": SHOP.replace("print(json.dumps(charge(**found)))", 'print("no")')})
    assert run_test(shop, "incidents/charge")[0] == 0
    # Code upstream has changed, so the named crossing is no longer reached.
    assert run_test(shop, "incidents/reached")[0] == 0
    write(shop, {"shop.py": SHOP})
    status, text = run_test(shop, "incidents/reached")
    assert (status, "ReproducedError" in text) == (1, True)


def test_modules_arguments_and_folder_names_with_special_characters(shop, new_and_red):
    record(shop, "-m", "shop", "a b", 'c"d`e')
    new(shop, "last", "it's/the one")
    assert os.listdir(shop / "it's") == ["the one"]
    record(shop, "shop.py", "a b", 'c"d`e')
    new_and_red(shop, "last", "it's/the other")
    assert sorted(os.listdir(shop / "it's")) == ["the one", "the other"]
    status, text = run_test(shop, "it's/the one/test_the_one.py")
    assert (status, "ReproducedError" in text) == (1, True), text


def test_a_program_that_failed_has_to_end_well(shop):
    broken = SHOP.replace("charge(**found)", 'charge(**found)["total"]')
    write(shop, {"shop.py": broken})
    record(shop, status=1)
    report = new(shop, "last", "incidents/total")
    assert "the program ended with status 1; in the incident with 1. It said last:" in report
    assert "KeyError: 'total'" in report
    assert "This fails while the program fails." in (shop / "incidents/total/README.md").read_text("utf-8")
    write(shop, {"shop.py": GUARDED})
    assert run_test(shop, "incidents/total")[0] == 0


OWN_ERROR = SHOP.replace("import sys\n", "import sys\n\nclass UsageError(Exception):\n    pass\n").replace(
    "main()\n", "main()\n    raise UsageError('no total')\n"
)


def test_an_error_of_the_programs_own_with_the_name_of_one_of_ours_is_a_failure_again(shop):
    write(shop, {"shop.py": OWN_ERROR})
    record(shop, status=1)
    new(shop, "last", "--no-try", "x")
    status, text = run_test(shop, "x")
    assert (status, "ReproducedError: the program ended with status 1" in text) == (1, True), text
    assert "the program ended with status 1; in the incident with 1. It said last:" in text


GOES_ON = SHOP.replace("def main", "def thank():\n    return 1\n\ndef main").replace(
    "charge(**found)))", "charge(**found)))\n    thank()"
)


@pytest.mark.parametrize(
    "thanks",
    [
        "thank()",
        "try:\n        thank()\n    except Exception as error:\n        raise KeyError('thanks') from error",
        "try:\n        thank()\n    except Exception as error:\n        raise ExceptionGroup('thanks', [error]) from None",
    ],
)
def test_a_program_that_goes_on_past_the_record_is_inconclusive(shop, copied, thanks):
    ends_early = '    item.total\n    return {"item": item, "charged"'
    copied(GOES_ON.replace('    return {"item": item, "charged"', ends_early), "--live", "charge", status=1)
    write(shop, {"shop.py": GOES_ON.replace("    thank()", f"    {thanks}")})
    status, text = run_test(shop, "x")
    assert (status, "InconclusiveError: the replay stopped the program" in text) == (1, True), text


@pytest.mark.thorough
def test_a_block_waits_for_the_call_of_the_agent(shop):
    write(shop, {"block.py": 'import autochron, shop\nwith autochron.record("b"):\n    shop.main()\n'})
    assert python(shop, "block.py").status == 0
    report = new(shop, "b", "incidents/b")
    assert "incidents/b/test_b.py fails, and waits for you:" in report
    assert "call the agent here as it was called when this was recorded: test_b.py, in test_b" in report
    file = shop / "incidents/b/test_b.py"
    text = re.sub(r"    pytest\.fail\(.*\n", "    shop.main()\n", file.read_text("utf-8"))
    write(
        shop,
        {
            "conftest.py": "",
            "incidents/b/test_b.py": text.replace("import pytest", "import pytest\nimport shop"),
        },
    )
    done = python(shop, "-m", "pytest", "-q", "-p", "no:cacheprovider", "incidents/b")
    assert (done.status, "ReproducedError: all 2 live crossings did again" in done.text) == (1, True)
    write(shop, {"shop.py": GUARDED})
    done = python(shop, "-m", "pytest", "-q", "-p", "no:cacheprovider", "incidents/b")
    assert done.status == 0, done.text


# --- what is written ---------------------------------------------------------------------------------------------------


def test_the_folder_has_all_its_files(shop):
    record(shop)
    new(shop, "last", "--live", "kind:tool", "--inputs", "warn", "--no-try", "incidents/charge")
    folder = shop / "incidents" / "charge"
    assert sorted(os.listdir(folder)) == [
        "README.md",
        "autochron.toml",
        "baseline.json",
        "test_charge.py",
        "trace.jsonl",
    ]
    assert read_trace(str(folder / "trace.jsonl")) == open_store(str(shop / ".autochron/traces.db")).load(
        "last"
    )
    rules = load_rules(folder / "autochron.toml")
    assert (rules.root, rules.digest) == (str(shop), load_rules(shop / "autochron.toml").digest)
    assert (
        '"trace.jsonl", live="kind:tool", inputs="warn", deny="network,subprocess")'
        in (folder / "test_charge.py").read_text()
    )
    readme = (folder / "README.md").read_text("utf-8")
    assert "`autochron run shop.py` was recorded on `" in readme
    assert f"with Python `{platform.python_version()}` and autochron `{autochron.__version__}`" in readme
    assert re.findall(r"^\| `(.*?)` \|", readme, re.MULTILINE) == [
        "trace.jsonl",
        "autochron.toml",
        "test_charge.py",
        "baseline.json",
    ]
    assert '├─ price[1] tool  item: "mug" → {item: "mug", cents: 250}' in readme
    suspect = '- `charge[1]`: `charge`, `shop.py:8`. It was given `cents: 250, item: "mug"` and gave `{'
    assert suspect in readme
    assert "--live kind:tool --swap shop.py:price=fix.py:price" in readme
    assert max(map(len, (folder / "test_charge.py").read_text("utf-8").splitlines())) <= 100


def test_contents_of_snapshots_are_listed_with_the_files(shop):
    appends = 'open("log", "a").write(item)\n    return {"item": item, "charged"'
    write(shop, {"shop.py": SHOP.replace('return {"item": item, "charged"', appends), "log": "jug\n"})
    record(shop)
    done = agreed(shop, "incident", "new", "last", "--no-try", "--with-snapshots", "--json", "x")
    files = json.loads(done.text)["files"]
    assert sorted(name.rstrip("/") for name in files) == sorted(os.listdir(shop / "x"))
    assert files[-1] == "trace.snapshots/"
    readme = (shop / "x/README.md").read_text("utf-8")
    assert re.findall(r"^\| `(.*?)` \|", readme, re.MULTILINE) == [
        "trace.jsonl",
        "autochron.toml",
        "test_x.py",
        "baseline.json",
        "trace.snapshots/",
    ]


def test_the_command_of_the_readme_works(shop):
    record(shop)
    new(shop, "last", "--live", "charge[1]", "--no-try", "incidents/charge")
    write(shop, {"fix.py": "def charge(item, cents):\n    return {'item': item, 'charged': cents}\n"})
    readme = (shop / "incidents/charge/README.md").read_text("utf-8")
    (line,) = re.findall(r"^\$ autochron (replay .*)$", readme, re.MULTILINE)
    done = command(shop, *line.replace("'", "").split())
    assert (done.status, done.text) == (0, '{"item": "mug", "charged": 250}\n')


@pytest.mark.parametrize(
    "files",
    [
        {"autochron.toml": "# ours\n" + RULES.replace("version = 1\n", 'version = 1\nproject = ["."]\n')},
        {
            "pyproject.toml": '[project]\nname = "shop"\n\n[tool.autochron]\n'
            + RULES.replace("[[", "[[tool.autochron.")
        },
        {"rules/autochron.toml": 'root = ".."\n' + RULES},
        {},
    ],
    ids=["autochron.toml", "pyproject.toml", "with a root", "none"],
)
def test_the_incidents_rules_mean_the_same_as_the_projects(tmp_path, new_and_red, files):
    marked = SHOP.replace("def charge", "import autochron\n\n@autochron.boundary\ndef charge")
    write(tmp_path, {"shop.py": SHOP if files else marked, **files})
    options = ("--rules", next(iter(files))) if files else ()
    record(tmp_path, *options, "--store", "t.db", "shop.py")
    words = ("last", *options, "--store", "t.db", "a/b")
    if "rules/autochron.toml" in files:  # where the folder of the rules is not the root
        report = new(tmp_path, *words)
        assert "fails as it should" in report
    else:
        report = new_and_red(tmp_path, *words)
    assert "rules-changed" not in report
    text = (tmp_path / "a/b/autochron.toml").read_text("utf-8")
    assert tomli.loads(text)["root"] == "../.."
    assert ("# ours" in text) == ("autochron.toml" in files)
    assert load_rules(tmp_path / "a/b/autochron.toml").root == str(tmp_path)


@pytest.mark.thorough
def test_an_incident_can_be_made_from_an_incidents_trace(shop):
    record(shop)
    new(shop, "last", "--no-try", "incidents/one")
    report = new(shop, "incidents/one/trace.jsonl", "--live", "charge[1]", "two")
    assert "two/test_two.py fails as it should" in report
    assert load_rules(shop / "two/autochron.toml").root == str(shop)


def test_rules_that_have_changed_since_are_reported(shop, new_and_red):
    record(shop)
    write(shop, {"autochron.toml": RULES.replace('"main"', '"main", "nothing"')})
    report = new_and_red(shop, "last", "incidents/charge")
    assert "the trace was not recorded with the rules that autochron.toml holds today" in report


# --- what is not claimed -------------------------------------------------------------------------------------------------


def test_a_field_that_varies_from_run_to_run_is_volatile_in_the_test(shop, request):
    write(shop, {"shop.py": SHOP.replace('"charged": cents * 100', '"charged": __import__("os").getpid()')})
    record(shop)
    report = new(shop, "last", "--live", "charge[1]", "incidents/charge")
    assert "varies, and tells nothing: charge[1].outcome.charged (another in each run: " in report
    text = (shop / "incidents/charge/test_charge.py").read_text()
    assert re.search(
        r'    volatile=\[\n        "charge\[1\].outcome.charged",  # another in each run: \d+, \d+, \d+\n    \],\n',
        text,
    )
    times = 2 if request.config.getoption("--thorough") else 1  # the trial has run it once, too
    assert [run_test(shop, "incidents/charge")[0] for _ in range(times)] == [1] * times
    write(shop, {"shop.py": GUARDED.replace('"item": item, "charged": cents', '"refused": item')})
    assert run_test(shop, "incidents/charge")[0] == 0


def test_a_tool_that_needs_the_network_is_denied_it(shop):
    reaches = """def charge(item, cents):
    import socket
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
"""
    write(shop, {"shop.py": SHOP.replace("def charge(item, cents):\n", reaches)})
    record(shop)
    report = new(shop, "last", "incidents/charge", status=1)
    assert "fails on today's code, and does not show the incident:" in report
    assert "charge[1] reaches for 127.0.0.1" in report
    assert "leave network out of what is denied" in report


WITHOUT_PYTEST = """
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "pytest" else real(name, *more)
from autochron.cli import main
main(["incident", "new", "last", "x"])
"""


def test_without_pytest_nothing_is_claimed(shop):
    record(shop)
    done = python(shop, "-c", WITHOUT_PYTEST)
    expected = "pytest is not installed here, so nobody has seen the test fail yet"
    assert (done.status, expected in done.text) == (0, True)
    status, text = run_test(shop, "x")
    assert (status, "ReproducedError" in text) == (1, True)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(option, marks=pytest.mark.thorough)
        for option in ("-n 1", "--lf --strict-config --maxfail=1")
    ],
)
def test_the_projects_pytest_options_apply(shop, options):
    lines = (
        "[tool.pytest.ini_options]",
        f'addopts = "{options}"',
        'cache_dir = ".cache"',
        'filterwarnings = ["error"]',
    )
    ini = "\n".join((*lines, 'asyncio_default_fixture_loop_scope = "function"\n'))
    write(shop, {"pyproject.toml": ini})
    record(shop)
    assert "fails as it should" in new(shop, "last", "incidents/charge", env=None)
    write(shop, {"shop.py": GUARDED})
    report = new(shop, "last", "incidents/again", status=1, env=None)
    assert "fails on today's code, and does not show the incident:" in report


def test_a_test_that_cannot_be_run_is_reported_as_broken(shop):
    record(shop)
    write(shop, {"conftest.py": "raise RuntimeError('no tests here')\n"})
    report = new(shop, "last", "incidents/charge", status=1)
    assert "does not fail as it should on today's code:" in report
    assert "no tests here" in report


# --- what is refused -------------------------------------------------------------------------------------------------------


def test_invalid_folders_traces_and_options_are_refused(shop):
    record(shop)
    write(shop, {"full/there": "", "file": ""})
    refusals = {
        (
            "last",
            "full",
        ): "full is there already and holds there; name a folder that is not there yet (usage)",
        ("last", "file"): "file is a file; name a folder that is not there yet (usage)",
        ("last", "file/below"): "file/below can't be made",
        ("nosuch", "x"): "(no-such-trace)",
        (
            "last",
            "--live",
            "chargé",
            "x",
        ): "live chargé: the trace has no crossing chargé; did you mean charge?",
        (
            "last",
            "--live",
            "kind:model",
            "x",
        ): "the trace has no crossing of kind model; it has tool (bad-plan)",
        ("last", "--inputs", "often", "x"): "--inputs is often; known are",
        ("last",): "autochron incident new wants a trace and a folder after it",
        (
            "last",
            "x",
            "--lve",
            "y",
        ): "autochron incident new has no option --lve; did you mean --live? (usage)",
    }
    errors = {words: new(shop, *words, status=2) for words in refusals}
    assert {words: text for words, text in errors.items() if refusals[words] not in text} == {}
    assert not (shop / "x").exists()
    assert os.listdir(shop / "full") == ["there"]
    assert "it does new" in command(shop, "incident", "old").said


def test_a_trace_without_tools_needs_live_crossings_to_be_named(shop, new_and_red):
    write(shop, {"autochron.toml": RULES.replace('kind = "tool"', 'kind = "router"')})
    record(shop)
    assert new(shop, "last", "x", status=2) == (
        "autochron: live kind:tool: the trace has no crossing of kind tool; it has router; say with --live what is to run for"
        " real (bad-plan)\n"
    )
    new_and_red(shop, "last", "--live", "kind:router", "x")


def test_a_trace_that_was_cut_off_is_refused(shop):
    record(shop)
    trace = open_store(str(shop / ".autochron/traces.db")).load("last")
    write_trace(type(trace)(trace.header, trace.envelopes, None), str(shop / "cut.jsonl"))
    assert "was cut off before its end" in new(shop, "cut.jsonl", "x", status=2)
    assert not (shop / "x").exists()


def test_tools_that_no_rule_weaves_are_refused(project):
    rules = project / "autochron.toml"
    text = rules.read_text("utf-8")
    rules.write_text(text + 'exclude = ["issue_refund"]\n', encoding="utf-8")
    error = new(project, "refund.jsonl", "x", status=2)
    assert (
        "issue_refund (tools.py:issue_refund) crossed a boundary when it was recorded, and by today's rules"
        in error
    )
    assert "or say --allow-unwoven" in error
    trace = read_trace(str(project / "refund.jsonl"))
    footer = type(trace.footer)(status=0, unwoven_tools=("issue_refund",))
    write_trace(type(trace)(trace.header, trace.envelopes, footer), str(project / "unwoven.jsonl"))
    error = new(project, "unwoven.jsonl", "x", status=2)
    assert "the model asked for issue_refund, which no crossing answers" in error
    assert "or say --allow-unwoven" in error
    assert not (project / "x").exists()


ASKING = """
def ask():
    return {"calls": [
        {"name": "price", "arguments": {"item": "mug"}},
        {"name": "charge", "arguments": {"item": "mug", "cents": 250}},
        {"name": "notify", "arguments": {"text": "Done."}},
    ]}

def price(item):
    return {"item": item, "cents": -250}

def charge(item, cents):
    return {"item": item, "charged": cents}

def notify(text):
    print(text)

TOOLS = {"price": price, "charge": charge, "notify": notify}

if __name__ == "__main__":
    first = ask()["calls"][0]
    print(TOOLS[first["name"]](**first["arguments"]))
"""
ASKED = 'version = 1\npacks = []\n\n[[boundary]]\nname = "agent"\nkind = "model"\ntarget = "shop:ask"\n'
ASKED += 'meta = { tools = ["outcome.calls.*.name"] }\n\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\n'


def test_a_run_with_declined_calls_needs_no_allow_unwoven(tmp_path, new_and_red):
    rules = ASKED + 'target = ["shop:price", "shop:charge", "shop:notify"]\n'
    write(tmp_path, {"shop.py": ASKING, "autochron.toml": rules})
    record(tmp_path)
    new_and_red(tmp_path, "last", "incidents/declined")
    text = (tmp_path / "incidents/declined/test_declined.py").read_text("utf-8")
    assert "allow_unwoven" not in text


def test_allow_unwoven_is_written_into_the_test_with_its_reason(tmp_path):
    rules = ASKED + 'target = ["shop:price", "shop:charge"]\n'
    write(tmp_path, {"shop.py": ASKING, "autochron.toml": rules})
    record(tmp_path)
    error = new(tmp_path, "last", "incidents/asked", status=2)
    assert "the model asked for notify, which no crossing answers" in error
    assert "charge" not in error
    assert "fails as it should" in new(tmp_path, "last", "--allow-unwoven", "incidents/asked")
    text = (tmp_path / "incidents/asked/test_asked.py").read_text("utf-8")
    assert (
        '    "trace.jsonl",\n    live="kind:tool",\n    deny="network,subprocess",\n    allow_unwoven=True,\n'
        in text
    )
    why = "allow_unwoven: the test may run notify for real, for no boundary is known to cover it."
    assert f"\n    # {why}\n" in text


def test_an_empty_folder_is_used(shop):
    record(shop)
    (shop / "x").mkdir()
    new(shop, "last", "--no-try", "x")
    assert len(os.listdir(shop / "x")) == 5


def test_force_replaces_an_incident_unless_its_files_were_changed(shop):
    record(shop)
    new(shop, "last", "--no-try", "x")
    assert "x is there already and holds an incident" in new(shop, "last", "--no-try", "x", status=2)
    write(shop, {"x/fix.py": "mine"})
    new(shop, "last", "--no-try", "--force", "x")
    assert ((shop / "x/fix.py").read_text(), len(os.listdir(shop / "x"))) == ("mine", 6)
    write(shop, {"x/test_x.py": "edited"})
    error = new(shop, "last", "--no-try", "--force", "x", status=2)
    assert (
        "x has test_x.py, changed since the incident was made; move that away, or name another folder"
        in error
    )
    assert (shop / "x/test_x.py").read_text() == "edited"


def test_attempts_that_are_interrupted_or_on_fixed_code_say_so_and_do_not_block_the_next_one(shop):
    record(shop)
    words = (sys.executable, "-m", "autochron", "incident", "new", "last", "x")
    process = start(words, shop, env=PLUGINS, start_new_session=True)
    while not (shop / "x" / "baseline.json").exists():  # written just before the test is tried
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    done = finish(process)
    assert (done.status, done.said) == (130, "autochron: interrupted\n")
    write(shop, {"shop.py": GUARDED})
    report = new(shop, "last", "x", status=1)
    assert "fails on today's code, and does not show the incident:" in report
    assert (
        "charge[1].outcome.charged is 250 in each run of today's code, and was 25000 in the incident"
        in report
    )
    write(shop, {"shop.py": SHOP})
    assert "fails as it should" in new(shop, "last", "x")


def test_a_damaged_baseline_is_reported(shop):
    record(shop)
    new(shop, "last", "--no-try", "x")
    write(shop, {"x/baseline.json": "{"})
    status, text = run_test(shop, "x")
    assert (status, "baseline.json can't be read" in text, "--force" in text) == (1, True, True)


BANK = """
import json

ACCOUNTS = {"ann": 40, "bo": 10}

def balance(account):
    return ACCOUNTS[account]

def transfer(source, target, cents):
    ACCOUNTS[source] -= cents
    ACCOUNTS[target] += cents
    return {"moved": cents}

def main():
    print(balance("ann"))
    print(json.dumps(transfer("ann", "bo", 4000)))

if __name__ == "__main__":
    main()
"""
ASKS = BANK.replace(
    "    ACCOUNTS[source] -= cents",
    '    if balance(source) < cents:\n        raise ValueError("not that much")\n    ACCOUNTS[source] -= cents',
)


@pytest.mark.parametrize("live", ["kind:tool", "transfer[1]"])
def test_a_fix_may_call_another_tool(shop, copied, live):
    report = copied(BANK, "--live", live)
    assert report.count("did this: shop.py:ACCOUNTS: changed at ann: after: -3960, before: 40") == 1
    assert report.count("ACCOUNTS: changed at ann") == 1  # and no note of the trial repeats it
    write(shop, {"shop.py": ASKS})
    status, text = run_test(shop, "x")
    assert status == 0, text
    served = "was not recorded inside transfer[1], and was served what balance[1] gave"
    done = agreed(shop, "replay", "last", "--live", live)
    assert (served in done.said) is (live != "kind:tool")
    assert "balance[2]" in done.said


def test_a_renamed_tool_is_reported_as_such(shop, copied):
    copied(BANK, "--live", "kind:tool")
    write(shop, {"shop.py": ASKS.replace("transfer(", "move_money(")})
    status, text = run_test(shop, "x")
    assert (status, "ReproducedError" in text) == (1, False)
    assert "transfer (shop.py:transfer) crossed a boundary when it was recorded" in text
    assert "if it was renamed or moved, give the new function's [[boundary]] the recorded name" in text


PASSES_ERRORS_ON = BANK.replace(
    '    print(json.dumps(transfer("ann", "bo", 4000)))',
    """    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor(1) as pool:  # a library calls the tool, and passes its error on as an answer
        called = pool.submit(transfer, source="ann", target="bo", cents=4000)
        print(called.exception() or called.result())""",
)


@pytest.mark.parametrize(
    ("parameters", "misfit"),
    [
        ("source, target, cents, approver", "approver has no default"),
        ("source, target, amount=0", "it has no parameter cents"),
        *(
            pytest.param(parameters, misfit, marks=pytest.mark.thorough)
            for parameters, misfit in (
                ("source, target, cents, *, approver", "approver has no default"),
                ("source, target, amount", "amount has no default"),
                ("source, target", "it has no parameter cents"),
            )
        ),
    ],
)
def test_a_fix_that_cannot_be_called_as_before_is_inconclusive(shop, copied, parameters, misfit):
    copied(PASSES_ERRORS_ON)
    write(
        shop,
        {"shop.py": PASSES_ERRORS_ON.replace("transfer(source, target, cents)", f"transfer({parameters})")},
    )
    status, text = run_test(shop, "x")
    assert (status, "ReproducedError" in text) == (1, False)
    assert f"transfer[1] can't be called as it was in the incident: {misfit};" in text


def test_a_crash_that_a_fix_catches_itself_is_inconclusive(shop, copied):
    copied(BANK, "--live", "transfer[1]")
    broken = """    try:
        limit = json.loads(open("limits.json").read())
    except (OSError, ValueError):
        return {"moved": 0}
    cents = min(cents, limit)
    ACCOUNTS[source] -= cents"""
    write(shop, {"shop.py": BANK.replace("    ACCOUNTS[source] -= cents", broken)})
    status, text = run_test(shop, "x")
    assert (status, "the program caught a crash itself: FileNotFoundError: " in text) == (1, True)
    write(shop, {"limits.json": "{"})
    status, text = run_test(shop, "x")
    assert (status, "the program caught a crash itself: JSONDecodeError: " in text) == (1, True)
    write(shop, {"limits.json": "10"})
    status, text = run_test(shop, "x")
    assert status == 0, text


ENDS_ABRUPTLY = {
    "os.kill(os.getpid(), signal.SIGKILL)": "the program was killed by SIGKILL, so nothing is known of what it did",
    "while True: time.sleep(1)": (
        "the program had not ended after 3 s, far longer than the recorded run took, and was stopped"
    ),
}


@pytest.mark.parametrize("ending", ENDS_ABRUPTLY)
def test_a_fix_that_ends_the_program_or_never_ends_is_inconclusive(shop, copied, tmp_path_factory, ending):
    copied(BANK, "--live", "kind:tool")
    write(
        shop,
        {
            "shop.py": BANK.replace(
                "    ACCOUNTS[source] -= cents", f"    import os, signal, time\n    {ending}"
            )
        },
    )
    temporary = tmp_path_factory.mktemp("tmp")
    status, text = run_test(shop, "x", AUTOCHRON_LIMIT="3", TMPDIR=str(temporary))
    assert (status, f"InconclusiveError: {ENDS_ABRUPTLY[ending]}" in text) == (1, True), text
    assert os.listdir(temporary) == []


LATER = {
    "threading.Timer(0.2, _move, (source, target, cents)).start()": (
        "what transfer[1] did in the incident is done outside of it"
    ),
    "threading.Thread(target=_move, args=(source, target, cents), daemon=True).start()": (
        "transfer[1] left the thread _move running"
    ),
}


@pytest.mark.parametrize("start_later", LATER)
def test_a_fix_that_does_the_same_later_is_not_green(shop, copied, start_later):
    copied(BANK, "--live", "transfer[1]")
    later = f"""def _move(source, target, cents):
    import time
    time.sleep(0.2)
    ACCOUNTS[source] -= cents

def transfer(source, target, cents):
    import threading
    {start_later}
    return {{"moved": 0}}
"""
    text = BANK[: BANK.index("def transfer")] + later + BANK[BANK.index("\ndef main") :]
    write(shop, {"shop.py": text})
    status, text = run_test(shop, "x")
    assert (status, LATER[start_later] in text) == (1, True), text


def test_an_error_that_is_the_right_answer_can_be_named_in_the_test(shop, copied):
    copied(BANK, "--live", "kind:tool")
    write(shop, {"shop.py": BANK.replace("    ACCOUNTS[source] -= cents", "    cents.upper()")})
    status, text = run_test(shop, "x")
    assert (status, "transfer[1] crashed, which is no refusal: AttributeError" in text) == (1, True)
    file = shop / "x/test_x.py"
    file.write_text(file.read_text().replace('"transfer[1]")', '"transfer[1]", raises=AttributeError)'))
    assert run_test(shop, "x")[0] == 0


# --- assertions ------------------------------------------------------------------------------------------------------------


def test_assert_not_reproduced_takes_the_names_of_crossings(shop, monkeypatch):
    record(shop)
    monkeypatch.syspath_prepend(str(shop))
    monkeypatch.chdir(shop)
    sys.modules.pop("shop", None)
    import shop as module

    try:
        with autochron.replay("last", live="kind:tool") as replay:
            module.main()
        with pytest.raises(ReproducedError, match=r"all 2 live crossings did again"):
            replay.assert_not_reproduced()
        with pytest.raises(
            NotCrossedError, match=r"no crossing charge, such as place_order\[1\]; did you mean charge"
        ):
            replay.assert_not_reproduced("charge")
        with pytest.raises(NotCrossedError, match=r"no crossing charge\[2\]"):
            replay.assert_not_reproduced("charge[2]")
    finally:
        del sys.modules["shop"]
