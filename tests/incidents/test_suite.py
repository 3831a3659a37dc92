"""The suite: each incident's test fails on the unguarded tool and on nothing else; stubs and mocks see nothing of it."""

import re
import shutil
import subprocess
import sys

import pytest

from autochron.store import open_store
from bench.paper import trials
from incidents.record import record
from incidents.suite import INCIDENTS, PARTS, IncidentError, load, load_all
from incidents.trial import VARIANTS

SUITE = load_all()
JOBS = [
    *({"method": "cut-point", "variant": variant} for variant in VARIANTS),
    *({"method": "full-stub", "variant": variant} for variant in ("unguarded", "unguarded", "guarded")),
    *({"method": "mocks", "variant": variant} for variant in ("unguarded", "guarded")),
]


def each_incident(rest=pytest.mark.slow):
    """Take one in every run, and the rest where a mark says so."""
    return pytest.mark.parametrize(
        "incident",
        [
            pytest.param(
                each,
                id=each.name,
                marks=[
                    *([] if each.name == "invoice" else [rest]),
                    pytest.mark.skipif(bool(each.missing()), reason=f"{each.missing()} is not installed"),
                ],
            )
            for each in SUITE
        ],
    )


@each_incident()
def test_only_the_cut_point_test_fails_and_only_on_the_unguarded_tool(incident):
    said = trials.tried(incident, JOBS)
    assert [(each.method, each.variant, each.passed) for each in said] == [
        (job["method"], job["variant"], job != {"method": "cut-point", "variant": "unguarded"})
        for job in JOBS
    ], [each.why for each in said]
    assert said[0].why.startswith("AssertionError")
    assert [each.divergences for each in said] == [()] * len(JOBS)
    stubbed = [each for each in said if each.method == "full-stub"]
    assert [each.live for each in stubbed] == [()] * 3
    assert len({each.output for each in stubbed}) == 1
    assert all(incident.function in " ".join(each.live) for each in said if each.method == "cut-point")


@each_incident()
def test_the_models_that_hear_of_the_tool_may_be_live(incident):
    result, calls = trials.with_model(incident)
    assert (result.passed, result.why) == (True, "")
    assert calls == len([address for address in result.live if address.startswith("model[")]) > 0


@each_incident(pytest.mark.thorough)
def test_recorded_anew_it_is_what_is_kept(incident, tmp_path):
    record(incident, tmp_path / "trace.jsonl")
    anew, kept = (
        open_store(str(folder / "trace.jsonl")).load("last") for folder in (tmp_path, incident.folder)
    )
    assert [each.address for each in anew.envelopes] == [each.address for each in kept.envelopes]
    assert anew.header.rules == kept.header.rules


@pytest.mark.parametrize("incident", SUITE, ids=lambda each: each.name)
def test_no_file_of_the_agent_names_autochron(incident):
    files = ("agent.py", "tools.py", "guarded.py", "benign.py", "test_mocks.py")
    assert [
        name for name in files if re.search("autochron", (incident.folder / name).read_text(), re.IGNORECASE)
    ] == []


# --- what is missing --------------------------------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(INCIDENTS / "invoice", tmp_path / "invoice")
    return tmp_path / "invoice"


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing_is_named(copied, part):
    (copied / part).unlink()
    with pytest.raises(IncidentError, match=rf"^invoice has no {part}: "):
        load(copied)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("heading = 'x'", "invoice/incident.toml has `heading`; it takes title, failure"),
        ("live = 'x'", "can't be read: Cannot overwrite a value"),
        ("paper = [", "can't be read: "),
    ],
)
def test_a_description_that_is_wrong_is_refused(copied, line, said):
    with (copied / "incident.toml").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(IncidentError) as refused:
        load(copied)
    assert said in str(refused.value)


@pytest.mark.parametrize(("key", "said"), [("tool", "has no `tool`"), ("live", "has no `live`")])
def test_a_description_that_lacks_something_is_refused(copied, key, said):
    described = copied / "incident.toml"
    lines = described.read_text().splitlines(keepends=True)
    described.write_text("".join(line for line in lines if not line.startswith(f"{key} ")))
    with pytest.raises(IncidentError, match=said):
        load(copied)


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(IncidentError, match=r"has no incident\.toml"):
        load(tmp_path)


@pytest.mark.slow
def test_without_its_rules_the_test_says_what_is_missing(copied):
    (copied / "autochron.toml").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_incident.py"],
        cwd=copied,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (
        "look_up_contract (tools.py:look_up_contract) crossed a boundary when it was recorded" in done.stdout
    )
    assert "no rule file was found" in done.stdout
    assert "name the rules with --rules" in done.stdout
