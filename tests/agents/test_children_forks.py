"""Child processes that run the program's own code: `os.fork`, `multiprocessing` and pools of processes."""

import pytest

from autochron.store import open_store
from tests.agents.workshop import Fresh, write

TOOL = """
import multiprocessing, os, signal, sys, time
from concurrent.futures import ProcessPoolExecutor


def tool(n):
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{n}\\n")
    return n * n


def fails(n):
    raise ValueError(tool(n))


def work(queue, n):
    queue.put(tool(n))


def waits(queue):
    queue.put(tool(1))
    time.sleep(60)

"""


def lay_out(folder, source):
    body = "".join(f"    {line}\n" for line in source.strip().splitlines())
    return write(folder, f'{TOOL}\nif __name__ == "__main__":\n{body}', "tool")


def ledger(folder):
    path = folder / "ledger.txt"
    return sorted(map(int, path.read_text().split())) if path.exists() else []


def recorded_crossings(folder):
    trace = open_store(str(folder / ".autochron" / "traces.db")).load("last")
    assert [envelope.seq for envelope in trace.envelopes] == list(range(1, len(trace.envelopes) + 1))
    assert len({envelope.address for envelope in trace.envelopes}) == len(trace.envelopes)
    return sorted((envelope.lane, envelope.input.decode()) for envelope in trace.envelopes)


def assert_recorded_and_served(folder, lanes, *arguments):
    """Record and replay. Check that output is as without autochron, that each tool runs once, and the crossings' lanes."""
    fresh = Fresh()
    unrecorded = fresh.run(folder, *arguments, module="agent")
    (folder / "ledger.txt").unlink(missing_ok=True)
    completed = fresh.run(folder, "run", "agent.py", *arguments)
    assert (completed.status, completed.stdout) == (unrecorded.status, unrecorded.stdout), completed.stderr
    assert "not woven" not in completed.stderr
    assert recorded_crossings(folder) == sorted((lane, f'{{"n":{n}}}') for lane, n in lanes)
    done = ledger(folder)
    assert done == sorted(n for _, n in lanes)
    replayed = fresh.run(folder, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, completed.stdout), replayed.stderr
    assert "none live" in replayed.stderr
    assert ledger(folder) == done
    return completed


FORKS = """
print(tool(1), flush=True)
child = os.fork()
if child == 0:
    print(tool(2), flush=True)
    grandchild = os.fork()
    if grandchild == 0:
        print(tool(3), flush=True)
        sys.exit(4)
    print(os.waitpid(grandchild, 0)[1], flush=True)
    os._exit(5)
print(os.waitpid(child, 0)[1], flush=True)
print(tool(4), flush=True)
"""


def test_a_fork_has_a_lane_of_its_own(tmp_path):
    lay_out(tmp_path, FORKS)
    assert_recorded_and_served(
        tmp_path, [("0", 1), ("0", 4), ("0/child:fork.1", 2), ("0/child:fork.1/child:fork.1", 3)]
    )


TWO = """
children = []
for n in (1, 2):
    child = os.fork()
    if child == 0:
        for each in range(3):
            tool(10 * n + each)
        os._exit(n)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
"""


def test_two_forks_at_once_have_a_lane_each(tmp_path):
    lay_out(tmp_path, TWO)
    assert_recorded_and_served(
        tmp_path, [(f"0/child:fork.{n}", 10 * n + step) for n in (1, 2) for step in range(3)]
    )


KILLED = """
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    tool(7)
    os.write(writing, b".")
    time.sleep(60)
os.read(reading, 1)
os.kill(child, getattr(signal, sys.argv[1]))
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_crossings_of_a_killed_fork_are_recorded_and_served(how, tmp_path):
    lay_out(tmp_path, KILLED)
    assert_recorded_and_served(tmp_path, [("0/child:fork.1", 7)], how)


AT_ONCE = """
found = set()
for _ in range(60):
    child = os.fork()
    if child == 0:
        time.sleep(0.5)
        os._exit(1)
    os.kill(child, signal.SIGTERM)
    found.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(found)
"""


@pytest.mark.parametrize("option", [(), ("--no-children",)])
def test_a_fork_that_is_terminated_before_it_runs_is_ended(option, tmp_path):
    lay_out(tmp_path, AT_ONCE)
    completed = Fresh().run(tmp_path, "run", *option, "agent.py")
    assert completed.stdout == b"{-15}\n", completed.stderr


INSIDE = """
import autochron


@autochron.boundary
def outer():
    child = os.fork()
    if child == 0:
        tool(2)
        return os._exit(0)
    os.waitpid(child, 0)
    return tool(3)


print(outer())
"""


def test_crossings_of_a_fork_inside_a_crossing_are_its_children(tmp_path):
    lay_out(tmp_path, INSIDE)
    fresh = Fresh()
    completed = fresh.run(tmp_path, "run", "agent.py")
    assert completed.status == 0, completed.stderr
    trace = open_store(str(tmp_path / ".autochron" / "traces.db")).load("last")
    assert [(envelope.address, envelope.lane, envelope.parent) for envelope in trace.envelopes] == [
        ("outer[1]", "0", None),
        ("tool[2]", "0/child:fork.1", 1),
        ("tool[1]", "0", 1),
    ]
    replayed = fresh.run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, completed.stdout), replayed.stderr
    assert ledger(tmp_path) == [2, 3]


PROCESSES = """
context = multiprocessing.get_context(sys.argv[1])
queue = context.SimpleQueue()
both = [context.Process(target=work, args=(queue, n)) for n in (2, 3)]
for process in both:
    process.start()
    print(queue.get())
for process in both:
    process.join()
print([process.exitcode for process in both])
"""


@pytest.mark.parametrize(
    "how",
    [
        "fork",
        pytest.param("spawn", marks=pytest.mark.slow),
        pytest.param("forkserver", marks=pytest.mark.slow),
    ],
)
def test_processes_of_multiprocessing_have_a_lane_each(how, tmp_path):
    lay_out(tmp_path, PROCESSES)
    assert_recorded_and_served(tmp_path, [("0/child:work.1", 2), ("0/child:work.2", 3)], how)


DEFAULT = """
class Process(multiprocessing.Process):
    def run(self):
        tool(7)


multiprocessing.set_start_method("fork")
process = Process()
process.start()
process.join()
print(process.exitcode)
"""


def test_a_process_of_the_default_context_has_a_lane(tmp_path):
    lay_out(tmp_path, DEFAULT)
    assert_recorded_and_served(tmp_path, [("0/child:Process.1", 7)])


TERMINATED = """
context = multiprocessing.get_context(sys.argv[1])
queue = context.SimpleQueue()
process = context.Process(target=waits, args=(queue,))
process.start()
print(queue.get())
process.terminate()
process.join()
print(process.exitcode)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [pytest.param("fork", marks=pytest.mark.thorough), "spawn", "forkserver"])
def test_a_terminated_process_loses_no_crossing(how, tmp_path):
    lay_out(tmp_path, TERMINATED)
    assert_recorded_and_served(tmp_path, [("0/child:waits.1", 1)], how)


POOLS = """
context = multiprocessing.get_context(sys.argv[1])
with ProcessPoolExecutor(2, mp_context=context) as pool:
    futures = [pool.submit(tool, n) for n in range(4)]
    print([future.result() for future in futures])
    try:
        pool.submit(fails, 4).result()
    except ValueError as error:
        print(repr(error), "autochron" in str(error.__cause__))
with context.Pool(2) as pool:
    print(pool.map(tool, range(10, 14), chunksize=1), pool.apply_async(tool, (14,)).get())
    print(sorted(pool.imap_unordered(tool, range(20, 23))))
"""


@pytest.mark.parametrize(
    "how",
    [
        "fork",
        pytest.param("spawn", marks=pytest.mark.slow),
        pytest.param("forkserver", marks=pytest.mark.slow),
    ],
)
def test_crossings_of_a_pool_belong_to_the_task_and_not_to_the_worker(how, tmp_path):
    lay_out(tmp_path, POOLS)
    inputs = [*range(4), *range(10, 15), *range(20, 23)]
    lanes = [(f"0/child:tool.{at}", n) for at, n in enumerate(inputs, 1)]
    completed = assert_recorded_and_served(tmp_path, [*lanes, ("0/child:fails.1", 4)], how)
    assert b"ValueError(16) False" in completed.stdout


FEW = """
with multiprocessing.get_context("fork").Pool(1) as pool:
    for n in range(2):
        pool.apply(tool, (n,))
"""


@pytest.mark.slow
def test_a_pool_can_be_ended_while_its_workers_return_to_wait(tmp_path, request):
    lay_out(tmp_path, FEW)
    for _ in range(12 if request.config.getoption("--thorough") else 4):
        assert Fresh().run(tmp_path, "run", "--quiet", "agent.py").status == 0


THREADS = """
import threading

answers = []


def start(n):
    process = context.Process(target=work, args=(queue, n))
    process.start()
    process.join()


context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
threads = [threading.Thread(target=start, args=(n,)) for n in (2, 3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted([queue.get(), queue.get()]))
"""


def test_processes_that_threads_start_have_the_threads_lanes(tmp_path):
    lay_out(tmp_path, THREADS)
    assert_recorded_and_served(tmp_path, [("0/start.1/child:work.1", 2), ("0/start.2/child:work.1", 3)])


BLOCK = """
import autochron

tool = autochron.boundary(tool)
for session in (autochron.record("blocks"), autochron.replay("blocks")):
    with session:
        child = os.fork()
        if child == 0:
            os._exit(tool(3))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_the_forks_of_a_block_are_recorded_and_served(tmp_path):
    lay_out(tmp_path, BLOCK)
    completed = Fresh().run(tmp_path, module="agent")
    assert (completed.status, completed.stdout) == (0, b"9\n9\n"), completed.stderr
    assert recorded_crossings(tmp_path) == [("0/child:fork.1", '{"n":3}')]
    assert ledger(tmp_path) == [3]


def test_forks_of_a_block_that_records_into_memory_are_reported(tmp_path):
    source = BLOCK.replace('record("blocks")', 'record("blocks", store="memory:")')
    source = source.replace('replay("blocks")', 'replay("blocks", store="memory:")').replace("tool(3)", "3")
    lay_out(tmp_path, f"{source}\nprint([each.slug for each in session.record.footer.ledger])")
    completed = Fresh().run(tmp_path, module="agent")
    assert completed.stdout.splitlines()[-1].startswith(b"['child-process'"), completed.stderr
