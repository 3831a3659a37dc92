"""Dialogs: streams of answers to what the program sends meanwhile, such as the output of a process that it asks."""

import asyncio
import importlib
import sys

import pytest

import autochron
from autochron.errors import PlanError
from autochron.instrument.activation import deactivate

AGENT = '''
import asyncio, itertools

log = []


def real(name):
    """Note what runs for real; the tests replace it."""


class Line:
    """The other end: it asks for a tool, and goes on when it has the answer."""

    def __init__(self):
        self.out, self.ids = asyncio.Queue(), itertools.count(1)

    async def connect(self):
        real("connect")

    async def write(self, message):
        real("write")
        await asyncio.sleep(0.02)
        if message["kind"] == "prompt":
            await self.out.put({"kind": "text", "text": "let me see", "model": "m-1"})
            await self.out.put({"kind": "shell", "uses": "ls"})
            for _ in range(2):
                await self.out.put({"kind": "ask", "id": next(self.ids), "word": message["text"]})
        else:
            await self.out.put({"kind": "text", "text": "so it is " + message["answer"], "usage": {"tokens": 3}})

    async def read(self):
        while True:
            yield await self.out.get()


async def look_up(word):
    """The tool, which runs in the program."""
    real("look_up")
    log.append("looking up " + word)
    await asyncio.sleep(0.03)
    return word.upper()


async def answer(line, message):
    found = await look_up(message["word"])
    await line.write({"kind": "answer", "id": message["id"], "answer": found})


async def reader(line, messages):
    tasks = []
    async for message in line.read():
        if message["kind"] == "ask":
            tasks.append(asyncio.create_task(answer(line, message)))
        else:
            await messages.put(message)


async def main(*prompts, last=6):
    log.clear()
    line, messages = Line(), asyncio.Queue()
    await line.connect()
    task = asyncio.create_task(reader(line, messages))
    for prompt in prompts:
        await line.write({"kind": "prompt", "text": prompt})
        for number in range(4):
            message = await messages.get()
            log.append(message.get("text") or message["uses"])
            if number == last:
                break
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        log.append("over")
    return list(log)
'''
RULES = """
version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "model"
define = ["line_agent:Line.connect", "line_agent:Line.write"]
codec = "value"
changes = []
capture = ["message"]

[[boundary]]
name = "read"
kind = "model"
target = "line_agent:Line.read"
codec = "CODEC"
changes = []
capture = ["none"]
[boundary.meta]
model = "item.model"
usage = "item[kind=text].usage"
inside = "item[kind=shell].uses"

[[boundary]]
name = "look_up"
kind = "tool"
target = "line_agent:look_up"
"""
SEVERAL = """


async def one(number, pauses):
    line = Line()
    await line.connect()
    await line.write({"kind": "prompt", "text": str(number)})
    async for message in line.read():
        if message["kind"] != "text":
            continue
        log.append(number)
        await asyncio.sleep(pauses[number])
        return


async def several(pauses):
    log.clear()
    await asyncio.gather(*(one(number, pauses) for number in range(4)))
    return list(log)
"""
DONE = ["let me see", "ls", "looking up tea", "looking up tea", "so it is TEA", "so it is TEA"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    deactivate()
    (tmp_path / "line_agent.py").write_text(AGENT + SEVERAL, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("line_agent", None)


class Program:
    def __init__(self, folder, codec="dialog", run=lambda agent: agent.main("tea")):
        file = folder / "autochron.toml"
        file.write_text(RULES.replace("CODEC", codec), encoding="utf-8")
        self.rules = str(file)
        with autochron.record(store="memory:", rules=self.rules) as recording:
            self.agent = importlib.import_module("line_agent")
            ran = self._really_ran = []
            self.agent.real = lambda name: ran.append(name)
            self.recorded = asyncio.run(run(self.agent))
        assert not recording.problems
        self.ran = self._taken()
        self.trace = recording.trace()

    def replay(self, *prompts, live=(), **more):
        with autochron.replay(self.trace, rules=self.rules, live=live, check=False) as replay:
            result = asyncio.run(self.agent.main(*(prompts or ("tea",)), **more))
        return result, self._taken(), replay

    def _taken(self):
        ran = list(self._really_ran)
        self._really_ran.clear()
        return ran

    def envelope(self, name):
        return next(envelope for envelope in self.trace.envelopes if envelope.name == name)


def errors_of(replay):
    return [str(divergence) for divergence in replay.divergences if divergence.severity == "error"]


def test_the_answers_come_after_what_they_answer(folder):
    program = Program(folder)
    assert program.recorded == [*DONE, "over"]
    assert sorted(program.ran) == ["connect", "look_up", "look_up", "write", "write", "write"]
    for _ in range(3):
        result, ran, replay = program.replay()
        assert (result, ran, errors_of(replay)) == (program.recorded, [], [])


def test_without_the_rule_the_answers_come_at_once(folder):
    program = Program(folder, "value")
    result, ran, _ = program.replay()
    assert ran == []
    assert result != program.recorded


def test_a_live_tool_is_waited_for(folder):
    program = Program(folder)
    result, ran, replay = program.replay(live="kind:tool")
    assert (result, ran, errors_of(replay)) == (program.recorded, ["look_up", "look_up"], [])


@pytest.mark.parametrize("last", [0, 1, 2, 3])
def test_a_dialog_that_is_left_earlier_is_no_divergence_of_its_own(folder, last):
    program = Program(folder)
    result, ran, replay = program.replay(last=last)
    assert ran == []
    assert result[-1] == "over"
    addresses = {divergence.address for divergence in replay.divergences}
    assert "read[1]" not in addresses


def test_the_items_of_several_dialogs_come_in_the_recorded_order(folder):
    async def in_another_order(agent):
        delays = iter((0.08, 0.02, 0.06, 0.04))
        original = agent.Line.write

        async def write(line, message):
            await asyncio.sleep(next(delays))
            await original(line, message)

        agent.Line.write = write
        try:
            return await agent.several([0, 0, 0, 0])
        finally:
            agent.Line.write = original

    program = Program(folder, run=in_another_order)
    assert program.recorded == [1, 3, 2, 0]
    with autochron.replay(program.trace, rules=program.rules, check=False) as replay:
        result = asyncio.run(program.agent.several([0, 0, 0, 0]))
    assert (result, errors_of(replay)) == (program.recorded, [])


def test_an_answer_to_what_is_never_sent_comes_in_the_end(folder, monkeypatch):
    program = Program(folder)
    monkeypatch.setattr("autochron.replaying.schedule.PATIENCE", 0.05)

    async def declines(line, message):
        return None

    monkeypatch.setattr(program.agent, "answer", declines)
    result, ran, replay = program.replay()
    assert ran == []
    assert result == ["let me see", "ls", "so it is TEA", "so it is TEA", "over"]
    assert {divergence.address for divergence in replay.divergences} >= {"look_up[1]", "write[2]"}


def test_the_items_tell_the_model_the_usage_and_the_tools_of_the_other_end(folder):
    from msgspec.json import decode

    meta = decode(Program(folder).envelope("read").meta)
    assert (meta["model"], meta["usage"], meta["inside"]) == ("m-1", {"tokens": 3}, ["ls"])
    assert len(meta["moments"]) == 6
    assert meta["moments"] == sorted(meta["moments"])


@pytest.mark.parametrize("wanted", ["ls", "ls[1]"])
def test_a_tool_of_the_other_end_cant_be_live(folder, wanted):
    with pytest.raises(
        PlanError, match=r"ls ran at the other end of read\[1\], where no code of the program is"
    ):
        Program(folder).replay(live=wanted)


def test_a_name_with_the_prefix_of_its_server_leads_to_the_crossing(folder):
    with pytest.raises(PlanError, match="it crosses as look_up"):
        Program(folder).replay(live="mcp__words__look_up")


def test_another_unknown_name_is_refused_as_ever(folder):
    with pytest.raises(PlanError, match="the trace has no crossing cat; it has"):
        Program(folder).replay(live="cat")
