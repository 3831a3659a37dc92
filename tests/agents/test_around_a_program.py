"""A program outside its crossings: unwoven tools, the network, credentials, standard streams and the exit status."""

import os
import socket
import threading
from contextlib import contextmanager

import msgspec
import pytest

from autochron.store import open_store
from tests.agents.cases import HTTP
from tests.agents.workshop import write

PAYS = """
import json
from openai import OpenAI


def refund(order, cents):
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{order} {cents}\\n")
    return cents


PROPERTIES = {"order": {"type": "string"}, "cents": {"type": "integer"}}
TOOL = {"name": "refund", "parameters": {"type": "object", "properties": PROPERTIES, "required": ["order", "cents"]}}
response = OpenAI().chat.completions.create(
    model="m",
    messages=[{"role": "user", "content": "Refund 48213."}],
    tools=[{"type": "function", "function": TOOL}],
    tool_choice={"type": "function", "function": {"name": "refund"}},
)
for call in response.choices[0].message.tool_calls:
    print("refunded", refund(**json.loads(call.function.arguments)))
"""


def count_lines(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_tool_that_no_rule_weaves_is_reported_and_not_run_again(forked, provider, tmp_path):
    write(tmp_path, PAYS)
    (tmp_path / "autochron.toml").write_text("version = 1\nfind = false\n")
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model)
    assert recorded.status == 0
    assert "the model asked for refund, and no boundary is known to cover it" in recorded.stderr
    assert "(unwoven-tool)" in recorded.stderr
    paid = count_lines(tmp_path / "ledger.txt")
    refused = forked.run(tmp_path, "replay", "last")
    assert (refused.status, refused.stdout) == (2, b"")
    assert "refund" in refused.stderr
    assert "--allow-unwoven" in refused.stderr
    assert count_lines(tmp_path / "ledger.txt") == paid
    allowed = forked.run(tmp_path, "replay", "last", "--allow-unwoven")
    assert (allowed.status, allowed.stdout) == (0, recorded.stdout), allowed.stderr
    assert count_lines(tmp_path / "ledger.txt") == paid  # it ran, on a scratch copy
    assert "1 changed file outside every boundary on a scratch copy" in allowed.stderr


OTHER = 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\ntarget = "agent:other"\n'


@pytest.mark.parametrize(
    "rules",
    [
        "version = 1\n",
        pytest.param(None, marks=pytest.mark.slow),
        pytest.param(OTHER, marks=pytest.mark.slow),
    ],
)
def test_a_replay_with_other_rules_does_not_run_a_recorded_tool(rules, forked, provider, tmp_path):
    write(tmp_path, PAYS, "refund")
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model)
    assert recorded.status == 0, recorded.stderr
    paid = count_lines(tmp_path / "ledger.txt")
    if rules is None:
        (tmp_path / "autochron.toml").unlink()
    else:
        (tmp_path / "autochron.toml").write_text(rules)
    refused = forked.run(tmp_path, "replay", "last", "--store", "sqlite:///.autochron/traces.db")
    assert (refused.status, refused.stdout) == (2, b""), refused.stderr
    assert "refund" in refused.stderr
    assert count_lines(tmp_path / "ledger.txt") == paid


REACHES = """
import os
import socket


def reach():
    kind, address = os.environ["KIND"], os.environ["ADDRESS"]
    if kind == "unix":
        plug, where = socket.socket(socket.AF_UNIX), address
    else:
        host, port = address.rsplit(":", 1)
        plug, where = socket.socket(), (host, int(port))
    with plug:
        plug.connect(where)  # line 14
        return plug.recv(99)


try:
    print(reach())
except ConnectionRefusedError as error:
    print("refused")
"""


@contextmanager
def listening(kind, folder):
    """Serve a greeting. Yield the server's address, and a list of the connections that were greeted."""
    greeted = []
    server = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
    home = os.getcwd()
    os.chdir(folder)  # the path of a Unix socket must be short
    server.bind("greeter" if kind == "unix" else ("127.0.0.1", 0))
    os.chdir(home)
    server.listen()

    def greet():
        while True:
            try:
                plug, _ = server.accept()
            except OSError:
                return
            greeted.append(plug)
            plug.sendall(b"hello")
            plug.close()

    thread = threading.Thread(target=greet, daemon=True)
    thread.start()
    yield "greeter" if kind == "unix" else f"127.0.0.1:{server.getsockname()[1]}", greeted
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_connection_outside_every_crossing_is_listed_and_on_replay_refused(kind, fresh, tmp_path):
    write(tmp_path, REACHES)
    with listening(kind, tmp_path) as (address, greeted):
        recorded = fresh.run(tmp_path, "run", "agent.py", KIND=kind, ADDRESS=address)
        assert recorded.stdout == b"b'hello'\n", recorded.stderr
        assert (
            f"network outside every crossing: {address} at agent.py:14 (unmarked-network)" in recorded.stderr
        )
        assert len(greeted) == 1
        replayed = fresh.run(tmp_path, "replay", "last", KIND=kind, ADDRESS=address)
        assert len(greeted) == 1
    assert (replayed.status, replayed.stdout) == (1, b"refused\n")
    assert f"agent.py:14 reaches for {address} outside every live crossing" in replayed.stderr


def test_a_connection_inside_a_tool_is_part_of_the_tool(fresh, tmp_path):
    write(tmp_path, REACHES, "reach")
    with listening("tcp", tmp_path) as (address, greeted):
        recorded = fresh.run(tmp_path, "run", "agent.py", KIND="tcp", ADDRESS=address)
        assert "unmarked-network" not in recorded.stderr
        replayed = fresh.run(tmp_path, "replay", "last", KIND="tcp", ADDRESS=address)
        assert len(greeted) == 1
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


KEYS = """
import os
import openai

client = openai.OpenAI()
client.embeddings.create(model="m", input="x")
print(len(client.api_key) > 0, "OPENAI_API_KEY" in os.environ, "ANTHROPIC_API_KEY" in os.environ)
"""


def test_missing_credentials_get_placeholders_and_set_ones_stay(forked, provider, tmp_path):
    write(tmp_path, KEYS)
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model, ANTHROPIC_API_KEY="")
    without = forked.run(tmp_path, "replay", "last", ANTHROPIC_API_KEY="")
    assert (without.status, without.stdout) == (0, recorded.stdout), without.stderr
    own = forked.run(tmp_path, "replay", "last", ANTHROPIC_API_KEY="", OPENAI_API_KEY="mine")
    assert (own.status, own.stdout) == (0, recorded.stdout), own.stderr


def test_no_key_is_stored(forked, provider, tmp_path):
    write(tmp_path, KEYS)
    key = "sk-proj-" + "Ab3dE6gH9" * 5
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model, OPENAI_API_KEY=key)
    assert recorded.status == 0, recorded.stderr
    for file in (tmp_path / ".autochron").iterdir():
        assert key.encode() not in file.read_bytes(), file


ENDS = """
import os
import sys


def measure():
    return 7


print("first")
print(os.environ["SAYS"], measure())
how = os.environ["ENDS"]
if how == "raise":
    raise RuntimeError("broken")
sys.exit(int(how))
"""


def test_another_output_is_reported_with_its_line(fresh, tmp_path):
    write(tmp_path, ENDS, "measure")
    recorded = fresh.run(tmp_path, "run", "agent.py", SAYS="one", ENDS="4")
    assert recorded.status == 4
    replayed = fresh.run(tmp_path, "replay", "last", SAYS="two", ENDS="4")
    assert replayed.status == 1
    assert "line 2 of the output was 'one 7', now it is 'two 7'" in replayed.stderr


@pytest.mark.parametrize(
    ("recorded_end", "replayed_end", "status"), [("4", "5", 5), ("raise", "0", 0), ("0", "raise", 1)]
)
def test_another_exit_status_is_reported(recorded_end, replayed_end, status, fresh, tmp_path):
    write(tmp_path, ENDS, "measure")
    recorded = fresh.run(tmp_path, "run", "agent.py", SAYS="x", ENDS=recorded_end)
    replayed = fresh.run(tmp_path, "replay", "last", SAYS="x", ENDS=replayed_end)
    assert replayed.stdout == recorded.stdout
    assert replayed.status == 1
    assert f"ended with status {status}; when it was recorded, with {recorded.status}" in replayed.stderr


READS = """
import sys


def measure(line):
    return line.upper()


print(measure(input("name? ")), sys.stdin.readline(), list(sys.stdin))
"""


def test_standard_input_is_served_from_the_record(fresh, tmp_path):
    write(tmp_path, READS, "measure")
    recorded = fresh.run(tmp_path, "run", "agent.py", stdin="ada\nü\nlast")
    assert recorded.stdout.decode() == "name? ADA ü\n ['last']\n", recorded.stderr
    for stdin in ("", "somebody else\n" * 9):
        replayed = fresh.run(tmp_path, "replay", "last", stdin=stdin)
        assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


PRINTS = """
def measure():
    print("measuring")
    return 7


print(measure())
"""


def test_output_of_a_tool_is_printed_again(fresh, tmp_path):
    write(tmp_path, PRINTS, "measure")
    recorded = fresh.run(tmp_path, "run", "agent.py")
    replayed = fresh.run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


MARKED = """
import asyncio
import random

import openai

import autochron


@autochron.boundary("place_order", kind="tool")
def place(symbol, qty=1):
    return {"symbol": symbol, "qty": qty, "price": random.random()}


@autochron.boundary
async def later(number):
    return number, random.random()


class Orders:
    def create(self, number):
        return [number, random.random()]

    async def create_later(self, number):
        return [number, random.random()]


class Broker:
    def __init__(self):
        self.orders = Orders()

    def stream(self, size):
        for _ in range(size):
            yield random.random()

    def fail(self):
        raise LookupError(random.random())


client = openai.OpenAI()
assert autochron.wrap(client) is client
broker = autochron.wrap(Broker(), "broker", kind="tool")
print(isinstance(broker, Broker), place.__name__)
print(place("X"), place(qty=2, symbol="Y"), asyncio.run(later(3)))
print(broker.orders.create(4), list(broker.stream(2)), asyncio.run(broker.orders.create_later(5)))
try:
    broker.fail()
except LookupError as error:
    print(repr(error))
print(client.embeddings.create(model="m", input="x").data[0].embedding[:2])
"""


def test_boundaries_that_are_marked_and_wrapped_by_hand_replay(forked, provider, tmp_path):
    write(tmp_path, MARKED)
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model)
    assert recorded.status == 0, recorded.stderr
    for name in (
        "place_order ×2",
        "later ×1",
        "broker.orders.create ×1",
        "broker.stream ×1",
        "broker.fail ×1",
    ):
        assert name in recorded.stderr
    replayed = forked.run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


@pytest.mark.slow
def test_an_http_rule_makes_no_second_crossing_inside_the_sdks(forked, provider, tmp_path):
    write(tmp_path, PAYS, "refund", HTTP)
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model)
    assert "model ×1" in recorded.stderr, recorded.stderr
    assert "agent" not in recorded.stderr.split("\n")[1]
    replayed = forked.run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


WORKERS = """
import asyncio
import os
import random
import threading

import openai

ORDER = os.environ["ORDER"]


def look_up(what):
    return what, random.random()


def ask(client, what):
    response = client.chat.completions.create(model="m", messages=[{"role": "user", "content": what}])
    return response.choices[0].message.content, look_up(what), look_up("more")


def threads():
    found, client = {}, openai.OpenAI()
    started = [threading.Thread(target=lambda what=what: found.update({what: ask(client, what)})) for what in ORDER]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return sorted(found.items())


async def tasks():
    async def one(what):
        response = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": what}])
        return what, response.choices[0].message.content, look_up(what)

    async with openai.AsyncOpenAI() as client:
        return sorted(await asyncio.gather(*(one(what) for what in ORDER)))


print(threads())
print(asyncio.run(tasks()))
"""


@pytest.mark.parametrize("order", ["cab", pytest.param("bca", marks=pytest.mark.slow)])
def test_model_calls_of_lanes_that_start_in_another_order_get_their_own_answers(
    order, forked, provider, tmp_path
):
    write(tmp_path, WORKERS, "look_up")
    with provider.serve(latency=(0.0, 0.01)) as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model, ORDER="abc")
    replayed = forked.run(tmp_path, "replay", "last", ORDER=order)
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr


NAMESAKE = (
    PAYS.replace("def refund(", "def pay(")
    .replace("PROPERTIES =", "def refund(text):\n    return text\n\n\nPROPERTIES =", 1)
    .replace('print("refunded", refund(', 'refund("for the log")\n    print("refunded", pay(')
)


def test_a_woven_namesake_hides_no_unwoven_tool(forked, provider, tmp_path):
    write(tmp_path, NAMESAKE, "refund")
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model)
    assert recorded.status == 0, recorded.stderr
    assert "the model asked for refund" in recorded.stderr
    assert "(unwoven-tool)" in recorded.stderr
    refused = forked.run(tmp_path, "replay", "last")
    assert (refused.status, refused.stdout) == (2, b""), refused.stderr
    assert count_lines(tmp_path / "ledger.txt") == 1


FAILS = """
import os
import openai

client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", max_retries=int(os.environ["RETRIES"]))
try:
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
except openai.APIConnectionError:
    print("refused")
"""


def test_another_number_of_attempts_is_a_warning(forked, tmp_path):
    write(tmp_path, FAILS)
    recorded = forked.run(tmp_path, "run", "agent.py", RETRIES="1", OPENAI_API_KEY="k")
    assert recorded.stdout == b"refused\n", recorded.stderr
    replayed = forked.run(tmp_path, "replay", "last", RETRIES="1")
    assert (replayed.status, replayed.stdout) == (0, b"refused\n"), replayed.stderr
    assert "(attempts)" not in replayed.stderr
    fewer = forked.run(tmp_path, "replay", "last", RETRIES="0")
    assert (fewer.status, fewer.stdout) == (0, b"refused\n"), fewer.stderr
    assert "model[1] was attempted 1×; when it was recorded, 2× (attempts)" in fewer.stderr


def test_output_after_the_end_of_a_tool_does_not_belong_to_it(fresh, tmp_path):
    source = """
import threading
import time


ended = threading.Event()


def later():
    ended.wait()
    print("late")


def tool():
    print("inside")
    threading.Thread(target=later).start()


def warm():
    pass  # it wakes the writer, which then gathers what comes next


warm()
time.sleep(0.003)
tool()
ended.set()  # before the writer has come to what the tool was
"""
    write(tmp_path, source, "warm tool")
    assert fresh.run(tmp_path, "run", "agent.py").stdout == b"inside\nlate\n"
    trace = open_store(str(tmp_path / ".autochron" / "traces.db")).load("last")
    printed = [msgspec.json.decode(envelope.meta).get("printed") for envelope in trace.envelopes]
    assert printed == [None, "inside\n"]
