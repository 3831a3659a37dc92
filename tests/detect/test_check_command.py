"""`autochron check`: findings, rules that cover them, output formats, exit status, and the cache."""

import json
import os
import tomllib

import jsonschema
import pytest

from autochron.cli import main
from autochron.detect.line_hash import hash_of
from autochron.detect.scan.cache import NAME
from autochron.rules.loading import load_rules

AGENT = """\
import time
from uuid import uuid4


def act(name):
    return name, time.time(), uuid4()


def show(tags: set[str]):
    return ", ".join(tags)
"""


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


def rules(project, text):
    (project / "autochron.toml").write_text("version = 1\n" + text)


def sites(out):
    return [
        (finding["site"]["file"], finding["site"]["line"], finding["category"], finding["call"])
        for finding in json.loads(out)["findings"]
    ]


ALL = [
    ("agent.py", 6, "clock", "time.time"),
    ("agent.py", 6, "uuid", "uuid.uuid4"),
    ("agent.py", 10, "set-order", "set.__iter__"),
]


def test_findings_are_reported_with_their_place_and_status_1(check):
    status, out, err = check("agent.py", "--format=json")
    assert (status, sites(out), err) == (1, ALL, "")
    report = json.loads(out)
    assert (report["version"], report["files"], report["lines"]) == (1, 1, 10)
    assert report["coverage"] == {"covered": 0, "total": 3, "percent": 0.0}
    first = report["findings"][0]
    assert first["site"]["qualname"] == "act"
    assert first["site"]["hash"] == hash_of("return name, time.time(), uuid4()")
    assert (first["ran"], first["tier"], first["count"]) == (False, "direct", 0)


def test_without_findings_nothing_is_printed(check, project):
    (project / "agent.py").write_text("def add(a, b):\n    return a + b\n")
    assert check(".") == (0, "", "")


def test_text_output_has_a_line_per_finding_and_rules_that_cover_it(check, project):
    status, out, _ = check("agent.py")
    assert status == 1
    assert [line for line in out.splitlines() if not line.startswith(" ")] == [
        "agent.py:6  clock  time.time  direct",
        "agent.py:6  uuid  uuid.uuid4  direct",
        "agent.py:10  set-order  set.__iter__  direct",
        "3 unmarked calls in 1 file; of 3 in all, 0 are inside a boundary, recorded or ignored (0 %)",
    ]
    rules(project, "\n".join(line[4:] for line in out.splitlines() if line.startswith(" ")))
    assert check("agent.py") == (0, "", "")
    loaded = load_rules("autochron.toml")
    assert [(rule.call, rule.site) for rule in loaded.ambients] == [
        ("time.time", "agent.py:6"),
        ("uuid.uuid4", "agent.py:6"),
    ]
    assert len(loaded.ignores) == 1


def test_calls_whose_values_are_recorded_are_covered_and_an_unknown_call_is_stale(check, project):
    rules(
        project, 'ambient = ["clock"]\n\n[[ignore]]\ncall = "uuid.uuid4"\nsite = "agent.py:6"\nreason = "-"\n'
    )
    assert sites(check("agent.py", "--format=json")[1]) == ALL[2:]
    rules(project, '[[boundary]]\nkind = "ambient"\ncall = "time.tine"\nsite = "agent.py:6"\n')
    out = check("agent.py", "--format=json")[1]
    assert sites(out) == ALL
    assert json.loads(out)["stale"] == [
        (
            "autochron.toml:2: [[boundary]] is stale: `time.tine` is no call whose value is known to be ambient; correct it"
            " or take it out (stale-ambient)"
        )
    ]


def test_equal_suggestions_for_one_line_are_printed_once(check, project):
    (project / "agent.py").write_text("import time\na = time.time(), time.time()\nb = time.time()\n")
    _, out, _ = check("agent.py")
    tables = tomllib.loads("\n".join(line for line in out.splitlines() if line.startswith(" ")))["boundary"]
    assert [table["site"] for table in tables] == ["agent.py:2", "agent.py:3"]


def test_a_boundary_covers_the_calls_in_its_function(check, project):
    rules(project, '[[boundary]]\nname = "act"\nkind = "tool"\ntarget = "agent:act"\n')
    status, out, _ = check("agent.py", "--format", "json")
    assert (status, sites(out)) == (1, ALL[2:])
    assert json.loads(out)["coverage"]["percent"] == 66.67


def test_a_boundary_with_a_condition_covers_nothing(check, project):
    rules(
        project,
        '[[boundary]]\nname = "act"\nkind = "tool"\ntarget = "agent:act"\nwhen = { name = "x" }\n',
    )
    assert sites(check("agent.py", "--format=json")[1]) == ALL


def test_a_boundary_on_a_call_covers_only_that_call(check, project):
    rules(project, '[[boundary]]\nname = "id"\nkind = "ambient"\ncall = "uuid.uuid4()"\n')
    assert sites(check("agent.py", "--format=json")[1]) == [ALL[0], ALL[2]]


@pytest.mark.parametrize(
    ("line", "call", "escaping"),
    [
        ("mine.uuid4(), uuid.uuid4()", "mine.uuid4()", ["uuid.uuid4"]),
        ("mine.time(), clock.time()", "mine.time()", ["time.time"]),
        ("uuid.uuid4(), map(uuid.uuid4, mine)", "uuid.uuid4()", ["uuid.uuid4"]),
        ("uuid.uuid4(mine), uuid.uuid4()", "uuid.uuid4($other)", ["uuid.uuid4"]),
        ("[uuid.uuid4 for _ in mine][0](), uuid.uuid4()", "uuid.uuid4()", ["uuid.uuid4"]),
        ("eval('uuid.uuid4()')", "uuid.uuid4()", ["uuid.uuid4"]),
        ("(uuid.uuid4 if mine else clock.time)()", "uuid.uuid4()", ["time.time", "uuid.uuid4"]),
        ("requests.get(mine), mine.get(8)", "mine.get(...)", ["requests.get"]),
        ("requests.get(mine), mine.get(8)", "requests.get(...)", []),
        ("uuid.uuid4(), uuid.uuid4()", "uuid.uuid4()", []),
        ("clock.time()", "time.time()", []),
    ],
)
def test_a_call_that_is_a_boundary_covers_no_other_call_on_its_line(check, project, line, call, escaping):
    (project / "agent.py").write_text(
        f"import time as clock, uuid, requests\n\n\ndef act(mine):\n    return {line}\n"
    )
    rules(project, f'[[boundary]]\nname = "id"\nkind = "ambient"\ncall = "{call}"\n')
    assert [call for _, _, _, call in sites(check("agent.py", "--format=json")[1])] == escaping


def test_a_callee_that_is_checked_as_it_runs_covers_only_what_the_check_looks_for(check, project):
    (project / "agent.py").write_text(
        "import time, uuid\n\n\ndef act(mine):\n    uuid4 = uuid.uuid4 if mine else time.time\n    return uuid4()\n"
    )
    assert [line for _, line, _, _ in sites(check("agent.py", "--format=json")[1])] == [6, 6]
    rules(project, '[[boundary]]\nname = "id"\nkind = "ambient"\ncall = "uuid.uuid4()"\n')
    assert sites(check("agent.py", "--format=json")[1]) == [("agent.py", 6, "clock", "time.time")]


def test_a_function_that_is_a_boundary_does_not_cover_its_own_defaults(check, project):
    (project / "agent.py").write_text("import time\n\n\ndef read(at=time.time()): return time.time() - at\n")
    rules(project, '[[boundary]]\nname = "read"\nkind = "tool"\ntarget = "agent:read"\n')
    found = json.loads(check("agent.py", "--format=json")[1])["findings"]
    assert [(each["call"], each["site"]["qualname"]) for each in found] == [("time.time", "<module>")]


def test_categories_restrict_the_findings(check):
    assert sites(check("agent.py", "--format=json", "--category=uuid")[1]) == ALL[1:2]
    status, out, _ = check("agent.py", "--category", "network", "--category", "native")
    assert (status, out) == (0, "")


@pytest.mark.parametrize(("least", "status"), [("0", 0), ("33.3", 0), ("34", 1), ("100", 1)])
def test_fail_under_is_compared_with_the_percentage_of_covered_calls(check, project, least, status):
    rules(project, '[[ignore]]\ncategory = "clock"\nsite = "agent.py:6"\nreason = "for the log"\n')
    assert check("agent.py", "--fail-under", least)[0] == status


# --- ignores ----------------------------------------------------------------------------------------------------------


def test_an_ignore_with_a_hash_still_matches_when_the_code_moves(check, project):
    line = "    return name, time.time(), uuid4()"
    rules(
        project,
        f'[[ignore]]\ncall = "time.time()"\nsite = "agent.py:6"\nhash = "{hash_of(line)}"\nreason = "for the log"\n',
    )
    assert sites(check("agent.py", "--format=json")[1]) == ALL[1:]
    (project / "agent.py").write_text("# moved\n\n" + AGENT)
    status, out, _ = check("agent.py", "--format=json")
    assert (status, json.loads(out)["stale"]) == (1, [])
    assert [site[1] for site in sites(out)] == [8, 12]


@pytest.mark.parametrize(
    ("ignore", "reason"),
    [
        ('call = "time.time"\nsite = "gone.py:3"', "there is no file gone.py"),
        ('call = "time.time"\nsite = "agent.py:99"', "agent.py has only 10 lines"),
        ('call = "time.time"\nsite = "agent.py:6"\nhash = "0123456789ab"', "agent.py has no line with the hash 0123456789ab"),
        ('call = "time.monotonic()"\nsite = "agent.py:6"', "agent.py:6 has no `time.monotonic()` to ignore"),
        ('category = "env"\nsite = "agent.py"', "agent.py has no `env` to ignore"),
    ],
)  # fmt: skip
def test_a_stale_ignore_is_reported_and_ignores_nothing(check, project, ignore, reason):
    rules(project, f'[[ignore]]\n{ignore}\nreason = "r"\n')
    status, out, _ = check("agent.py", "--format=json")
    assert (status, sites(out)) == (1, ALL)
    assert json.loads(out)["stale"] == [
        f"autochron.toml:2: [[ignore]] is stale: {reason}; correct it or take it out (stale-ignore)"
    ]


def test_an_ignore_for_a_file_that_was_not_scanned_is_not_stale(check, project):
    (project / "other.py").write_text("import time\nprint(time.time())\n")
    rules(project, '[[ignore]]\ncall = "time.monotonic"\nsite = "other.py:2"\nreason = "r"\n')
    assert json.loads(check("agent.py", "--format=json")[1])["stale"] == []
    assert len(json.loads(check(".", "--format=json")[1])["stale"]) == 1


def test_a_stale_ignore_without_findings_leaves_the_status_0(check, project):
    (project / "agent.py").write_text("a = 1\n")
    rules(project, '[[ignore]]\ncall = "time.time"\nsite = "agent.py:1"\nreason = "r"\n')
    status, out, _ = check("agent.py")
    assert (status, "stale-ignore" in out) == (0, True)


# --- other output formats ---------------------------------------------------------------------------------------------

SARIF = {
    # The part of the schema of SARIF 2.1.0 that our output uses.
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "$schema": {"type": "string", "format": "uri"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {"type": "array", "items": {"type": "object", "required": ["id"]}},
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "toolExecutionNotifications": {"type": "array", "items": {"$ref": "#/$defs/told"}},
                            },
                        },
                    },
                    "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
    "$defs": {
        "message": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
        "location": {
            "type": "object",
            "required": ["physicalLocation"],
            "properties": {
                "physicalLocation": {
                    "type": "object",
                    "required": ["artifactLocation", "region"],
                    "properties": {
                        "artifactLocation": {"type": "object", "required": ["uri"]},
                        "region": {
                            "type": "object",
                            "properties": {"startLine": {"type": "integer", "minimum": 1}},
                            "required": ["startLine"],
                        },
                    },
                }
            },
        },
        "flow": {
            "type": "object",
            "required": ["threadFlows"],
            "properties": {
                "threadFlows": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["locations"],
                        "properties": {
                            "locations": {
                                "type": "array",
                                "minItems": 1,
                                "items": {
                                    "type": "object",
                                    "properties": {"location": {"$ref": "#/$defs/step"}},
                                    "additionalProperties": False,
                                },
                            }
                        },
                        "additionalProperties": False,
                    },
                }
            },
            "additionalProperties": False,
        },
        "step": {
            "allOf": [{"$ref": "#/$defs/location"}],
            "required": ["message"],
            "properties": {"physicalLocation": True, "message": {"$ref": "#/$defs/message"}},
            "additionalProperties": False,
        },
        "told": {
            "type": "object",
            "required": ["message"],
            "properties": {
                "message": {"$ref": "#/$defs/message"},
                "level": {"enum": ["none", "note", "warning", "error"]},
                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
            },
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "required": ["message", "ruleId", "ruleIndex"],
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": 0},
                "message": {"$ref": "#/$defs/message"},
                "level": {"enum": ["none", "note", "warning", "error"]},
                "rank": {"type": "number", "minimum": -1, "maximum": 100},
                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                "codeFlows": {"type": "array", "minItems": 0, "items": {"$ref": "#/$defs/flow"}},
                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "additionalProperties": False,
        },
    },
}  # fmt: skip


def test_sarif_output_is_valid_and_has_the_same_findings(check, project):
    (project / "broken.py").write_text("def f(:\n")
    status, out, _ = check(".", "--format=sarif")
    log = json.loads(out)
    jsonschema.validate(log, SARIF)
    run = log["runs"][0]
    places = [
        (
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
            run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"],
        )
        for result in run["results"]
    ]
    assert (status, places) == (2, [site[:3] for site in ALL])
    assert run["invocations"][0]["executionSuccessful"] is False


def test_github_output_has_escaped_annotations(check, project):
    os.rename("agent.py", "my,agent.py")
    status, out, _ = check(".", "--format=github")
    assert status == 1
    assert out.splitlines()[0] == (
        "::warning file=my%2Cagent.py,line=6,title=autochron clock::"
        "time.time depends on the time and is outside every boundary, and may be used elsewhere, by act at line 5"
    )
    assert len(out.splitlines()) == 3


def uris(value):
    """Yield all paths of a log."""
    if isinstance(value, dict):
        yield from [value["uri"]] if "uriBaseId" in value else []
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from uris(inner)


@pytest.mark.parametrize(
    ("folder", "words", "github", "sarif"),
    [
        (".", [], "agent.py", "my shop/agent.py"),
        ("..", ["my shop"], "my shop/agent.py", "my shop/agent.py"),
        ("tools", [".."], "HERE/agent.py", "my shop/agent.py"),
    ],
)
def test_annotations_start_from_the_working_folder_and_sarif_from_the_repository(
    check, project, monkeypatch, folder, words, github, sarif
):
    (project / "repository").mkdir()
    (project / "repository" / ".git").mkdir()
    shop = project / "repository" / "my shop"
    (shop / "tools").mkdir(parents=True)
    os.rename(project / "agent.py", shop / "agent.py")
    (shop / "autochron.toml").write_text("version = 1\n")
    (shop / "tools" / "autochron.toml").write_text("version = 1\nroot = '..'\n")
    monkeypatch.chdir(shop / folder)
    lines = check(*words, "--format=github")[1].splitlines()
    files = {line.partition("file=")[2].partition(",")[0] for line in lines}
    assert files == {github.replace("HERE", str(shop))}
    log = json.loads(check(*words, "--format=sarif")[1])
    assert set(uris(log)) == {sarif.replace(" ", "%20")}
    (run,) = log["runs"]
    prints = {result["partialFingerprints"]["autochron/v1"].partition(":")[0] for result in run["results"]}
    assert prints == {"agent.py"}
    assert {site[0] for site in sites(check(*words, "--format=json")[1])} == {"agent.py"}


# --- bad input --------------------------------------------------------------------------------------------------------


def test_a_file_that_does_not_parse_is_reported_and_the_others_are_checked(check, project):
    (project / "a_broken.py").write_text("x = 1\ndef f(:\n    pass\n")
    (project / "null.py").write_bytes(b"x = '\0'\n")
    status, out, _ = check(".")
    assert status == 2
    assert "a_broken.py:2 doesn't parse (" in out
    assert "null.py:1 doesn't parse (" in out
    assert "agent.py:6  clock  time.time  direct" in out


def test_long_chains_of_operators_and_branches_are_scanned(check, project):
    terms = " + ".join(["'a'"] * 1000)
    branches = "".join(f"elif x == {n}:\n    pass\n" for n in range(800))
    (project / "agent.py").write_text(
        f"import time\nx = {terms}\nif x == 'b':\n    pass\n{branches}y = time.time()\n"
    )
    status, out, _ = check("agent.py", "--format=json")
    assert (status, [site[1:] for site in sites(out)]) == (1, [(1605, "clock", "time.time")])


def test_a_file_that_is_nested_too_deeply_is_reported(check, project):
    (project / "deep.py").write_text(f"x = {' + '.join(['y'] * 9000)}\n")
    status, out, _ = check(".")
    assert status == 2
    assert "deep.py:1 " in out
    assert "agent.py:6  clock" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such.py"], "autochron check: there is no no-such.py; name files or folders"),
        (["agent.py", "--format=jsn"], "autochron check: --format is jsn; nearest is `json`"),
        (["agent.py", "--category=clocks"], "autochron check: --category is clocks; nearest is `clock`"),
        (["agent.py", "--fail-under=x"], "autochron check: --fail-under takes a percentage from 0 to 100, not x"),
        (["agent.py", "--fail-under=101"], "autochron check: --fail-under takes a percentage from 0 to 100, not 101"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_check_are_refused(check, arguments, message):
    assert check(*arguments) == (2, "", f"autochron: {message} (usage)\n")


def test_without_a_path_the_working_folder_is_checked(check, project):
    assert sites(check("--format=json")[1]) == sites(check(".", "--format=json")[1])


# --- the cache --------------------------------------------------------------------------------------------------------


def test_findings_are_cached_until_the_file_changes(check, project, monkeypatch):
    check("agent.py")
    cache = project / ".autochron" / NAME
    before = cache.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("autochron.diagnostics.check.scan", None)  # to call it would fail
        assert sites(check("agent.py", "--format=json")[1]) == ALL
    assert cache.read_bytes() == before
    (project / "agent.py").write_text(AGENT.replace("time.time()", "1"))
    assert sites(check("agent.py", "--format=json")[1]) == ALL[1:]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x81\xa7version\xa1x", b"\xc1" * 100])
def test_a_broken_cache_is_ignored_and_rewritten(check, project, content):
    check("agent.py")
    cache = project / ".autochron" / NAME
    original = cache.read_bytes()
    cache.write_bytes(content)
    assert sites(check("agent.py", "--format=json")[1]) == ALL
    assert cache.read_bytes() == original
    assert sorted(os.listdir(cache.parent)) == [".gitignore", NAME]


def test_check_works_if_the_cache_cannot_be_written(check, project):
    (project / ".autochron").write_text("a file")
    assert sites(check("agent.py", "--format=json")[1]) == ALL


def test_files_with_equal_relative_imports_in_different_packages_do_not_share_a_cache_entry(check, project):
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("")
        (project / name / "agent.py").write_text("from .time import time\ntime()\n")
    assert [site[0] for site in sites(check(".", "--format=json")[1])] == ["agent.py"] * 3
