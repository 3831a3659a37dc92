"""What finding tools costs: where rules name them all, and where they are found by name or by value."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping

from autochron import provider
from autochron.provider.script import Call, Script, Step
from bench.measure import Figure, Size

RULED = 1.03
"""Times as long as with finding switched off, at most, where each tool has a rule."""
BY_NAME = 1.0
"""Milliseconds a tool, once."""
BY_VALUE = 10.0
"""Percent of the first turn."""
MODULES = 50
LATER = 20
"""Sessions after the first, in one process."""
MODEL = 0.5
"""Seconds that a model takes for the turn that a figure is a share of."""
_REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_RULES = """version = 1
find = {find}
[[boundary]]
name = "{{__name__}}"
kind = "tool"
define = "{define}"
"""
_MODULE = '''"""Part {number} of a shop."""
import json

LIMITS = {{"small": 1, "large": 2}}


class Part{number}:
    def total(self, orders):
        return sum(orders)


def part_{number}(orders):
    return json.dumps(orders)
'''
_TOOLS = """

def {name}(order, cents):
    for _ in range(500):
        checked(order)
    return {{"order": order, "receipt": "R-{number}-2217"}}
"""
_CHECKED = "def checked(order):\n    return order\n"
_BY_NUMBER = """

class Numbered:
    def __getitem__(self, name):
        return FUNCTIONS[int(name.rpartition("_")[2])]


TOOLS = Numbered()
"""
_AGENT = """
import importlib
import json
import sys
import time

import openai

import autochron
import tools

for number in range(MODULES):
    importlib.import_module(f"shop.part{number}")

find, count = sys.argv[1], int(sys.argv[2])
PARAMETERS = {"type": "object", "properties": {"order": {"type": "string"}, "cents": {"type": "integer"}}}
NAMES = [f"refund_{number}" for number in range(count)]
SCHEMAS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in NAMES]
client = openai.OpenAI()


def talk():
    messages = [{"role": "user", "content": "Pay back."}]
    while True:
        message = client.chat.completions.create(model="m", messages=messages, tools=SCHEMAS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            content = json.dumps(tools.TOOLS[call.function.name](**json.loads(call.function.arguments)))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def session():
    with autochron.record(store="memory:", rules=f"{find}.toml") as recording:
        started = time.process_time()
        talk()
        took = time.process_time() - started
    return took, len(recording.trace().envelopes)


talk()  # opens the connection, and what the SDK does once
first, crossings = session()
later = [session()[0] for _ in range(LATER)]
print(json.dumps({"first": first, "later": sorted(later)[LATER // 2], "crossings": crossings}))
""".replace("MODULES", str(MODULES)).replace("LATER", str(LATER))


def run(size: Size) -> Iterable[Figure]:
    """Measure an agent with the openai SDK that calls one of its tools, and declares one or ten."""
    rounds = max(1, size.rounds // 4)
    script = Script(
        (Step(turn=0, calls=(Call.of("refund_0", order="48213", cents=500),)), Step(text="Done."))
    )
    with tempfile.TemporaryDirectory() as folder, provider.serve(script=script) as model:
        _make(folder)
        environment = os.environ | {
            "PYTHONPATH": _REPOSITORY,
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "sk-bench",
            "AUTOCHRON_CACHE": os.path.join(folder, "cache"),
        }
        for name in ("ruled", "named", "valued"):
            for find in ("true", "false"):
                _talk(folder, name, find, 1, environment)
        ruled = _both(folder, "ruled", 1, rounds, environment)
        yield Figure(
            benchmark="finding",
            name="a conversation of an agent whose tools have rules",
            value=statistics.median(on / off for on, off in ruled["later"]),
            unit="×",
            against="the same with find = false; processor's time of two model calls and a tool",
            target=RULED,
            samples=_medians(ruled["later"]),
        )
        for count in (1, 3, 10):
            named = _both(folder, "named", count, rounds, environment, against="ruled")
            yield Figure(
                benchmark="finding",
                name=f"a tool found by name, once a recording; {count} declared",
                value=_more(named["later"]) / count * 1e3,
                unit="ms",
                against=f"the same with a rule for the tool; a project of {MODULES} modules",
                target=BY_NAME,
                samples=_medians(named["later"]),
            )
            if count == 1:
                yield Figure(
                    benchmark="finding",
                    name="the same in the first recording of a process",
                    value=_more(named["first"]) * 1e3,
                    unit="ms",
                    against="the same with a rule for the tool, so with the import of what finds tools",
                    samples=_medians(named["first"]),
                )
        if sys.version_info >= (3, 12):
            valued = _both(folder, "valued", 1, rounds, environment)
            yield Figure(
                benchmark="finding",
                name="a tool found by value, share of the first turn",
                value=statistics.median((on - off) / (MODEL + off) for on, off in valued["first"]) * 100,
                unit="%",
                against=f"the same with find = false, and {MODEL * 1e3:.0f} ms of a model; the tool makes 500 calls",
                target=BY_VALUE,
                samples=_medians(valued["first"]),
            )


def _more(pairs: list[tuple[float, float]]) -> float:
    return statistics.median(on - off for on, off in pairs)


def _medians(pairs: list[tuple[float, float]]) -> Mapping[str, float]:
    return {"on": statistics.median(on for on, _ in pairs), "off": statistics.median(off for _, off in pairs)}


def _make(folder: str) -> None:
    """Write three agents that differ in their rules and in the names of their tools' functions."""
    for name in ("ruled", "named", "valued"):
        home = os.path.join(folder, name)
        os.makedirs(os.path.join(home, "shop"))
        for number in range(MODULES):
            _write(os.path.join(home, "shop", f"part{number}.py"), _MODULE.format(number=number))
        prefix = "_pay_back" if name == "valued" else "refund"
        names = [f"{prefix}_{number}" for number in range(10)]
        text = "".join(_TOOLS.format(name=function, number=number) for number, function in enumerate(names))
        listed = f"FUNCTIONS = [{', '.join(names)}]\n"
        dispatch = _BY_NUMBER if name == "valued" else "TOOLS = {each.__name__: each for each in FUNCTIONS}\n"
        _write(os.path.join(home, "tools.py"), f"{_CHECKED}{text}\n\n{listed}{dispatch}")
        _write(os.path.join(home, "agent.py"), _AGENT)
        define = "tools:refund_*" if name == "ruled" else "nowhere:*"
        for find in ("true", "false"):
            _write(os.path.join(home, f"{find}.toml"), _RULES.format(find=find, define=define))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _both(
    folder: str, name: str, count: int, rounds: int, environment: Mapping[str, str], against: str = ""
) -> dict[str, list[tuple[float, float]]]:
    """Run an agent with finding on and off in turns; return pairs of seconds of the processor.

    Args:
        folder: the folder of the agents.
        name: the agent that runs with finding on.
        count: how many tools it declares.
        rounds: how many pairs are measured.
        environment: of the processes.
        against: the agent that runs with finding off; empty for the same one.
    """
    pairs: dict[str, list[tuple[float, float]]] = {"first": [], "later": []}
    for turn in range(rounds):
        modes = ("true", "false") if turn % 2 else ("false", "true")
        agents = {"true": name, "false": against or name}
        times = {find: _talk(folder, agents[find], find, count, environment) for find in modes}
        for which, known in pairs.items():
            known.append((times["true"][which], times["false"][which]))
    return pairs


def _talk(
    folder: str, name: str, find: str, count: int, environment: Mapping[str, str]
) -> Mapping[str, float]:
    done = subprocess.run(
        [sys.executable, "agent.py", find, str(count)],
        cwd=os.path.join(folder, name),
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    times: dict[str, float] = json.loads(done.stdout)
    is_crossed = name == "ruled" or (find == "true" and (name == "named" or sys.version_info >= (3, 12)))
    if times["crossings"] != 2 + is_crossed:
        raise RuntimeError(f"{name}, find = {find}: {times['crossings']} crossings\n{done.stderr}")
    return times
