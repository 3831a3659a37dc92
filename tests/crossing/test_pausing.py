"""A pause: what runs in it crosses nothing, is not watched, and is no child of a session."""

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import autochron
from autochron.crossing import pausing
from autochron.crossing.pausing import PLACEHOLDER, paused, replace_variable, surroundings
from autochron.crossing.processes import VARIABLE


@autochron.boundary
def ask(question):
    return question


@autochron.boundary
def count(upto):
    yield from range(upto)


@autochron.boundary
def outer():
    with paused():
        ask("inside a crossing")
    return ask("after")


def in_thread():
    thread = threading.Thread(target=ask, args=("thread",))
    thread.start()
    thread.join()


def in_pool():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ask, "pool").result()
        pool.submit(in_thread).result()


def in_task():
    async def main():
        async def task():
            ask("task")
            await asyncio.to_thread(ask, "to_thread")

        await asyncio.create_task(task())
        await asyncio.gather(task(), task())

    asyncio.run(main())


@pytest.mark.parametrize("work", [lambda: ask("here"), in_thread, in_pool, in_task])
def test_what_runs_in_a_pause_crosses_nothing(work, block):
    def run():
        with paused():
            work()
        return ask("after")

    given, trace = block.record(run)
    assert [each.input for each in trace.envelopes] == [b'{"question":"after"}']
    assert [each.lane for each in trace.envelopes] == ["0"]
    assert block.replay(trace, run) == (given, ())


def test_a_pool_that_stood_before_runs_what_a_pause_submits_in_the_pause(block):
    def run():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(ask, "before").result()
            with paused():
                pool.submit(ask, "paused").result()
            pool.submit(ask, "after").result()

    _, trace = block.record(run)
    assert [each.input for each in trace.envelopes] == [b'{"question":"before"}', b'{"question":"after"}']


def test_after_a_pause_a_crossing_goes_on_where_it_was(block):
    _, trace = block.record(outer)
    assert [(each.name, each.parent) for each in trace.envelopes] == [("outer", None), ("ask", 1)]


def test_another_thread_is_not_paused(block):
    def run():
        inside, done = threading.Event(), threading.Event()

        def other():
            inside.wait(10)
            ask("other")
            done.set()

        thread = threading.Thread(target=other)
        thread.start()
        with paused():
            inside.set()
            done.wait(10)
        thread.join()

    _, trace = block.record(run)
    assert [each.input for each in trace.envelopes] == [b'{"question":"other"}']


def test_a_stream_from_before_goes_on_in_its_crossing(block):
    def run():
        stream = count(3)
        first = next(stream)
        with paused():
            second = next(stream)
            ask("paused")
        return [first, second, *stream]

    given, trace = block.record(run)
    assert given == [0, 1, 2]
    (envelope,) = trace.envelopes
    assert envelope.outcome.items == (b"0", b"1", b"2")
    assert block.replay(trace, run) == (given, ())


@pytest.fixture
def greeter():
    """Yield the address of a server, and whom it greeted."""
    greeted = []
    server = socket.create_server(("127.0.0.1", 0))

    def greet():
        while True:
            try:
                plug, _ = server.accept()
            except OSError:
                return
            greeted.append(plug)
            plug.sendall(b"hello")
            plug.close()

    thread = threading.Thread(target=greet)
    thread.start()
    yield server.getsockname(), greeted
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


def test_a_connection_in_a_pause_is_neither_listed_nor_refused(block, greeter):
    address, greeted = greeter

    def reach():
        with socket.create_connection(address, timeout=10) as plug:
            return plug.recv(5)

    def run():
        with paused():
            return reach()

    given, trace = block.record(run)
    assert (given, trace.footer.connections) == (b"hello", ())
    assert block.replay(trace, run) == (b"hello", ())
    assert len(greeted) == 2
    with pytest.raises(ConnectionRefusedError):
        block.replay(trace, reach)  # without a pause it is refused, as ever
    assert len(greeted) == 2


TELLS = f"import os; print({VARIABLE!r} in os.environ)"


def start(**more):
    return subprocess.run(
        [sys.executable, "-S", "-c", TELLS], capture_output=True, text=True, check=True, timeout=60, **more
    ).stdout.strip()


def told():
    return start(), start(env=dict(os.environ))


def test_a_process_that_a_pause_starts_is_not_told_and_not_named(tmp_path, block):
    def run():
        with paused():
            return told()

    with autochron.record(store=f"{tmp_path}/traces.db", rules=block.rules) as recording:
        assert run() == ("False", "False")
        assert told() == ("True", "True")
    trace = recording.trace()
    assert [each.slug for each in trace.footer.ledger] == [
        "child-process"
    ]  # the last two, which -S keeps from coming
    with autochron.replay(trace, rules=block.rules) as replaying:
        assert run() == ("False", "False")
    assert replaying.divergences == ()


def crosses(_):
    ask("in a worker")
    return os.getpid()


def in_fork():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        return list(pool.map(crosses, [1]))


def by_process():
    process = multiprocessing.get_context("fork").Process(target=crosses, args=(1,))
    process.start()
    process.join()
    assert process.exitcode == 0


@pytest.mark.parametrize("store", ["memory:", "traces.db"])
@pytest.mark.parametrize("work", [in_fork, by_process])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_of_multiprocessing_in_a_pause_is_none_of_ours(work, store, tmp_path, block, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with autochron.record(store=store, rules=block.rules) as recording:
        with paused():
            work()
        ask("after")
    trace = recording.trace()
    assert [(each.lane, each.input) for each in trace.envelopes] == [("0", b'{"question":"after"}')]
    assert trace.footer.ledger == ()


@pytest.fixture
def environment(monkeypatch):
    """Forget afterwards what a replay replaced."""
    monkeypatch.setattr(pausing, "_replaced", {})
    for name in ("AGENT_KEY", "AGENT_URL", "OTHER_KEY"):
        monkeypatch.setenv(name, "to be restored")
        monkeypatch.delenv(name)
    return monkeypatch


def test_surroundings_are_as_they_were_before_a_replay(environment):
    environment.setenv("AGENT_URL", "http://mine")
    replace_variable("AGENT_URL", "http://recorded")
    replace_variable("AGENT_KEY", PLACEHOLDER)
    environment.setenv(VARIABLE, "{}")
    found = surroundings()
    assert os.environ["AGENT_URL"] == "http://recorded"
    assert found.environment["AGENT_URL"] == "http://mine"
    assert {"AGENT_KEY", VARIABLE} & set(found.environment) == set()
    assert found.placeholders == ("AGENT_KEY",)


def test_surroundings_keep_what_the_program_has_set_since(environment):
    replace_variable("AGENT_KEY", PLACEHOLDER)
    replace_variable("AGENT_URL", "http://recorded")
    os.environ["AGENT_KEY"] = "sk-of-its-own"
    os.environ["AGENT_URL"] = "http://elsewhere"
    found = surroundings()
    assert (found.environment["AGENT_KEY"], found.environment["AGENT_URL"]) == (
        "sk-of-its-own",
        "http://elsewhere",
    )
    assert found.placeholders == ()


def test_a_placeholder_that_was_inherited_counts_as_unset(environment):
    environment.setenv("OTHER_KEY", PLACEHOLDER)
    found = surroundings()
    assert "OTHER_KEY" not in found.environment
    assert found.placeholders == ("OTHER_KEY",)
