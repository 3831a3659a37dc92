"""`autochron check` reports only what is new: beside a baseline, since a commit, or beside comments that ignore."""

import json
import os
import subprocess

import pytest

from autochron.cli import main
from autochron.detect.statements import Statements
from autochron.diagnostics.accepted_findings import normalized

AGENT = """\
import time
from uuid import uuid4


def act(name):
    return name, time.time(), uuid4()
"""


ANEW = "; name another file, or delete it and write it anew with --update-baseline"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "autochron.toml").write_text("version = 1\n")
    return tmp_path


@pytest.fixture
def check(project, capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["check", *arguments])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return run


@pytest.fixture
def fresh(check):
    """Return the status, the new findings by line and call, and how many are gone."""

    def run(*arguments, paths=(".",)):
        status, out, err = check(*paths, *arguments, "--format", "json")
        assert err == ""
        report = json.loads(out)
        found = [
            (each["site"]["file"], each["site"]["line"], each["call"].rpartition(".")[2])
            for each in report["findings"]
        ]
        return status, found, report["gone"]

    return run


@pytest.fixture
def accepted(check):
    status, out, err = check(".", "--baseline", "accepted.json", "--update-baseline")
    assert (status, out) == (0, "")
    assert err == "autochron: accepted.json accepts 2 findings: 2 new, 0 gone\n"
    return "--baseline", "accepted.json"


# --- the baseline ------------------------------------------------------------------------------------------------------


def test_what_the_baseline_has_does_not_fail(fresh, check, accepted):
    assert fresh(*accepted) == (0, [], 0)
    assert check(".", *accepted) == (0, "", "")


def test_code_may_move_and_its_neighbours_and_layout_may_change(fresh, accepted, project):
    moved = AGENT.replace("def act", "LIMIT = 3\n\n\ndef act").replace(
        "    return name, time.time(), uuid4()",
        "    name = name.strip()\n    if name:\n        return name,time.time( ), uuid4()  # as agreed",
    )
    (project / "agent.py").write_text(moved)
    assert fresh(*accepted) == (0, [], 0)


@pytest.mark.parametrize(
    ("old", "new", "found", "gone"),
    [
        ("uuid4()", "uuid4(), uuid4().hex", [("agent.py", 6, "time"), ("agent.py", 6, "uuid4")], 2),
        ("def act", "def do", [("agent.py", 6, "time"), ("agent.py", 6, "uuid4")], 2),
        ("\n    return", "\n    if name:\n        return name, time.time(), uuid4()\n    return",
         [("agent.py", 8, "time"), ("agent.py", 8, "uuid4")], 0),
        (", uuid4()", "", [("agent.py", 6, "time")], 2),
        ("import time\n", "import time\nstarted = time.time()\n", [("agent.py", 2, "time")], 0),
        ("time.time()", "1", [("agent.py", 6, "uuid4")], 2),
        ("    return name, time.time(), uuid4()", "    return name", [], 2),
    ],
    ids=["line changed", "definition renamed", "line twice", "line shortened", "line added", "call gone", "all gone"],
)  # fmt: skip
def test_only_what_is_new_fails_and_what_is_gone_is_counted(fresh, accepted, project, old, new, found, gone):
    (project / "agent.py").write_text(AGENT.replace(old, new, 1))
    assert fresh(*accepted) == (int(bool(found)), found, gone)


def test_a_file_may_be_renamed_but_a_copy_is_new(fresh, accepted, project):
    (project / "agent.py").rename(project / "desk.py")
    assert fresh(*accepted) == (0, [], 0)
    (project / "agent.py").write_text(AGENT)
    assert fresh(*accepted) == (1, [("desk.py", 6, "time"), ("desk.py", 6, "uuid4")], 0)


def test_the_text_report_says_what_is_accepted_and_gone(check, accepted, project):
    (project / "agent.py").write_text(
        AGENT.replace("    return name, time", "    print(time.time_ns())\n    return uuid4(), time", 1)
    )
    status, out, _ = check(".", *accepted)
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert status == 1
    assert lines[-2:] == [
        "3 unmarked calls in 1 file; of 3 in all, 0 are inside a boundary, recorded or ignored (0 %)",
        "2 accepted findings are there no more",
    ]
    (project / "agent.py").write_text(AGENT.replace("    return", "    print(time.time_ns())\n    return"))
    assert check(".", *accepted)[1].endswith(
        "1 unmarked call in 1 file; of 3 in all, 0 are inside a boundary, recorded or ignored (0 %); 2 accepted\n"
    )


def test_an_update_keeps_what_other_files_and_categories_have(fresh, check, accepted, project):
    (project / "desk.py").write_text("import os\nHOME = os.environ['HOME']\n")
    _, _, err = check("desk.py", *accepted, "--update-baseline")
    assert err == "autochron: accepted.json accepts 3 findings: 1 new, 0 gone\n"
    assert fresh(*accepted) == (0, [], 0)
    (project / "agent.py").write_text("")
    assert fresh(*accepted, paths=["desk.py"]) == (0, [], 0)
    _, _, err = check(".", *accepted, "--update-baseline", "--category", "clock")
    assert err == "autochron: accepted.json accepts 2 findings: 0 new, 1 gone\n"
    assert fresh(*accepted) == (0, [], 1)
    check(".", *accepted, "--update-baseline")
    assert fresh(*accepted) == (0, [], 0)
    assert json.loads((project / "accepted.json").read_text()) == {
        "version": 1,
        "accepted": [
            {
                "file": "desk.py",
                "definition": "<module>",
                "line": "HOME=os.environ['HOME']",
                "statement": Statements("HOME = os.environ['HOME']").digest_at(1),
                "rule": "env",
                "call": "os.environ",
            }
        ],
    }


def test_what_is_accepted_is_not_covered(check, accepted):
    report = json.loads(check(".", *accepted, "--format", "json")[1])
    assert (report["accepted"], report["coverage"]["covered"]) == (2, 0)
    assert check(".", *accepted, "--fail-under", "50")[0] == 1


def test_sarif_says_that_the_results_are_new(check, accepted, project):
    (project / "desk.py").write_text("import os\nHOME = os.environ['HOME']\n")
    log = json.loads(check(".", *accepted, "--format", "sarif")[1])
    assert [each["baselineState"] for each in log["runs"][0]["results"]] == ["new"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no baseline b.json; write it with --update-baseline"),
        ("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> topic\n",
         "b.json has conflicts of a merge; take either side, then write it anew with --update-baseline"),
        ('{"version": 2, "findings": []}',
         ("b.json is a baseline of version 2, and this autochron reads version 1; take the autochron that wrote it, or delete"
         " it and write it anew with --update-baseline")),
        ("[]", "b.json is no baseline (Expected `object`, got `array`)" + ANEW),
        ("", "b.json is no baseline (Input data was truncated)" + ANEW),
        ('{"version": 1, "accepted": [{"file": "a.py", "definition": "f", "line": "x", "rule": "clocks"}]}',
         "b.json is no baseline (Invalid enum value 'clocks' - at `$.accepted[0].rule`)" + ANEW),
    ],
    ids=["missing", "conflict", "version", "other", "empty", "rule"],
)  # fmt: skip
def test_a_baseline_that_is_none_is_refused_and_never_overwritten(check, project, content, message):
    refused = (2, "", f"autochron: {message} (bad-baseline)\n")
    if content is not None:
        (project / "b.json").write_text(content)
    assert check(".", "--baseline", "b.json") == refused
    if content is not None:
        assert check(".", "--baseline", "b.json", "--update-baseline") == refused
        assert (project / "b.json").read_text() == content
        (project / "b.json").unlink()
    assert check(".", "--baseline", "b.json", "--update-baseline")[0] == 0
    assert check(".", "--baseline", "b.json") == (0, "", "")


def test_a_source_file_that_is_named_as_the_baseline_stays_as_it_is(check, project):
    status, out, err = check(".", "--baseline", "agent.py", "--update-baseline")
    assert (status, out) == (2, "")
    assert err.startswith("autochron: agent.py is no baseline (")
    assert (project / "agent.py").read_text() == AGENT


def test_a_baseline_that_cannot_be_written_is_told(check, project):
    status, _, err = check(".", "--baseline", "none/b.json", "--update-baseline")
    assert (status, err) == (
        2, "autochron: none/b.json can't be written (No such file or directory); give another path (bad-baseline)\n",
    )  # fmt: skip


def test_an_update_needs_a_file(check):
    status, _, err = check(".", "--update-baseline")
    assert (status, err) == (
        2, "autochron: --update-baseline wants --baseline FILE, which says where it is written (usage)\n",
    )  # fmt: skip


def test_files_that_do_not_parse_keep_what_was_accepted(check, accepted, project):
    (project / "agent.py").write_text("def act(:\n")
    assert check(".", *accepted, "--update-baseline")[0] == 2
    (project / "agent.py").write_text(AGENT)
    assert check(".", *accepted) == (0, "", "")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("  x = time.time()  # now", "x=time.time()"),
        ("print('# no comment', \"it's # none\")  # one", "print('#nocomment',\"it's#none\")"),
        (r"print('\'# no comment')", r"print('\'#nocomment')"),
        ("it's open  # one", "it'sopen"),
        ("", ""),
        ("# only", ""),
    ],
)
def test_a_line_is_known_without_its_comment_and_white_space(line, text):
    assert normalized(line) == text


@pytest.mark.parametrize(
    ("before", "after", "is_new"),
    [
        ("cache.put(\n    'k',\n    time.time(),\n)", "model(\n    'it is',\n    time.time(),\n)", True),
        ("model(uuid4())", "model(\n    uuid4(),\n)", False),
        ("return {'at': time.time(), 'id': 3}", 'return {\n    "at": (time.time()),\n    "id": 3,\n}', False),
        ("print(time.time())", "print(time.time_ns())", True),
        ("if time.time() > 3: return 1", "if time.time() > 3:\n    return 2", False),
        ("if time.time() > 3: return 1", "if time.time() > 4: return 1", True),
    ],
    ids=[
        "another call around it",
        "wrapped",
        "other quotes",
        "another clock",
        "another body",
        "another limit",
    ],
)
def test_a_statement_is_known_by_what_it_says(fresh, project, check, before, after, is_new):
    def write(statement):
        body = statement.replace("\n", "\n    ")
        (project / "agent.py").write_text(
            f"import time\nfrom uuid import uuid4\ndef act(cache, model):\n    {body}\n"
        )

    write(before)
    check(".", "--baseline", "b.json", "--update-baseline")
    write(after)
    assert fresh("--baseline", "b.json")[0] == is_new


def test_an_alias_of_another_callable_is_new(fresh, project, check):
    (project / "agent.py").write_text("from time import time as now\nprint(now())\n")
    check(".", "--baseline", "b.json", "--update-baseline")
    (project / "agent.py").write_text("from time import monotonic as now\nprint(now())\n")
    assert fresh("--baseline", "b.json") == (1, [("agent.py", 2, "monotonic")], 1)


def test_an_update_takes_all_and_no_commit(check):
    status, _, err = check(".", "--baseline", "b.json", "--update-baseline", "--since", "HEAD")
    assert (status, err) == (
        2,
        "autochron: --update-baseline accepts all that is found; leave out --since (usage)\n",
    )


def test_a_pipe_is_no_file_to_read(check, project):
    os.mkfifo(project / "pipe.py")
    status, out, _ = check("pipe.py")
    assert (status, out) == (2, "pipe.py:1 can't be read, so its calls are unknown (unread-file)\n")


# --- since a commit ----------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(project):
    def git(*words):
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *settings, *words], cwd=project, check=True, stdout=subprocess.DEVNULL)

    git("init", "-q")
    (project / ".gitignore").write_text(".autochron/\n")
    git("add", ".gitignore", "agent.py", "autochron.toml")
    git("commit", "-qm", "first")
    return git


def test_only_what_is_new_since_a_commit_fails(fresh, repository, project):
    assert fresh("--since", "HEAD") == (0, [], 0)
    (project / "agent.py").write_text("import os\n\n" + AGENT + "\n\nHOME = os.environ['HOME']\n")
    (project / "desk.py").write_text("import time\nNOW = time.time()\n")
    assert fresh("--since", "HEAD") == (1, [("agent.py", 11, "environ"), ("desk.py", 2, "time")], 0)
    assert fresh("--since", "HEAD", paths=["desk.py"]) == (1, [("desk.py", 2, "time")], 0)
    repository("add", "agent.py", "desk.py")
    repository("commit", "-qm", "second")
    assert fresh("--since", "HEAD") == (0, [], 0)
    assert fresh("--since", "HEAD~1")[0] == 1


def test_a_call_is_new_that_a_rule_of_the_commit_covered(fresh, repository, project):
    rule = '[[boundary]]\nname = "act"\nkind = "tool"\ntarget = "agent:act"\n'
    (project / "autochron.toml").write_text("version = 1\n" + rule)
    repository("commit", "-qam", "a boundary")
    assert fresh("--since", "HEAD") == (0, [], 0)
    (project / "autochron.toml").write_text("version = 1\n")
    assert fresh("--since", "HEAD") == (1, [("agent.py", 6, "time"), ("agent.py", 6, "uuid4")], 0)
    (project / "autochron.toml").unlink()
    assert fresh("--since", "HEAD~1") == (0, [], 0)


def test_files_that_were_renamed_or_deleted_since_the_commit_are_known(fresh, repository, project):
    (project / "agent.py").rename(project / "desk.py")
    assert fresh("--since", "HEAD") == (0, [], 0)
    (project / "desk.py").unlink()
    assert fresh("--since", "HEAD") == (0, [], 2)


def test_a_file_that_was_moved_is_known_where_only_it_is_named(fresh, repository, project):
    (project / "agent.py").rename(project / "desk.py")
    assert fresh("--since", "HEAD", paths=["desk.py"]) == (0, [], 0)


def test_rules_of_the_commit_that_are_invalid_are_told_as_such(check, repository, project):
    (project / "autochron.toml").write_text("version 1\n")
    repository("commit", "-qam", "broken")
    (project / "autochron.toml").write_text("version = 1\n")
    status, _, err = check(".", "--since", "HEAD")
    assert status == 2
    assert err.startswith("autochron: the rules of the commit of --since are invalid: ")


def test_a_commit_of_which_a_file_is_missing_is_told(check, repository, project):
    found = subprocess.run(
        ["git", "rev-parse", "HEAD:agent.py"], cwd=project, check=True, stdout=subprocess.PIPE, text=True
    )
    blob = found.stdout.strip()
    (project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert check(".", "--since", "HEAD") == (
        2, "",
        (f"autochron: --since HEAD: the repository {project.resolve()} has no object {blob}; fetch the commit with all its"
        " files (usage)\n"),
    )  # fmt: skip


def test_a_folder_below_the_repository_has_its_own_rules(fresh, repository, project, monkeypatch):
    service = project / "service"
    service.mkdir()
    (service / "autochron.toml").write_text("version = 1\n")
    (service / "main.py").write_text(AGENT)
    repository("add", "service")
    repository("commit", "-qm", "service")
    monkeypatch.chdir(service)
    assert fresh("--since", "HEAD") == (0, [], 0)
    assert fresh("--since", "HEAD~1") == (1, [("main.py", 6, "time"), ("main.py", 6, "uuid4")], 0)


def test_git_runs_no_program_of_the_repository(fresh, repository, project):
    (project / ".gitattributes").write_text("*.py filter=evil\n")
    repository("config", "filter.evil.smudge", f"touch {project}/ran; cat")
    repository("config", "core.fsmonitor", f"touch {project}/ran; true")
    assert fresh("--since", "HEAD") == (0, [], 0)
    assert not (project / "ran").exists()


def test_a_commit_or_a_repository_that_is_not_there_is_told(check, repository, project, tmp_path_factory):
    top = project.resolve()
    assert check(".", "--since", "nothing") == (
        2, "",
        (f"autochron: --since nothing: the repository {top} has no such commit; name one that `git log` shows, and fetch it"
        " where the clone is shallow (usage)\n"),
    )  # fmt: skip
    assert check(".", "--since", "--output=x")[0] == 2
    other = tmp_path_factory.mktemp("other").resolve()
    (other / "agent.py").write_text(AGENT)
    assert check(str(other), "--since", "HEAD") == (
        2, "", f"autochron: --since HEAD: {other} is in no repository of git; take --baseline there (usage)\n",
    )  # fmt: skip
    assert check(".", str(other), "--since", "HEAD") == (
        2, "", f"autochron: --since HEAD: {other} is not in the repository {top}; leave it out (usage)\n",
    )  # fmt: skip


# --- comments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "import time\nNOW = time.time()  # autochron: ignore[clock] only for the log\n",
        "import time\nNOW = time.time()  # noqa: X1  # autochron: ignore[clock] only for the log\n",
        "import time\n# autochron: ignore[clock, uuid]: only for the log\n# and more\n\nNOW = time.time()\n",
        "import time\nNOW = (  # autochron:ignore[clock] - only for the log\n    time.time()\n)\n",
        "import time\nNOW = min(time.time(), # autochron: ignore[clock] only for the log\n    3)\n",
        "import time\nprint(\n    time.time(),\n)  # autochron: ignore[clock] only for the log\n",
    ],
    ids=["same line", "after another", "line above", "bracket", "several lines", "behind the statement"],
)
def test_a_comment_ignores_the_rules_that_it_names_on_its_line(check, project, source):
    (project / "agent.py").write_text(source)
    report = json.loads(check(".", "--format", "json")[1])
    assert report["findings"] == []


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore[clocks] the log", ("agent.py:2: this comment ignores nothing: there is no rule `clocks`; the rules are"
         " clock, random, uuid, env, host, files, network, subprocess, ordering, set-order, identity, native")),
        ("ignore[clock]", "agent.py:2: this comment ignores nothing: say behind the brackets why the call is accepted"),
        ("ignore the log",
         ("agent.py:2: this comment ignores nothing: name the rules in brackets, as in"
         " `# autochron: ignore[clock] only for the log`")),
        ("ignore[uuid] the log",
         "agent.py:2: the comment is stale: line 2 has nothing of uuid to ignore; correct it or take it out"),
    ],
)  # fmt: skip
def test_a_comment_that_ignores_nothing_is_told(check, project, comment, message):
    (project / "agent.py").write_text(f"import time\nNOW = time.time()  # autochron: {comment}\n")
    status, out, _ = check(".", "--format", "json")
    report = json.loads(out)
    assert status == 1
    assert report["stale"] == [f"{message} (stale-ignore)"]
    assert len(report["findings"]) == 1


def test_a_stale_comment_is_told_where_nothing_is_found_and_prose_is_none(check, project):
    (project / "agent.py").write_text(
        'NOW = 3  # autochron: ignore[clock] the log\n# autochron: records this module\nTEXT = "# autochron: ignore[x]"\n'
    )
    status, out, _ = check(".")
    assert (status, out) == (
        0,
        "agent.py:1: the comment is stale: line 1 has nothing of clock to ignore; correct it or take it out (stale-ignore)\n",
    )
