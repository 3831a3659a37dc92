"""Code in a pause makes no crossings, is not watched, and starts no child processes of the session."""

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
def test_boundaries_in_a_pause_make_no_crossings(work, block):
    def run():
        with paused():
            work()
        return ask("after")

    result, trace = block.record(run)
    assert [envelope.input for envelope in trace.envelopes] == [b'{"question":"after"}']
    assert [envelope.lane for envelope in trace.envelopes] == ["0"]
    assert block.replay(trace, run) == (result, ())


def test_work_submitted_in_a_pause_to_an_older_pool_makes_no_crossings(block):
    def run():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(ask, "before").result()
            with paused():
                pool.submit(ask, "paused").result()
            pool.submit(ask, "after").result()

    _, trace = block.record(run)
    assert [envelope.input for envelope in trace.envelopes] == [
        b'{"question":"before"}',
        b'{"question":"after"}',
    ]


def test_a_crossing_continues_after_a_pause_inside_it(block):
    _, trace = block.record(outer)
    assert [(envelope.name, envelope.parent) for envelope in trace.envelopes] == [("outer", None), ("ask", 1)]


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
    assert [envelope.input for envelope in trace.envelopes] == [b'{"question":"other"}']


def test_a_stream_that_began_before_a_pause_continues_its_crossing_in_it(block):
    def run():
        stream = count(3)
        first = next(stream)
        with paused():
            second = next(stream)
            ask("paused")
        return [first, second, *stream]

    result, trace = block.record(run)
    assert result == [0, 1, 2]
    (envelope,) = trace.envelopes
    assert envelope.outcome.items == (b"0", b"1", b"2")
    assert block.replay(trace, run) == (result, ())


@pytest.fixture
def greeter():
    """Yield the address of a server that sends a greeting, and the list of its connections."""
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

    result, trace = block.record(run)
    assert (result, trace.footer.connections) == (b"hello", ())
    assert block.replay(trace, run) == (b"hello", ())
    assert len(greeted) == 2
    with pytest.raises(ConnectionRefusedError):
        block.replay(trace, reach)  # outside a pause it is refused
    assert len(greeted) == 2


TELLS = f"import os; print({VARIABLE!r} in os.environ)"


def start(**more):
    return subprocess.run(
        [sys.executable, "-S", "-c", TELLS], capture_output=True, text=True, check=True, timeout=60, **more
    ).stdout.strip()


def variable_seen_by_children():
    return start(), start(env=dict(os.environ))


def test_a_process_that_a_pause_starts_gets_no_context_and_is_not_in_the_ledger(tmp_path, block):
    def run():
        with paused():
            return variable_seen_by_children()

    with autochron.record(store=f"{tmp_path}/traces.db", rules=block.rules) as recording:
        assert run() == ("False", "False")
        assert variable_seen_by_children() == ("True", "True")
    trace = recording.trace()
    assert [entry.slug for entry in trace.footer.ledger] == [
        "child-process"
    ]  # the last two processes, which could not join because of -S
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
def test_a_process_that_multiprocessing_starts_in_a_pause_is_no_child_of_the_session(
    work, store, tmp_path, block, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with autochron.record(store=store, rules=block.rules) as recording:
        with paused():
            work()
        ask("after")
    trace = recording.trace()
    assert [(envelope.lane, envelope.input) for envelope in trace.envelopes] == [
        ("0", b'{"question":"after"}')
    ]
    assert trace.footer.ledger == ()


@pytest.fixture
def environment(monkeypatch):
    """Undo replaced variables after the test."""
    monkeypatch.setattr(pausing, "_replaced", {})
    for name in ("AGENT_KEY", "AGENT_URL", "OTHER_KEY"):
        monkeypatch.setenv(name, "to be restored")
        monkeypatch.delenv(name)
    return monkeypatch


def test_surroundings_have_the_variables_from_before_a_replay(environment):
    environment.setenv("AGENT_URL", "http://mine")
    replace_variable("AGENT_URL", "http://recorded")
    replace_variable("AGENT_KEY", PLACEHOLDER)
    environment.setenv(VARIABLE, "{}")
    result = surroundings()
    assert os.environ["AGENT_URL"] == "http://recorded"
    assert result.environment["AGENT_URL"] == "http://mine"
    assert {"AGENT_KEY", VARIABLE} & set(result.environment) == set()
    assert result.placeholders == ("AGENT_KEY",)


def test_surroundings_keep_variables_that_the_program_has_set_since(environment):
    replace_variable("AGENT_KEY", PLACEHOLDER)
    replace_variable("AGENT_URL", "http://recorded")
    os.environ["AGENT_KEY"] = "sk-of-its-own"
    os.environ["AGENT_URL"] = "http://elsewhere"
    result = surroundings()
    assert (result.environment["AGENT_KEY"], result.environment["AGENT_URL"]) == (
        "sk-of-its-own",
        "http://elsewhere",
    )
    assert result.placeholders == ()


def test_an_inherited_placeholder_counts_as_unset(environment):
    environment.setenv("OTHER_KEY", PLACEHOLDER)
    result = surroundings()
    assert "OTHER_KEY" not in result.environment
    assert result.placeholders == ("OTHER_KEY",)
