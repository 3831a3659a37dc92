"""What weaving adds to imports: of a warm project, of one in which nothing fits, and the first time of all."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable

from bench.measure import Figure, Size

WARM = 1.3
MODULES = 20
_REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_FITS = """version = 1
packs = []
[[boundary]]
name = "{tool}"
kind = "tool"
call = "TOOLS[$tool](...)"
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "shop.*:refund*"
"""
_FITS_NOT = """version = 1
packs = []
[[boundary]]
name = "sell"
kind = "tool"
call = "broker.sell_everything(...)"
"""

_HEAD = '''"""Step {number} of a shop's agent."""
import json
import os
from collections import Counter
from dataclasses import dataclass

TOOLS = {{}}


@dataclass
class Order:
    number: int
    amount: float = 0.0

    def total(self) -> float:
        """Return what it comes to."""
        return self.amount * self.number


def refund(order, amount):
    """Pay back."""
    return {{"order": order.number, "amount": amount}}


def act(name, arguments):
    """Do what the model asked for."""
    return TOOLS[name](**arguments)
'''
_STEP = '''

def step_{number}(order, amount, *, limit=None):
    """Take step {number}."""
    total = amount * {number}
    if limit is not None and total > limit:
        raise ValueError(f"{{total}} is more than {{limit}} for {{order}}")
    values = [json.dumps(each) for each in sorted(Counter(order).items()) if each]
    return os.path.join(str(total), *values)
'''

_CHILD = """
import importlib, json, sys, time
mode, rules = sys.argv[1:]
sys.path.insert(0, ".")
import collections, dataclasses, os
if mode == "woven":
    from autochron.rules.loading import load_rules
    from autochron.instrument.activation import activate
    activate(load_rules(rules))
names = [f"shop.step{number}" for number in range(COUNT)]
importlib.import_module("shop.first")  # with what weaving itself imports for it
started = time.perf_counter()
for name in names:
    importlib.import_module(name)
print(json.dumps(time.perf_counter() - started))
""".replace("COUNT", str(MODULES))


def run(size: Size) -> Iterable[Figure]:
    """Measure a package of modules of 250 lines, each with one function and one call that are woven."""
    with tempfile.TemporaryDirectory() as folder:
        lines = _make(folder)
        rounds = size.rounds
        times: dict[str, list[float]] = {}
        for name, rules, target in (
            ("a warm import of woven modules", "fits.toml", WARM),
            ("the same where no rule fits", "fits_not.toml", None),
        ):
            times = _turn_about(folder, rules, rounds)
            yield Figure(
                benchmark="importing",
                name=name,
                value=statistics.median(
                    ours / plain for ours, plain in zip(times["woven"], times["plain"], strict=True)
                ),
                unit="×",
                against=f"{MODULES} modules of {lines // MODULES} lines imported plainly, with their bytecode",
                target=target,
                samples={case: statistics.median(each) for case, each in times.items()},
            )
        cold = [
            _import(folder, "woven", "fits.toml", cache=os.path.join(folder, f"cold{turn}"))
            for turn in range(max(1, rounds // 8))
        ]
        plain = statistics.median(times["plain"])
        yield Figure(
            benchmark="importing",
            name="the first import of woven modules, per 1,000 lines",
            value=(statistics.median(cold) - plain) / lines * 1e6,
            unit="ms",
            against=f"over the warm plain import; {lines:,} lines, no plan kept",
            samples={"cold": statistics.median(cold)},
        )


def _make(folder: str) -> int:
    os.mkdir(os.path.join(folder, "shop"))
    total = 0
    for number in range(MODULES):
        text = _HEAD.format(number=number) + "".join(_STEP.format(number=step) for step in range(24))
        total += text.count("\n")
        _write(os.path.join(folder, "shop", f"step{number}.py"), text)
    _write(os.path.join(folder, "shop", "__init__.py"), "")
    _write(os.path.join(folder, "shop", "first.py"), _HEAD.format(number=-1))
    _write(os.path.join(folder, "child.py"), _CHILD)
    _write(os.path.join(folder, "fits.toml"), _FITS)
    _write(os.path.join(folder, "fits_not.toml"), _FITS_NOT)
    return total


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _turn_about(folder: str, rules: str, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"plain": [], "woven": []}
    for mode in times:
        _import(folder, mode, rules)
    for turn in range(rounds):
        for mode in sorted(times, reverse=bool(turn % 2)):
            times[mode].append(_import(folder, mode, rules))
    return times


def _import(folder: str, mode: str, rules: str, cache: str | None = None) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": _REPOSITORY, "AUTOCHRON_CACHE": cache or os.path.join(folder, "cache")}
    done = subprocess.run(
        [sys.executable, "child.py", mode, rules],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(json.loads(done.stdout))
