"""The study in the schema that all mutation testing tools share."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.model import Change, MutantVerdict, MutationTarget
from autochron.mutate.report.page import encode_page
from autochron.mutate.report.schema import encode_report, schema_report
from tests.mutate.studies import GUARD, METHODS, changed, empty, mutant, refund, study, whole

SCHEMA = json.loads(
    Path(__file__).with_name("schema").joinpath("mutation-testing-report-schema.json").read_text()
)


def mutants(given, method=None, file="refund/guarded.py"):
    return {each["id"]: each for each in schema_report(given, method)["files"][file]["mutants"]}


def statuses(given, method=None):
    return [(each["status"], each.get("statusReason")) for each in mutants(given, method).values()]


@pytest.mark.parametrize("given", [whole(), study(empty()), study(), study(methods=())])
@pytest.mark.parametrize("method", [None, "widened"])
def test_it_fits_the_schema(given, method):
    if method is not None and method not in given.methods:
        with pytest.raises(UsageError):
            encode_report(given, method)
        return
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(json.loads(encode_report(given, method)))


def test_the_schema_would_find_a_fault():
    bad = json.loads(encode_report(whole()))
    bad["files"]["refund/guarded.py"]["mutants"][0]["location"]["start"]["column"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SCHEMA).validate(bad)


def test_what_the_verdicts_are_called():
    assert statuses(whole()) == [
        ("Killed", "assertion: assertion it was"),
        ("Killed", "divergence: divergence it was"),
        ("Killed", "crash: crash it was"),
        ("RuntimeError", "exit: exit it was"),
        ("Timeout", "time-out: time-out it was"),
        ("RuntimeError", "memory: memory it was"),
        ("RuntimeError", "signal: signal it was"),
        ("CompileError", "compile: compile it was"),
        ("Survived", None),
        ("Survived", None),
        ("Survived", None),
        ("Survived", None),
        ("Ignored", "equivalent: both quotes make the same string"),
    ]


def test_another_method_gives_another_status():
    assert statuses(whole(), "widened")[8:] == [
        ("Killed", "output: output it was"),
        ("Killed", "output: output it was"),
        ("Killed", "output: output it was"),
        ("Survived", None),
        ("Ignored", "equivalent: both quotes make the same string"),
    ]
    assert statuses(whole(), "mocks")[7:9] == [("NoCoverage", "mocks was not tried"), ("Survived", None)]


def test_killed_is_what_differs_from_the_fix():
    # The fix fails under full-stub: failing is then no kill, and passing is one.
    given = changed(refund(), 0, verdicts={"full-stub": MutantVerdict("assertion", "not blocked")})
    given = changed(given, 1, verdicts={"full-stub": MutantVerdict("passed", "", is_killed=True)})
    assert statuses(study(given), "full-stub")[:2] == [
        ("Survived", None),
        ("Killed", "the test passes, and fails on the fix"),
    ]


def test_a_refuted_proof_ignores_nothing():
    given = study(changed(refund(), 18, proof="so they say"))
    found = mutants(given)["000000000012"]
    assert found["status"] == "Survived"
    assert "argued equivalent: so they say" in found["description"]


def test_a_mutant_in_full():
    assert mutants(whole())["000000000012"] == {
        "id": "000000000012",
        "mutatorName": "autochron/After",
        "replacement": "} or {}",
        # Behind a character of two units of UTF-16: one more than Python counts.
        "location": {"start": {"line": 8, "column": 65}, "end": {"line": 8, "column": 66}},
        "status": "Survived",
        "static": False,
        "description": (
            '-        return {"status": "blocked", "note": "zu viel: 💶 und ü"}\n'
            '+        return {"status": "blocked", "note": "zu viel: 💶 und ü"} or {}\n'
            "other-input: it shows on other inputs only\n"
            "issue_refund#1 with amount_cents = 4001 (4000 in guarded.py:3, plus 1)\n"
            "what would kill it: replay with amount_cents = 4001"
        ),
        "coveredBy": ["full-stub", "cut-point", "full-output", "widened"],
        "killedBy": ["widened"],
        "testsCompleted": 4,
    }
    assert mutants(whole())["000000000010"]["static"] is True
    assert mutants(whole())["000000000014"]["description"].splitlines()[-1] == (
        "it is equivalent: both quotes make the same string"
    )


@pytest.mark.parametrize("number", range(13))
def test_a_location_is_what_javascript_would_cut_out(number):
    result = refund().results[number]
    found = mutants(whole())[result.mutant.id]["location"]
    line = GUARD.split("\n")[found["start"]["line"] - 1].encode("utf-16-le")
    at = slice(2 * (found["start"]["column"] - 1), 2 * (found["end"]["column"] - 1))
    assert line[at].decode("utf-16-le") == result.mutant.before


def test_lines_are_those_of_the_page_also_behind_a_form_feed():
    source = "x = '💶'\n\f\ny = '💶💶'; z = 1\n"
    placed = mutant(1, 3, "1", "2", source=source)
    incident = refund()
    result = msgspec.structs.replace(incident.results[0], mutant=placed)
    given = msgspec.structs.replace(incident, sources={"guarded.py": source}, results=(result,))
    assert mutants(study(given))[placed.id]["location"] == {
        "start": {"line": 3, "column": 17},
        "end": {"line": 3, "column": 18},
    }


def test_the_rest_of_the_report():
    report = schema_report(whole())
    assert report["schemaVersion"] == "2"
    assert report["thresholds"] == {"high": 80, "low": 60}
    assert report["framework"]["name"] == "autochron"
    assert {file: (each["language"], each["source"]) for file, each in report["files"].items()} == {
        "refund/guarded.py": ("python", GUARD),
        "stale_quote2/guarded.py": ("python", "def quote(): ...\n"),
    }
    assert [test["id"] for test in report["testFiles"]["methods"]["tests"]] == list(METHODS)
    assert "projectRoot" not in report
    assert report["config"] == {
        "statusOf": "cut-point",
        "operators": "extended",
        "digest": "d1" * 32,
        "shard": [1, 1],
        "generated": 19,
        "sameBytecode": 5,
        "duplicates": 1,
        "tried": 13,
        "escapes": 1,
        "methods": [
            {"name": "full-stub", "killed": 0, "tried": 13},
            {"name": "mocks", "killed": 0, "tried": 1},
            {"name": "cut-point", "killed": 8, "tried": 13},
            {"name": "full-output", "killed": 10, "tried": 13},
            {"name": "widened", "killed": 11, "tried": 13},
        ],
    }


def test_two_files_of_an_incident_keep_their_mutants_apart():
    incident = refund()
    moved = msgspec.structs.replace(incident.results[0].mutant, target=MutationTarget("tools.py", "pay"))
    given = changed(incident, 0, mutant=moved)
    given = msgspec.structs.replace(given, sources={"guarded.py": GUARD, "tools.py": GUARD})
    assert list(mutants(study(given), file="refund/tools.py")) == ["000000000000"]
    assert len(mutants(study(given))) == 12


def test_without_cut_point_the_status_is_that_of_the_last_method():
    report = schema_report(study(refund(), methods=("full-stub", "full-output")))
    assert (report["config"]["statusOf"], report["config"]["escapes"]) == ("full-output", None)


def test_no_html_ends_in_the_page_s_json():
    change = Change("a#1", "", "</SCRIPT >", "<!-- <script>")
    page = encode_page(study(changed(refund(), 17, changes=(change,)))).decode()
    _, _, rest = page.partition('<script type="application/json" id="report">')
    data, _, after = rest.partition("</script>")
    assert "<" not in data
    assert json.loads(data) == json.loads(encode_report(study(changed(refund(), 17, changes=(change,)))))
    assert "{{report}}" in data  # which the guard's docstring says, and which is no place of the template's
    assert after.startswith("\n<script>\nvar MutationTestElements=")


def test_the_vendored_script_is_that_of_the_package_and_may_stand_in_a_page():
    import hashlib

    folder = Path(encode_page.__code__.co_filename).parent / "static"
    script = (folder / "mutation-test-elements.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() in (folder / "README.md").read_text()
    assert b"</script" not in script.lower()
    assert b"<script" not in script.lower()  # behind a `<!--` it would swallow the end of the element
