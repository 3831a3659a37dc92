"""A `[[source]]` table adds a call of the project's own to what is non-deterministic."""

import json

import pytest

from autochron.cli import main
from autochron.errors import RuleError
from autochron.rules.loading import load_rules
from tests.agents.workshop import Fresh

HEAD = "version = 1\npacks = []\n"
SOURCE = HEAD + '[[source]]\ncall = "acme.clock.now"\ncategory = "clock"\n'

LIBRARY = """\
import itertools, os

def now():
    return int.from_bytes(os.read(READ, 8), "big")

class Client:
    def fetch(self):
        return 1

READ, WRITE = os.pipe()
for value in range(8):
    os.write(WRITE, int.from_bytes(os.urandom(8), "big").to_bytes(8, "big"))
"""

AGENT = """\
from acme.clock import now

def main():
    print("it is", now())

main()
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").write_text("")
    (tmp_path / "acme" / "clock.py").write_text(LIBRARY)
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(capsys, rules, *arguments):
    with open("autochron.toml", "w", encoding="utf-8") as file:
        file.write(rules)
    with pytest.raises(SystemExit) as ended:
        main(["check", "agent.py", "--format", "json", *arguments])
    return ended.value.code, json.loads(capsys.readouterr().out)


def test_check_finds_a_source_of_the_project(project, capsys):
    status, checked = check(capsys, HEAD)
    assert (status, checked["findings"]) == (0, [])
    status, checked = check(capsys, SOURCE)
    (finding,) = checked["findings"]
    assert status == 1
    assert (finding["site"]["line"], finding["call"], finding["category"]) == (4, "acme.clock.now", "clock")
    assert checked["stale"] == []


def test_the_cache_tells_rules_apart(project, capsys):
    for _ in range(2):
        assert len(check(capsys, SOURCE)[1]["findings"]) == 1
        assert check(capsys, HEAD)[1]["findings"] == []


PROGRAMS = [
    ('call = "acme.clock.now"\ndetermined_by = "seed"', "acme.clock.now()", True),
    ('call = "acme.clock.now"\ndetermined_by = "seed"', "acme.clock.now(seed=3)", False),
    ('call = "acme.clock.now"\ndetermined_by = "seed"', "acme.clock.now(seed=None)", True),
    ('call = "acme.clock.now"\ndetermined_by = "seed"', "acme.clock.now(3)", True),
    ('call = "acme.clock.now"\ndetermined_by = "seed"\nposition = 0', "acme.clock.now(3)", False),
    ('call = "acme.clock.now"\nonly_with = "fresh"', "acme.clock.now()", False),
    ('call = "acme.clock.now"\nonly_with = "fresh"', "acme.clock.now(fresh=True)", True),
    ('call = "acme.clock.now"\nharmless = ["fixed"]', 'acme.clock.now("fixed")', False),
    ('call = "acme.clock.now"\nharmless = ["fixed"]', 'acme.clock.now("live")', True),
    ('call = "acme.clock.Client.*"', "acme.clock.Client().fetch()", True),
    ('call = "acme.clock.Client.*"', "acme.clock.Client()", False),
    ('call = "acme.clock.Client.fetch"\nreaches = "time.time"', "acme.clock.Client().fetch()", True),
]


@pytest.mark.parametrize(("keys", "call", "is_found"), PROGRAMS)
def test_arguments_decide_as_the_table_says(project, capsys, keys, call, is_found):
    (project / "agent.py").write_text(f"import acme.clock\nprint({call})\n")
    _, checked = check(capsys, f'{HEAD}[[source]]\n{keys}\ncategory = "random"\n')
    assert [finding["category"] for finding in checked["findings"]] == ["random"] * is_found
    if "reaches" in keys:
        assert (checked["findings"][0]["call"], checked["findings"][0]["via"]) == (
            "time.time",
            "acme.clock.Client.fetch",
        )


def test_what_is_opened_is_read_later(project, capsys):
    (project / "agent.py").write_text(
        "import acme.clock\nclient = acme.clock.Client()\nif client:\n    print(client.fetch())\n"
    )
    table = '[[source]]\ncall = "acme.clock.Client"\ncategory = "network"\nopens = true\n'
    (finding,) = check(capsys, HEAD + table)[1]["findings"]
    assert (finding["site"]["line"], finding["reads"]) == (2, [4])


STALE = [
    ("acm.clock.now", "there is no module `acm`"),
    ("acme.clocks.now", "`acme` has no `clocks`"),
    ("acme.clock.nov", "`acme.clock` has no `nov`"),
    ("acme.clock.Client.get", "`acme.clock.Client` has no `get`"),
    ("acme.clock.Clients.*", "`acme.clock` has no `Clients`"),
]


@pytest.mark.parametrize(("call", "problem"), STALE)
def test_a_source_that_names_nothing_is_told_in_one_line(project, capsys, call, problem):
    rules = f'{HEAD}[[source]]\ncall = "{call}"\ncategory = "clock"\n'
    told = f"autochron.toml:3: [[source]] is stale: {problem}; correct it or take it out (stale-source)"
    assert check(capsys, rules)[1]["stale"] == [told]
    ran = Fresh().run(project, "run", "agent.py")
    assert ran.status == 0
    assert [line for line in ran.stderr.splitlines() if "stale-source" in line] == [f"  {told}"]


@pytest.mark.parametrize(
    "call",
    [
        "acme.clock.now",
        "acme.clock.Client.fetch",
        "acme.clock.Client.*",
        "time.sleep",
        "json.dumps",
        "acme.dynamic.x",
    ],
)
def test_a_source_that_is_there_is_not_stale(project, capsys, call):
    (project / "acme" / "dynamic.py").write_text("def __getattr__(name):\n    return name\n")
    rules = f'{HEAD}[[source]]\ncall = "{call}"\ncategory = "clock"\n'
    assert check(capsys, rules)[1]["stale"] == []


def test_an_example_in_which_nothing_is_found_is_told(project, capsys):
    good = SOURCE + 'example = "from acme.clock import now; now()"\n'
    assert check(capsys, good)[1]["stale"] == []
    wrong = SOURCE + 'example = "from acme.watch import now; now()"\n'
    (message,) = check(capsys, wrong)[1]["stale"]
    assert message == (
        "autochron.toml:3: the example of [[source]] doesn't call acme.clock.now; correct it or take it out (stale-source)"
    )
    (message,) = check(capsys, SOURCE + 'example = "def"\n')[1]["stale"]
    assert message.startswith("autochron.toml:3: the example of [[source]] doesn't parse")


BAD = [
    ('category = "clock"', "3: [[source]] has no `call`; write its dotted name, such as `acme.clock.now`"),
    ('call = "now"\ncategory = "clock"', "4: `call` `now` is not a dotted name, such as `acme.clock.now`"),
    (
        'call = "a.b()"\ncategory = "clock"',
        "4: `call` `a.b()` is not a dotted name, such as `acme.clock.now`",
    ),
    ('call = "a.b"', "3: [[source]] has no `category`; write one, such as `clock`"),
    ('call = "a.b"\ncategory = "clok"', "5: `category` is `clok`; nearest is `clock`"),
    ('call = "a.b"\ncategory = "clock"\nseed = "x"', "6: [[source]] has no key `seed`"),
    (
        'call = "a.b"\ncategory = "clock"\nposition = 1',
        "6: `position` goes with `determined_by`; write the keyword as well",
    ),
    (
        'call = "a.b"\ncategory = "clock"\ndetermined_by = "x"\nposition = -1',
        "7: `position` must be an integer from 0, and is `-1`",
    ),
    (
        'call = "a.b"\ncategory = "clock"\ndetermined_by = "x y"',
        "6: `determined_by` `x y` is not the name of an argument, such as `seed`",
    ),
]


@pytest.mark.parametrize(("keys", "message"), BAD)
def test_a_wrong_table_is_refused(tmp_path, keys, message):
    file = tmp_path / "autochron.toml"
    file.write_text(f"{HEAD}[[source]]\n{keys}\n")
    with pytest.raises(RuleError) as caught:
        load_rules(file)
    assert str(caught.value).startswith(f"autochron.toml:{message}")


def test_a_run_finds_a_source_of_the_project(project):
    (project / "autochron.toml").write_text(SOURCE.replace("packs", 'project = ["agent.py"]\npacks'))
    ran = Fresh().run(project, "run", "--strict", "--report", "report.json", "agent.py")
    (finding,) = json.loads((project / "report.json").read_text())["findings"]
    assert ran.status != 0
    assert (finding["site"]["file"], finding["site"]["line"], finding["call"], finding["count"]) == (
        "agent.py",
        4,
        "acme.clock.now",
        1,
    )


def test_a_run_without_the_table_finds_nothing(project):
    (project / "autochron.toml").write_text(HEAD + 'project = ["agent.py"]\n')
    ran = Fresh().run(project, "run", "--strict", "--report", "report.json", "agent.py")
    assert (ran.status, json.loads((project / "report.json").read_text())["findings"]) == (0, [])


@pytest.mark.parametrize(
    "recorded",
    [
        'ambient = ["clock"]\n',
        '[[boundary]]\nkind = "ambient"\ncall = "acme.clock.now"\nsite = "agent.py:4"\n',
    ],
    ids=["category", "call"],
)
def test_the_values_of_a_source_are_recorded_and_served(project, recorded):
    order = (recorded, "") if recorded.startswith("ambient") else ("", recorded)
    (project / "autochron.toml").write_text(
        f'version = 1\npacks = []\nproject = ["agent.py"]\n{order[0]}'
        f'[[source]]\ncall = "acme.clock.now"\ncategory = "clock"\n{order[1]}'
    )
    ran = Fresh().run(project, "run", "--strict", "agent.py")
    assert ran.status == 0, ran.stderr
    replayed = Fresh().run(project, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, ran.stdout)
    again = Fresh().run(project, "run", "agent.py")
    assert again.stdout != ran.stdout


def test_the_digest_of_rules_without_a_source_is_as_before(tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(HEAD)
    plain = load_rules(file).digest
    file.write_text(SOURCE)
    with_source = load_rules(file).digest
    file.write_text("# moved\n" + SOURCE)
    assert plain != with_source == load_rules(file).digest
