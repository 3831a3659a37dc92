"""The models that are asked: real SDKs in the judge's own process, against the provider."""

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


def test_an_endpoint_is_asked_by_one_process_for_many_questions(model, path):
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
    metas = [json.loads(each.meta) for each in read_trace(str(path)).envelopes]
    assert {meta["model"] for meta in metas} == {"openai:m"}
    assert all(meta["sampling"] == {"temperature": 0} for meta in metas)
    assert all(meta["usage"]["total_tokens"] > 0 for meta in metas)
    assert all(meta["sdk"].startswith("openai ") for meta in metas)


def test_a_judged_test_makes_no_call_when_the_model_is_gone(environment, path):
    """Recorded with a provider, and served with neither a provider nor a key."""
    with provider.serve(script=Script((Step(text=GOOD),))) as model:
        environment.setenv("OPENAI_API_KEY", "sk-test")
        made = autochron.judge(
            POLITE, "Thanks!", model="openai:m", record=path, base_url=model.url, mode="record"
        )
        assert model.calls == 1
    environment.delenv("OPENAI_API_KEY")
    environment.setattr(subprocess, "Popen", None)  # nothing can be started, and so nobody asked
    served = autochron.judge(POLITE, "Thanks!", model="openai:m", record=path)
    with pytest.raises(NotJudgedError):
        autochron.judge(POLITE, "Thank you!", model="openai:m", record=path)
    assert (served.score, served.reason, served.recorded) == (made.score, made.reason, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "refuses", [("temperature",), ("response_format",), ("temperature", "response_format")]
)
def test_an_endpoint_is_asked_without_what_it_does_not_take(refuses, environment, path):
    environment.setenv("OPENAI_API_KEY", "sk-test")
    with provider.serve(script=Script((Step(text=GOOD),), refuses)) as model:
        with Judge("openai:m", path, base_url=model.url, mode="record") as judge:
            for subject in ("one", "two"):
                assert judge.judge(POLITE, subject).score == 0.9
        # What is refused once isn't tried again.
        assert dict(model.stats.by_status) == {"400": len(refuses), "200": 2}
    (first, _) = read_trace(str(path)).envelopes
    assert ("sampling" in json.loads(first.meta)) is ("temperature" not in refuses)


@pytest.mark.slow
def test_a_refusal_for_another_reason_is_told_as_it_came_first(environment, path):
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
    (kept,) = read_trace(str(path)).envelopes
    assert json.loads(kept.meta)["sampling"] == {
        "temperature": 0
    }  # what was left out in vain is asked for again


@pytest.mark.slow
def test_what_cannot_be_asked_says_why(model, environment, path):
    def ask(**more):
        asked = {"model": "openai:m", "record": path, "mode": "record"} | more
        with pytest.raises(JudgeError) as caught:
            autochron.judge(POLITE, "Thanks!", **asked)
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
def test_what_lies_in_the_working_folder_is_no_part_of_the_judge(model, environment, path, tmp_path):
    (tmp_path / "openai.py").write_text("raise SystemExit('shadowed')\n")
    environment.chdir(tmp_path)
    assert autochron.judge(POLITE, "Thanks!", model="openai:m", record=path, mode="record").score == 0.9


@pytest.mark.slow
def test_a_process_that_dies_is_told_of(model, environment, path, tmp_path):
    (tmp_path / "openai.py").write_text("import sys\nsys.exit('no more memory')\n")
    environment.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(
        JudgeSetupError, match="the judge's process ended with status 1: no more memory; try again"
    ):
        autochron.judge(POLITE, "Thanks!", model="openai:m", record=path, mode="record")


@pytest.mark.slow
def test_what_an_sdk_prints_is_no_answer(model, environment, path, tmp_path):
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


@pytest.mark.slow
def test_any_model_of_pydantic_ai_judges(model, path, environment):
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
    metas = [json.loads(each.meta) for each in read_trace(str(path)).envelopes]
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
def test_any_model_of_pydantic_ai_is_asked_without_a_temperature_that_it_does_not_take(path, environment):
    pytest.importorskip("pydantic_ai")
    environment.setenv("OPENAI_API_KEY", "sk-test")
    with provider.serve(script=Script((Step(text=GOOD),), ("temperature",))) as model:
        environment.setenv("OPENAI_BASE_URL", model.url)
        made = autochron.judge(
            POLITE, "Thanks!", model="pydantic-ai:openai-chat:m", record=path, mode="record"
        )
        assert (made.score, dict(model.stats.by_status)) == (0.9, {"400": 1, "200": 1})
    (kept,) = read_trace(str(path)).envelopes
    assert "sampling" not in json.loads(kept.meta)
