"""Judging by model endpoints: real SDKs run in the judge's own process, against the provider."""

import json
import os
import socket
import subprocess

import pytest

import autochron
from autochron import provider
from autochron.crossing.pausing import PLACEHOLDER
from autochron.errors import JudgeError, JudgeSetupError, NotJudgedError, VerdictError
from autochron.judging.judgement import Judge
from autochron.provider import Script, Step
from autochron.store.tracefile import read_trace
from tests.judging.conftest import GOOD

POLITE = "The answer is polite."


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judged.jsonl"


def test_one_process_sends_all_questions_to_an_endpoint(model, path):
    with Judge("openai:m", path, mode="record") as judge:
        scores = [
            judge.judge(POLITE, subject).score
            for subject in ("Thanks!", "You are rude.", "say it in prose", "out of range", "busy")
        ]
        process = judge._process._process
        with pytest.raises(
            VerdictError, match=r"no JSON object with a score in it; it said 'I would rather not say\.'"
        ):
            judge.judge(POLITE, "mumble")
        with pytest.raises(
            JudgeSetupError, match=r"/v1 refuses the key in OPENAI_API_KEY for m: .*; set another"
        ):
            judge.judge(POLITE, "wrong key")
        assert judge._process._process is process
    assert process.poll() is not None
    assert scores == [0.9, 0.1, 0.9, 0.9, 0.9]
    assert dict(model.stats.by_status) == {"200": 8, "429": 1, "401": 1}
    metas = [json.loads(envelope.meta) for envelope in read_trace(str(path)).envelopes]
    assert {meta["model"] for meta in metas} == {"openai:m"}
    assert all(meta["sampling"] == {"temperature": 0} for meta in metas)
    assert all(meta["usage"]["total_tokens"] > 0 for meta in metas)
    assert all(meta["sdk"].startswith("openai ") for meta in metas)


def test_a_recorded_judgement_needs_no_model(environment, path):
    """The judgement is recorded with a provider, and served without a provider and without a key."""
    with provider.serve(script=Script((Step(text=GOOD),))) as model:
        environment.setenv("OPENAI_API_KEY", "sk-test")
        recorded = autochron.judge(
            POLITE, "Thanks!", model="openai:m", record=path, base_url=model.url, mode="record"
        )
        assert model.calls == 1
    environment.delenv("OPENAI_API_KEY")
    environment.setattr(subprocess, "Popen", None)  # no process can be started, so no model can be called
    served = autochron.judge(POLITE, "Thanks!", model="openai:m", record=path)
    with pytest.raises(NotJudgedError):
        autochron.judge(POLITE, "Thank you!", model="openai:m", record=path)
    assert (served.score, served.reason, served.recorded) == (recorded.score, recorded.reason, True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "refuses", [("temperature",), ("response_format",), ("temperature", "response_format")]
)
def test_options_that_an_endpoint_refuses_are_left_out(refuses, environment, path):
    environment.setenv("OPENAI_API_KEY", "sk-test")
    with provider.serve(script=Script((Step(text=GOOD),), refuses)) as model:
        with Judge("openai:m", path, base_url=model.url, mode="record") as judge:
            for subject in ("one", "two"):
                assert judge.judge(POLITE, subject).score == 0.9
        # A refused option is not sent again.
        assert dict(model.stats.by_status) == {"400": len(refuses), "200": 2}
    (first, _) = read_trace(str(path)).envelopes
    assert ("sampling" in json.loads(first.meta)) is ("temperature" not in refuses)


@pytest.mark.slow
def test_a_refusal_for_another_reason_is_reported_with_the_first_response(environment, path):
    environment.setenv("OPENAI_API_KEY", "sk-test")
    script = Script((Step(when=("too long",), fault="400"), Step(text=GOOD)))
    with (
        provider.serve(script=script) as model,
        Judge("openai:m", path, base_url=model.url, mode="record") as judge,
    ):
        with pytest.raises(JudgeError, match="400 on request"):
            judge.judge(POLITE, "too long")
        assert dict(model.stats.by_status) == {"400": 3}
        judge.judge(POLITE, "short")
    (envelope,) = read_trace(str(path)).envelopes
    assert json.loads(envelope.meta)["sampling"] == {
        "temperature": 0
    }  # options that were left out in vain are sent again


@pytest.mark.thorough
def test_an_endpoint_that_cannot_be_called_is_reported_with_the_reason(model, environment, path):
    def ask(**changes):
        arguments = {"model": "openai:m", "record": path, "mode": "record"} | changes
        with pytest.raises(JudgeError) as caught:
            autochron.judge(POLITE, "Thanks!", **arguments)
        return str(caught.value)

    environment.delenv("OPENAI_API_KEY")
    assert ask() == (
        "OPENAI_API_KEY isn't set, so openai:m has no key; set it (an endpoint that wants none takes any value) (judge-setup)"
    )
    environment.setenv("OPENAI_API_KEY", PLACEHOLDER)
    assert ask() == (
        "OPENAI_API_KEY holds no more than a replay's placeholder, so openai:m has no key; set it to a real one (judge-setup)"
    )
    environment.setenv("OPENAI_API_KEY", "sk-test")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert f"openai:m at http://127.0.0.1:{port} didn't answer" in ask(base_url=f"http://127.0.0.1:{port}")
    secret = f"http://me:hunter2hunter2@127.0.0.1:{port}"
    assert "hunter2" not in ask(base_url=secret)
    assert "has no model m" in ask(base_url=f"{model.origin}/elsewhere")
    assert model.stats.by_endpoint == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "name", "remedy"),
    [
        ("openai", "openai:m", "needs the package openai (blocked); pip install 'autochron[judge]'"),
        ("pydantic_ai", "pydantic-ai:openai:m", "needs the package pydantic-ai (blocked); pip install pydantic-ai"),
    ],
)  # fmt: skip
def test_a_missing_package_is_named(package, name, remedy, model, environment, path, tmp_path):
    (tmp_path / f"{package}.py").write_text("raise ImportError('blocked')\n")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment.setenv("PYTHONPATH", os.pathsep.join(paths))
    with pytest.raises(JudgeSetupError) as caught:
        autochron.judge(POLITE, "Thanks!", model=name, record=path, mode="record")
    assert str(caught.value) == f"{name} {remedy} (judge-setup)"
    assert model.calls == 0


@pytest.mark.slow
def test_the_judge_imports_no_module_from_the_working_folder(model, environment, path, tmp_path):
    (tmp_path / "openai.py").write_text("raise SystemExit('shadowed')\n")
    environment.chdir(tmp_path)
    assert autochron.judge(POLITE, "Thanks!", model="openai:m", record=path, mode="record").score == 0.9


@pytest.mark.slow
def test_a_judge_process_that_dies_is_reported(model, environment, path, tmp_path):
    (tmp_path / "openai.py").write_text("import sys\nsys.exit('no more memory')\n")
    environment.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(
        JudgeSetupError, match="the judge's process ended with status 1: no more memory; try again"
    ):
        autochron.judge(POLITE, "Thanks!", model="openai:m", record=path, mode="record")


@pytest.mark.slow
def test_output_of_an_sdk_is_not_taken_for_an_answer(model, environment, path, tmp_path):
    (tmp_path / "usercustomize.py").write_text("")
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, threading\n"
        "class Noisy:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'openai': print('loading', name, flush=True)\n"
        "sys.meta_path.insert(0, Noisy())\n"
    )
    environment.setenv("PYTHONPATH", str(tmp_path))
    assert autochron.judge(POLITE, "Thanks!", model="openai:m", record=path, mode="record").score == 0.9


@pytest.mark.thorough
def test_a_model_of_pydantic_ai_can_judge(model, path, environment):
    pytest.importorskip("pydantic_ai")
    name = "pydantic-ai:openai-chat:m"
    with Judge(name, path, mode="record") as judge:
        assert judge.judge(POLITE, "Thanks!").score == 0.9
        assert judge.judge(POLITE, "say it in prose").score == 0.9
        assert judge.judge(POLITE, "out of range").score == 0.9
        with pytest.raises(VerdictError, match="I would rather not say"):
            judge.judge(POLITE, "mumble")
        with pytest.raises(JudgeError, match=r"didn't answer: Model[A-Za-z]*Error: status_code: 500"):
            judge.judge(POLITE, "broken")
    metas = [json.loads(envelope.meta) for envelope in read_trace(str(path)).envelopes]
    assert all(meta["sdk"].startswith("pydantic-ai ") for meta in metas)
    assert all(meta["usage"]["input_tokens"] > 0 for meta in metas)
    with pytest.raises(JudgeSetupError, match="base_url is for openai: models"):
        autochron.judge(POLITE, "new", model=name, record=path, base_url=model.url, mode="record")
    environment.delenv("OPENAI_BASE_URL")
    environment.setenv("OPENAI_API_KEY", PLACEHOLDER)
    with pytest.raises(
        JudgeSetupError, match=r"OPENAI_API_KEY.*\(taken for unset, .*placeholder: OPENAI_API_KEY\)"
    ):
        autochron.judge(POLITE, "new", model=name, record=path, mode="record")


@pytest.mark.slow
def test_a_temperature_that_a_model_of_pydantic_ai_refuses_is_left_out(path, environment):
    pytest.importorskip("pydantic_ai")
    environment.setenv("OPENAI_API_KEY", "sk-test")
    with provider.serve(script=Script((Step(text=GOOD),), ("temperature",))) as model:
        environment.setenv("OPENAI_BASE_URL", model.url)
        judgement = autochron.judge(
            POLITE, "Thanks!", model="pydantic-ai:openai-chat:m", record=path, mode="record"
        )
        assert (judgement.score, dict(model.stats.by_status)) == (0.9, {"400": 1, "200": 1})
    (envelope,) = read_trace(str(path)).envelopes
    assert "sampling" not in json.loads(envelope.meta)
