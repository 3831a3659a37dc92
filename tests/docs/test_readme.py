"""The commands, code and figures of the README are run and compared."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from autochron import provider
from autochron.mutate.incident_study import IncidentStudy
from autochron.mutate.report import tallies
from autochron.mutate.sets import operator_set
from autochron.mutate.study import StudyOptions, read_arguments
from autochron.provider import Script, Step
from autochron.rules.loading import load_rules
from bench.paper import __main__ as paper
from bench.paper import plots
from incidents.suite import IncidentError, load_all
from mutation import __main__ as mutation
from tests.cli.processes import Result, finish, start_with

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def section(title: str) -> str:
    """Return the text of a section, with its subsections."""
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """Return autochron's commands in the section "Commands", in order."""
    lines = [line for block in blocks("console", section("Commands")) for line in block.splitlines()]
    typed = [line.removeprefix("$ ").partition("  #")[0].strip() for line in lines if line.startswith("$ ")]
    return [command for command in typed if command.startswith("autochron ")]


@pytest.mark.parametrize("text", blocks("toml"))
def test_rules_can_be_loaded(text, tmp_path):
    (tmp_path / "autochron.toml").write_text(text)
    rules = load_rules(tmp_path / "autochron.toml")
    tables = (
        rules.boundaries
        or rules.ignores
        or rules.snapshots
        or rules.sources
        or (rules.effects and rules.outputs)
    )
    assert tables or (rules.ambient and rules.ambients)


@pytest.mark.parametrize("text", blocks("python"))
def test_python_compiles(text):
    compile(text, "README.md", "exec")


@pytest.mark.parametrize("selector", re.findall(r"^\| `(\w+ = \"[^`]+\")` \|", README, re.MULTILINE))
def test_selectors_can_be_loaded(selector, tmp_path):
    rule = f'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\n{selector}\n'
    (tmp_path / "autochron.toml").write_text(rule)
    assert len(load_rules(tmp_path / "autochron.toml").boundaries) == 1


def test_every_make_target_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = set(re.findall(r"make (\w+)", README))
    assert {target for target in named if f"\n{target}:" in makefile} == named - {"but"}


def test_each_command_runs(tmp_path):
    for name in ("agent.py", "tools.py", "autochron.toml", "provider.json"):
        shutil.copy(ROOT / "incidents" / "refund" / name, tmp_path)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (
        ("init", "-qb", "main"),
        ("add", "agent.py", "tools.py"),
        (*author, "commit", "-qm", "first"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    finished = {}
    with provider.serve(script=tmp_path / "provider.json") as model:
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "sk-tour",
            "NO_PROXY": "127.0.0.1",
        }
        run_command, *later_commands = [command for command in commands() if not command.startswith(JUDGE)]
        finished[run_command] = _run(run_command, tmp_path, environment)
    environment.pop("OPENAI_API_KEY")
    for command in later_commands:
        if "import" in command:
            (tmp_path / ".autochron" / "traces.db").unlink()
        finished[command] = _run(command, tmp_path, environment)
    assert [command for command, done in finished.items() if done.status] == []
    assert finished["autochron replay last"].out == finished[run_command].out
    assert finished["autochron replay refund.jsonl"].out == finished[run_command].out
    assert "issue_refund ×1, look_up_order ×1, model ×4, send_reply ×1" in finished[run_command].said
    assert "7 crossings" in finished["autochron replay last"].said
    assert "tools.py" in finished["autochron rules"].text


EDIT = """
import sys
file, old, new = sys.argv[1:]
text = open(file).read()
assert text.count(old) == 1
open(file, "w").write(text.replace(old, new))
"""
WAIT = "until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.05; done"


class Tour:
    """The tour as a bash script with every command as it is written, and the output that the README shows for each."""

    def __init__(self, folder: Path, port: int) -> None:
        self.lines: list[str] = []
        self.expected: list[str] = []
        self._folder = folder
        self._port = port
        python = iter((self._fix, self._expect))
        for language, text in re.findall(
            r"^```(\w+)\n(.*?)^```", section("The tour"), re.DOTALL | re.MULTILINE
        ):
            if language == "console":
                self._run(text)
            else:
                next(python)(text)
        assert not list(python)

    def _run(self, text: str) -> None:
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            if command.startswith("pip install"):
                continue
            changed = command.replace("/tmp/shop", f"{self._folder}/shop").replace("8642", str(self._port))
            self.lines += [changed, "status=$?"]
            if command.endswith("&"):
                self.lines.append(WAIT.format(port=self._port))
            self.lines.append(f"echo; echo ::{len(self.expected)}:$status")
            self.expected.append(printed)

    def _fix(self, text: str) -> None:
        """Insert the guard: the lines that the README's function has and the agent's function lacks."""
        self._edit("tools.py", text.partition("    if amount")[0], text.partition("    ...")[0])

    def _expect(self, text: str) -> None:
        """Replace the generated check, and check that the test has all other lines of the README."""
        check = text.splitlines()[-1].strip()
        self._edit(
            "incidents/refund/test_refund.py", 'replay.assert_not_reproduced("issue_refund[1]")', check
        )
        for line in text.splitlines():
            self.lines.append(
                f"grep -qF {shlex.quote(line.strip())} incidents/refund/test_refund.py || echo missing"
            )
        self._run("$ pytest incidents/refund\n1 passed\n")

    def _edit(self, file: str, old: str, new: str) -> None:
        self.lines.append(shlex.join(["python", "-c", EDIT, file, old, new]))


@pytest.mark.slow
def test_the_tour_prints_what_the_page_shows(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    tour = Tour(tmp_path, port)
    removed = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    variables = {name: value for name, value in os.environ.items() if name not in removed}
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", "\n".join(tour.lines)],
        cwd=ROOT,
        env={**variables, "PATH": path, "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    parts = re.split(r"^::(\d+):(\d+)\n", done.stdout, flags=re.MULTILINE)
    printed, statuses = parts[0::3], [int(status) for status in parts[2::3]]
    assert len(statuses) == len(tour.expected), done.stdout
    assert "missing" not in done.stdout
    red = [expected.strip().endswith("failed") for expected in tour.expected]
    assert statuses == [int(is_red) for is_red in red], done.stdout
    assert red.count(True) == 1
    for expected, text in zip(tour.expected, printed, strict=False):
        at, plain = 0, _plain(text)
        for piece in expected.split("..."):
            position = plain.find(_plain(piece), at)
            assert position >= 0, f"{_plain(piece)!r} is not in {plain!r}"
            at = position


def _plain(text: str) -> str:
    """Return a text on one line, with the ids of traces replaced."""
    return " ".join(re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID", text).split())


JUDGE = "autochron judge "


@pytest.mark.slow
def test_the_pytest_example_fails_and_then_passes(tmp_path):
    for name in ("agent.py", "tools.py", "autochron.toml", "provider.json"):
        shutil.copy(ROOT / "incidents" / "refund" / name, tmp_path)
    (snippet,) = [block for block in blocks("python") if "def test_refund_is_capped" in block]
    (tmp_path / "test_refund.py").write_text(snippet)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {
        **os.environ,
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }
    with provider.serve(script=tmp_path / "provider.json") as model:
        with_model = {**environment, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-tour"}
        for command in ('run agent.py "where is my order?"', "traces export last refund.jsonl"):
            assert _run(f"autochron {command}", tmp_path, with_model).status == 0
    environment.pop("OPENAI_API_KEY", None)
    outputs = []
    for _ in range(2):
        words = [sys.executable, "-m", "pytest", "-p", "autochron.pytest_plugin", "-p", "no:cacheprovider"]
        outputs.append(finish(start_with(environment, words, tmp_path)).text)
        tools = (tmp_path / "tools.py").read_text()
        capped = 'refund = Refund(order_id, min(amount_cents, order["paid_cents"])'
        (tmp_path / "tools.py").write_text(tools.replace("refund = Refund(order_id, amount_cents", capped))
    assert ("1 failed" in outputs[0], "● issue_refund[1]" in outputs[0], "1 passed" in outputs[1]) == (
        True,
        True,
        True,
    ), outputs


def test_the_judge_command_measures_and_then_serves(tmp_path):
    (command,) = [command for command in commands() if command.startswith(JUDGE)]
    labels = next(block for block in blocks("json") if '"label"' in block)
    (tmp_path / "labels.jsonl").write_text(labels)
    polite, rude = '{"reason": "It thanks.", "score": 0.9}', '{"reason": "It is curt.", "score": 0.2}'
    script = Script((Step(when=("thank you",), text=polite), Step(text=rude)))
    environment = {**os.environ, "OPENAI_API_KEY": "sk-tour", "NO_PROXY": "127.0.0.1"}
    environment.pop("AUTOCHRON_JUDGE", None)
    with provider.serve(script=script) as model:
        measured = _run(command, tmp_path, {**environment, "OPENAI_BASE_URL": model.url})
        assert model.calls == 3
    assert measured.status == 0, measured.said
    assert "agreement\t1.000 (95 % interval 0.439 to 1.000)" in measured.text
    served = _run(command, tmp_path, environment)
    assert served.text == measured.text.replace("3 by a call, 0 recorded", "0 by a call, 3 recorded")


def _run(command: str, folder: Path, environment: dict[str, str]) -> Result:
    words = command.replace('"where is my order?"', '"Please refund order 48213."').split(" ", 2)
    arguments = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', " ".join(words[1:]))]
    words = [sys.executable, "-m", "autochron", *arguments]
    return finish(start_with({**environment, "PYTHONPATH": str(ROOT)}, words, folder))


# --- the suite of incidents -------------------------------------------------------------------------------------------


ANEW = "run python -m bench.paper --readme"


def test_the_table_is_that_of_the_last_study_of_the_current_incidents():
    studies = paper.kept(paper.digest(load_all()))
    assert studies, f"no study that is kept is of the incidents as they are: {ANEW}"
    assert paper.with_table(README, studies) == README, f"the table is another one: {ANEW}"
    for study in studies:
        assert [row.name for row in study.rows] == [incident.name for incident in load_all()]
        assert [row.wrong for row in study.rows] == [()] * len(study.rows)
    for name, picture in plots.pictures(studies[0]).items():
        assert f"](bench/results/{name}.svg)" in README
        assert (paper.RESULTS / f"{name}.svg").read_text("utf-8") == picture, (
            f"it shows another study: {ANEW}"
        )


def test_a_page_without_a_place_for_the_table_is_refused():
    for mark in (paper.BEGIN, paper.END):
        with pytest.raises(IncidentError, match=r"README\.md has no line '<!-- the table"):
            paper.with_table(README.replace(mark, ""), paper.kept(paper.digest(load_all())))


def test_each_incident_is_in_the_gallery():
    page = (ROOT / "incidents" / "README.md").read_text("utf-8")
    assert [
        incident.name
        for incident in load_all()
        if f"]({incident.name}/README.md) | {incident.sdk} | {incident.failure} |" not in page
    ] == []


# --- the mutation study -------------------------------------------------------------------------------------------------


def test_the_mutation_page_is_that_of_the_last_study_of_the_current_incidents():
    study = mutation.read()
    page = mutation.PAGE.read_text("utf-8")
    assert mutation.with_results(page, study, mutation.read_fixes()) == page, "run python -m mutation --from"
    options = StudyOptions(
        arguments=read_arguments(str(mutation.HOME / "arguments.toml")), baselines=mutation.BASELINES
    )
    operators = operator_set(options.operators)
    assert {incident.name: incident.made_of for incident in study.incidents} == {
        incident.name: IncidentStudy(incident.folder, operators, options, 1, lambda *_: None).made_of
        for incident in load_all()
    }, "the incidents changed since: run python -m mutation"


def test_the_figures_on_mutants_are_those_of_the_study():
    study = mutation.read()
    refund = next(entry for entry in study.incidents if entry.name == "refund")
    methods = [method for method in study.methods if method not in dict(mutation.BASELINES)]
    counts = [tallies.tally(refund.results, method) for method in methods]
    heading = r"\s+".join(["^incident", *methods])
    assert re.search(f"{heading}$", README, re.MULTILINE)
    row = "".join(rf"\s+{entry.killed}/{entry.tried} {entry.percent:.1f} %" for entry in counts)
    assert re.search(rf"^refund{row}$", README, re.MULTILINE)
    unsafe = [entry for entry in refund.results if entry.is_unsafe]
    killed = sum(entry.verdicts["with-edges"].is_killed for entry in unsafe)
    assert (
        f"escapes: {len(unsafe) - killed} of {len(unsafe)} mutants that let through what the guard is there to prevent;"
        f" with-edges kills {killed}\n" in README
    )
    holding = [canary for canary in refund.canaries if canary.method not in dict(mutation.BASELINES)]
    assert f"canaries: {len(holding)} of {len(holding)} hold\n" in README


def test_the_comparison_on_the_mutation_page_is_the_one_that_is_kept():
    """The current study has as many mutants of each guard, so that both are of the same guards and operators."""
    kept = json.loads((mutation.RESULTS / "comparison.json").read_text("utf-8"))
    page = mutation.PAGE.read_text("utf-8")
    studied = {incident.name: len(incident.results) for incident in mutation.read().incidents}
    assert len(kept["guards"]) == 3
    for guard in kept["guards"]:
        name, made, same = guard["guard"], guard["mutants"], guard["same as mutmut"]
        assert guard["verdicts that agree with mutmut"] == same > 0
        assert guard["verdicts that agree with cosmic-ray"] == guard["tried by cosmic-ray"] == same
        assert f"| {name} | {made['autochron']} | {made['mutmut']} | {same} | {same} | {same} |\n" in page
        assert made["autochron"] == studied[name], "run python -m mutation.comparison"
        lacking = [row for row in guard["rows"] if row["autochron"] is None or row["mutmut"] is None]
        assert [row for row in lacking if not row["why"]] == []


def test_the_mutation_study_meets_its_goals():
    results = tallies.all_results(mutation.read())
    assert sum(result.verdicts["full-stub"].is_killed for result in results) == 0
    assert sum(tallies.is_escape(result) for result in results) == 0
    assert [result for result in results if result.proof] == []
    survivors = [result for result in results if not result.verdicts["widened"].is_killed]
    assert [result.mutant.id for result in survivors if not (result.proof or result.hint)] == []


def test_what_the_mutation_page_says_of_the_methods_is_true():
    """Whoever makes the study anew has to look at these sentences, whichever way the figures fall."""
    unsafe = [result for result in tallies.all_results(mutation.read()) if result.is_unsafe]
    killed = {method: tallies.tally(unsafe, method).killed for method in mutation.read().methods}
    assert killed["cut-point"] < len(unsafe) / 2
    assert 0 <= killed["model"] - killed["with-twin"] <= 2
    assert killed["model"] == killed["vcr"]
    assert killed["tool"] == killed["with-edges"] == len(unsafe)
    trials = mutation.read_fixes()
    wrong = [trial for trial in trials if not trial.is_right]
    right = [trial for trial in trials if trial.is_right]
    assert [trial for trial in trials if not trial.is_as_it_should] == []
    rejected = {name: sum(name in trial.baselines for trial in wrong) for name, _ in mutation.BASELINES}
    assert (len(wrong) - rejected["tool"], rejected["model"], rejected["vcr"]) == (3, 113, 113)
    assert 0.55 < 113 / len(wrong) < 0.65
    refused = {
        name: [trial.fix for trial in right if name in trial.baselines] for name, _ in mutation.BASELINES
    }
    assert refused["model"] == refused["vcr"] == ["right_agent"] * 7
    assert len(refused["tool"]) == 5
    lines = {
        method: sum(mutation.lines_by_hand(incident, method) for incident in load_all())
        for method in ("model", "vcr", "tool", "with-twin", "with-edges")
    }
    assert 0.45 < lines["with-twin"] / lines["vcr"] < 0.55
    assert lines["with-twin"] < 0.5 * min(lines["model"], lines["tool"])
    assert 0.9 < lines["with-edges"] / lines["vcr"] < 1.1
