"""Agents that are recorded replay the same: output, exit status and objects, with no call of the provider."""

import pytest

from autochron import provider
from tests.agents.cases import CASES
from tests.agents.workshop import assert_same, record, set_up


@pytest.fixture
def times(request):
    """How often each is replayed in interpreters of its own, and in forks of one that has imported the SDKs.

    The SDKs are woven as they are imported in the first, and in place in the others (`zygote.py`); `record` is of the first
    kind.
    """
    return (3, 17) if request.config.getoption("--thorough") else (1, 1)


def by_name(*names):
    return [case for case in CASES if case.module in names]


REBUILT = by_name(
    "openai_stream", "openai_responses", "openai_raw", "openai_errors", "anthropic_messages", "anthropic_async",
    "anthropic_stream", "tools_raise", "tools_async", "tools_generators",
)  # fmt: skip
"""What differs most in the objects that it gets; each build tries these, and --thorough all."""


def weight(case):
    """Say in which runs of the tests a case is tried: a half in each build."""
    return pytest.mark.slow if case in REBUILT else pytest.mark.thorough


MODELS = by_name("openai_chat", "openai_gather", "anthropic_stream")
PLAIN = by_name("tools_raise", "tools_async", "shop.desk", "talks", "uncaught", "exits")


def record_and_stop(runner, case, folder):
    """Record a program; its provider is gone when this returns."""
    set_up(case, folder)
    if not case.calls:
        return record(runner, case, folder)
    with provider.serve(latency=(0.0, 0.01)) as model:
        recorded = record(runner, case, folder, model)
        assert model.calls > 0
    return recorded


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_replays_the_same_without_its_provider(case, forked, tmp_path):
    recorded = record_and_stop(forked, case, tmp_path)
    assert_same(recorded, forked.run(tmp_path, "replay", "last"), case.status)


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_replays_the_same_without_a_model(case, fresh, tmp_path):
    recorded = record_and_stop(fresh, case, tmp_path)
    assert_same(recorded, fresh.run(tmp_path, "replay", "last"), case.status)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=weight(case)) for case in CASES],
    ids=str,
)
def test_replays_the_same_each_time(case, fresh, forked, times, tmp_path):
    recorded = record_and_stop(fresh, case, tmp_path)
    for _ in range(times[0]):
        assert_same(recorded, fresh.run(tmp_path, "replay", "last"), case.status)
    runner = (
        forked if case.calls else fresh
    )  # without an SDK an interpreter is there sooner than a fork of a big one
    for _ in range(times[1]):
        assert_same(recorded, runner.run(tmp_path, "replay", "last"), case.status)


@pytest.mark.parametrize("case", by_name("openai_chat"), ids=str)
def test_replays_the_same_in_a_fresh_process_and_calls_no_provider(case, fresh, tmp_path):
    set_up(case, tmp_path)
    with provider.serve() as model:
        recorded = record(fresh, case, tmp_path, model)
        calls = model.calls
        assert_same(recorded, fresh.run(tmp_path, "replay", "last", model=model), case.status)
        assert model.calls == calls > 0


IN_PROCESS = """
import autochron
import {module}


def main():
    with autochron.replay("last"):
        {module}.main()
"""


@pytest.mark.parametrize("case", by_name("openai_chat"), ids=str)
def test_a_recorded_command_replays_in_process_as_an_imported_module(case, forked, tmp_path):
    recorded = record_and_stop(forked, case, tmp_path)
    (tmp_path / "in_process.py").write_text(IN_PROCESS.format(module=case.module))
    keys = dict.fromkeys(("OPENAI_API_KEY", "OPENAI_BASE_URL"), "http://127.0.0.1:9/v1")
    replayed = forked.run(tmp_path, module="in_process", **keys)
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


@pytest.mark.parametrize("case", by_name("openai_parse", "shop.desk"), ids=str)
def test_gives_equal_objects(case, forked, tmp_path):
    assert_equal_objects(forked, case, tmp_path, 2)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=weight(case)) for case in CASES if case.main],
    ids=str,
)
def test_gives_equal_objects_each_time(case, fresh, times, tmp_path):
    assert_equal_objects(fresh, case, tmp_path, times[1])
    for _ in range(times[0]):
        again = fresh.run(tmp_path, "again", case.module, module="tests.agents.objects")
        assert again.status == 0, again.stderr


def assert_equal_objects(runner, case, folder, forks):
    """Record in a process, stop the provider, replay in forks of it, and compare what the program got."""
    set_up(case, folder)
    ran = runner.run(folder, "all", case.module, str(forks), module="tests.agents.objects")
    assert ran.status == 0, ran.stderr
    assert ran.stdout.decode().splitlines()[-1] == f"{forks} equal"
