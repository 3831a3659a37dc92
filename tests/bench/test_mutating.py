"""The incidents of agent-chronicle are converted into our folders, from a source with the same layout."""

import textwrap

import pytest

pytest.importorskip("cosmic_ray")

from autochron.mutate.study import StudyOptions, study_of
from bench.chronicle import Guarded
from bench.chronicle_incidents import in_mode, taken_over, write_incident
from bench.mutating import _processor, _resident, _Trials, counted

AGENT = textwrap.dedent(
    """
    from chronicle.envelope.schema import ToolCall
    from examples.financial_incidents._helpers import words

    _mode = "ungated"
    LIMIT = 100


    def safe(result, live):
        return bool(live.get("blocked")) and result["paid"] is False


    def pay(cents):
        if _mode == "gated" and cents > LIMIT:
            return {"blocked": True, "status": "blocked"}
        return {"blocked": False, "status": "paid"}


    def agent_plan(state):
        return {**state, "call": ToolCall("1", "pay", {"cents": 500}).model_dump()}


    def agent_finalize(state, result):
        return {**state, "paid": result["status"] == "paid", "said": words(result["status"])}


    def run_agent(user_message="pay"):
        state = agent_plan({"message": user_message})
        return agent_finalize(state, pay(500))
    """
)
HELPERS = (
    "from chronicle.envelope.schema import Envelope, Input\n\n\ndef words(text):\n    return text.split()\n"
)


def test_imports_of_agent_chronicle_are_replaced():
    assert taken_over(HELPERS) == HELPERS.replace("chronicle.envelope.schema", "schema")
    assert taken_over("import json\nfrom . import x\n") == "import json\nfrom . import x\n"
    with pytest.raises(ValueError, match=r"line 1 imports chronicle\.other"):
        taken_over("from chronicle.other import x\n")


def test_the_fix_is_the_module_in_gated_mode():
    assert in_mode('X = 1\n_mode = "ungated"\n', "gated") == 'X = 1\n_mode = "gated"\n'
    with pytest.raises(ValueError, match="it has no mode"):
        in_mode("X = 1\n", "gated")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("incidents") / "pay"
    write_incident(Guarded("Pay", AGENT, "pay"), taken_over(HELPERS), folder)
    return folder


@pytest.mark.slow
def test_a_study_of_a_converted_folder_has_every_method(folder, tmp_path):
    options = StudyOptions(operators="paper", out=str(tmp_path), sample=0, inputs=4)
    study = study_of([folder], options, lambda *_: None)
    mutants, cut, stub = counted(study, ["Pay"])["Pay"]
    assert mutants == len(study.incidents[0].results)
    assert 0 < cut < mutants
    assert stub == 0
    assert "the function without the fix" in {canary.what for canary in study.incidents[0].canaries}


@pytest.mark.slow
@pytest.mark.parametrize("rebuilds", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_trials_are_timed_and_their_servers_measured(folder, rebuilds):
    trials = _Trials(folder, rebuilds=rebuilds)
    try:
        trials.warm()
        phase = trials.run(4)
        assert phase.count == 4
        assert phase.seconds > 0
        assert trials.sessions
        assert trials.resident() > _resident(0) / 10 > 0
        assert all(_processor(session) > 0 for session in trials.sessions)
    finally:
        trials.end()
