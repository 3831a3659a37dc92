"""Recorded agents replay the same output, exit status and objects, and call no provider."""

import pytest

from tests.agents.cases import CASES
from tests.agents.workshop import assert_same, record, set_up


@pytest.fixture
def times(request):
    """Return how often each program is replayed by the starter, and in forks of a process that has imported the SDKs."""
    return (3, 17) if request.config.getoption("--thorough") else (1, 1)


@pytest.fixture
def starter(request, case, fresh, forked):
    """Return what a program is recorded with.

    The SDKs are woven at import in new interpreters, and in place in the forks (`zygote.py`). With `--thorough` each program
    is recorded in a new interpreter. Each build does so with `IN_NEW`, and with those without an SDK, which start sooner
    than a fork of the big process.
    """
    is_thorough = request.config.getoption("--thorough")
    return fresh if is_thorough or case in IN_NEW or not case.calls else forked


def by_name(*names):
    return [case for case in CASES if case.module in names]


REBUILT = by_name(
    "openai_stream", "openai_responses", "openai_raw", "openai_errors", "anthropic_messages", "anthropic_async",
    "anthropic_stream", "tools_raise", "tools_async", "tools_generators",
)  # fmt: skip
"""The programs whose objects differ most. Each build tries these, and `--thorough` tries all programs."""


IN_NEW = by_name("openai_errors", "anthropic_stream")
"""The programs with an SDK that each build records and replays in new interpreters."""


def weight(case):
    """Return the mark of a case: `slow` ones are tried in each build, `thorough` ones only with `--thorough`."""
    return pytest.mark.slow if case in REBUILT else pytest.mark.thorough


MODELS = by_name("openai_chat", "openai_gather", "anthropic_stream")
PLAIN = by_name("tools_raise", "tools_async", "shop.desk", "talks", "uncaught", "exits")


def record_and_stop(runner, provider, case, folder):
    """Record a program, and stop its provider before returning."""
    set_up(case, folder)
    if not case.calls:
        return record(runner, case, folder)
    with provider.serve(latency=(0.0, 0.01)) as model:
        recorded = record(runner, case, folder, model)
        assert model.calls > 0
    return recorded


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_an_agent_replays_the_same_without_its_provider(case, forked, provider, tmp_path):
    recorded = record_and_stop(forked, provider, case, tmp_path)
    assert_same(recorded, forked.run(tmp_path, "replay", "last"), case.status)


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_a_program_without_a_model_replays_the_same(case, fresh, provider, tmp_path):
    recorded = record_and_stop(fresh, provider, case, tmp_path)
    assert_same(recorded, fresh.run(tmp_path, "replay", "last"), case.status)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=weight(case)) for case in CASES],
    ids=str,
)
def test_each_program_replays_the_same_each_time(case, starter, fresh, forked, provider, times, tmp_path):
    recorded = record_and_stop(starter, provider, case, tmp_path)
    for _ in range(times[0]):
        assert_same(recorded, starter.run(tmp_path, "replay", "last"), case.status)
    runner = forked if case.calls else fresh
    for _ in range(times[1]):
        assert_same(recorded, runner.run(tmp_path, "replay", "last"), case.status)


@pytest.mark.parametrize("case", by_name("openai_chat"), ids=str)
def test_a_replay_in_a_fresh_process_calls_no_provider(case, fresh, provider, tmp_path):
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
def test_a_recorded_command_replays_in_process_as_an_imported_module(case, forked, provider, tmp_path):
    recorded = record_and_stop(forked, provider, case, tmp_path)
    (tmp_path / "in_process.py").write_text(IN_PROCESS.format(module=case.module))
    keys = dict.fromkeys(("OPENAI_API_KEY", "OPENAI_BASE_URL"), "http://127.0.0.1:9/v1")
    replayed = forked.run(tmp_path, module="in_process", **keys)
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


@pytest.mark.parametrize("case", by_name("openai_parse", "shop.desk"), ids=str)
def test_a_replay_gives_equal_objects(case, forked, tmp_path):
    assert_equal_objects(forked, case, tmp_path, 2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=weight(case)) for case in CASES if case.main],
    ids=str,
)
def test_each_replay_gives_equal_objects(case, starter, times, tmp_path):
    assert_equal_objects(starter, case, tmp_path, times[1])
    for _ in range(times[0]):
        replayed = starter.run(tmp_path, "again", case.module, module="tests.agents.objects")
        assert replayed.status == 0, replayed.stderr


def assert_equal_objects(runner, case, folder, forks):
    """Record in a process, stop the provider, replay in forks of the process, and compare the program's objects."""
    set_up(case, folder)
    completed = runner.run(folder, "all", case.module, str(forks), module="tests.agents.objects")
    assert completed.status == 0, completed.stderr
    assert completed.stdout.decode().splitlines()[-1] == f"{forks} equal"
