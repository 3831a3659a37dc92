"""The study in the report schema that mutation testing tools share."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.model import Change, MutantVerdict, MutationTarget
from autochron.mutate.report.page import encode_page
from autochron.mutate.report.schema import encode_report, schema_report
from tests.mutate.studies import GUARD, METHODS, complete_study, empty, mutant, refund, study, with_result

SCHEMA = json.loads(
    Path(__file__).with_name("schema").joinpath("mutation-testing-report-schema.json").read_text()
)


def mutants_of(subject, method=None, file="refund/guarded.py"):
    return {mutant["id"]: mutant for mutant in schema_report(subject, method)["files"][file]["mutants"]}


def statuses_of(subject, method=None):
    return [(mutant["status"], mutant.get("statusReason")) for mutant in mutants_of(subject, method).values()]


@pytest.mark.parametrize("subject", [complete_study(), study(empty()), study(), study(methods=())])
@pytest.mark.parametrize("method", [None, "widened"])
def test_a_report_fits_the_schema(subject, method):
    if method is not None and method not in subject.methods:
        with pytest.raises(UsageError):
            encode_report(subject, method)
        return
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(json.loads(encode_report(subject, method)))


def test_the_schema_would_find_a_fault():
    bad = json.loads(encode_report(complete_study()))
    bad["files"]["refund/guarded.py"]["mutants"][0]["location"]["start"]["column"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SCHEMA).validate(bad)


def test_each_verdict_has_a_status_of_the_schema():
    assert statuses_of(complete_study()) == [
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
    assert statuses_of(complete_study(), "widened")[8:] == [
        ("Killed", "output: output it was"),
        ("Killed", "output: output it was"),
        ("Killed", "output: output it was"),
        ("Survived", None),
        ("Ignored", "equivalent: both quotes make the same string"),
    ]
    assert statuses_of(complete_study(), "mocks")[7:9] == [
        ("NoCoverage", "mocks was not tried"),
        ("Survived", None),
    ]


def test_a_mutant_is_killed_if_it_differs_from_the_fix():
    # The fix fails under full-stub, so a failing mutant is no kill and a passing one is.
    incident = with_result(refund(), 0, verdicts={"full-stub": MutantVerdict("assertion", "not blocked")})
    incident = with_result(incident, 1, verdicts={"full-stub": MutantVerdict("passed", "", is_killed=True)})
    assert statuses_of(study(incident), "full-stub")[:2] == [
        ("Survived", None),
        ("Killed", "the test passes, and fails on the fix"),
    ]


def test_a_mutant_with_a_refuted_proof_is_not_ignored():
    subject = study(with_result(refund(), 18, proof="so they say"))
    mutant = mutants_of(subject)["000000000012"]
    assert mutant["status"] == "Survived"
    assert "argued equivalent: so they say" in mutant["description"]


def test_a_mutant_in_full():
    assert mutants_of(complete_study())["000000000012"] == {
        "id": "000000000012",
        "mutatorName": "autochron/After",
        "replacement": "} or {}",
        # After a character of two UTF-16 units: one more than Python's column.
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
    assert mutants_of(complete_study())["000000000010"]["static"] is True
    assert mutants_of(complete_study())["000000000014"]["description"].splitlines()[-1] == (
        "it is equivalent: both quotes make the same string"
    )


@pytest.mark.parametrize("number", range(13))
def test_a_location_counts_utf_16_units_as_javascript_does(number):
    result = refund().results[number]
    location = mutants_of(complete_study())[result.mutant.id]["location"]
    line = GUARD.split("\n")[location["start"]["line"] - 1].encode("utf-16-le")
    at = slice(2 * (location["start"]["column"] - 1), 2 * (location["end"]["column"] - 1))
    assert line[at].decode("utf-16-le") == result.mutant.before


def test_a_form_feed_does_not_shift_lines():
    source = "x = '💶'\n\f\ny = '💶💶'; z = 1\n"
    placed = mutant(1, 3, "1", "2", source=source)
    incident = refund()
    result = msgspec.structs.replace(incident.results[0], mutant=placed)
    placed_incident = msgspec.structs.replace(incident, sources={"guarded.py": source}, results=(result,))
    assert mutants_of(study(placed_incident))[placed.id]["location"] == {
        "start": {"line": 3, "column": 17},
        "end": {"line": 3, "column": 18},
    }


def test_the_report_has_sources_tests_and_a_summary():
    report = schema_report(complete_study())
    assert report["schemaVersion"] == "2"
    assert report["thresholds"] == {"high": 80, "low": 60}
    assert report["framework"]["name"] == "autochron"
    assert {file: (entry["language"], entry["source"]) for file, entry in report["files"].items()} == {
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


def test_two_files_of_an_incident_keep_their_own_mutants():
    incident = refund()
    moved = msgspec.structs.replace(incident.results[0].mutant, target=MutationTarget("tools.py", "pay"))
    two_files = with_result(incident, 0, mutant=moved)
    two_files = msgspec.structs.replace(two_files, sources={"guarded.py": GUARD, "tools.py": GUARD})
    assert list(mutants_of(study(two_files), file="refund/tools.py")) == ["000000000000"]
    assert len(mutants_of(study(two_files))) == 12


def test_without_cut_point_the_status_is_that_of_the_last_method():
    report = schema_report(study(refund(), methods=("full-stub", "full-output")))
    assert (report["config"]["statusOf"], report["config"]["escapes"]) == ("full-output", None)


def test_html_in_the_data_does_not_end_the_pages_json():
    change = Change("a#1", "", "</SCRIPT >", "<!-- <script>")
    page = encode_page(study(with_result(refund(), 17, changes=(change,)))).decode()
    _, _, from_data = page.partition('<script type="application/json" id="report">')
    data, _, after = from_data.partition("</script>")
    assert "<" not in data
    assert json.loads(data) == json.loads(encode_report(study(with_result(refund(), 17, changes=(change,)))))
    assert "{{report}}" in data  # from the guard's docstring; the template's own placeholder is filled
    assert after.startswith("\n<script>\nvar MutationTestElements=")


def test_the_vendored_script_has_its_documented_hash_and_is_safe_in_a_page():
    import hashlib

    folder = Path(encode_page.__code__.co_filename).parent / "static"
    script = (folder / "mutation-test-elements.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() in (folder / "README.md").read_text()
    assert b"</script" not in script.lower()
    assert b"<script" not in script.lower()  # after a `<!--` it would hide the end of the element
