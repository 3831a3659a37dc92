"""What recording adds to real calls of a model: `python -m bench.live [--url URL --model NAME]`.

Calls with recording on and off are interleaved in one process with one client, in a random order with a fixed seed, so that
what drifts falls on both alike. Off is off: nothing is woven. Without a URL the calls go to the loopback provider over
HTTP; any endpoint that speaks OpenAI's chat completions will do, such as that of ollama or vLLM. The key is taken from
OPENAI_API_KEY.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct, json

import autochron
from autochron import provider
from autochron.errors import MissingExtraError
from autochron.extras import extra
from autochron.instrument.activation import deactivate

PROMPT = "Reply with one short sentence: what is 2 + 2?"
_SEED = 48213
_WARM = 3
LEAST = 5
"""Pairs below which an interval says nothing."""


class Arm(Struct, frozen=True):
    """One of the two: milliseconds of a call."""

    count: int
    mean: float
    deviation: float
    median: float


class Overhead(Struct, frozen=True, kw_only=True):
    """Recording on against off; the difference of means in milliseconds, with its 95 % interval."""

    url: str
    model: str
    off: Arm
    on: Arm
    difference: float
    low: float
    high: float
    recorded: int
    """Crossings in the store: one for each call with recording on."""


def measure(url: str, model: str, pairs: int, call: Callable[[], object], store: str) -> Overhead:
    """Time pairs of calls."""
    chosen = random.Random(_SEED)
    times: dict[bool, list[float]] = {True: [], False: []}
    recorded = 0
    for pair in range(pairs + _WARM):
        order = [True, False]
        chosen.shuffle(order)
        for on in order:
            with ExitStack() as session:
                recording = session.enter_context(autochron.record(store=store)) if on else None
                began = time.perf_counter()
                call()
                took = time.perf_counter() - began
            if recording is not None and pair >= _WARM:
                recorded += len(recording.trace().envelopes)
            deactivate()
            if pair >= _WARM:
                times[on].append(took * 1e3)
    difference, half = _interval(times[True], times[False])
    return Overhead(
        url=url,
        model=model,
        off=_arm(times[False]),
        on=_arm(times[True]),
        difference=difference,
        low=difference - half,
        high=difference + half,
        recorded=recorded,
    )


def _arm(times: Sequence[float]) -> Arm:
    return Arm(len(times), statistics.mean(times), statistics.stdev(times), statistics.median(times))


def _interval(on: Sequence[float], off: Sequence[float]) -> tuple[float, float]:
    """Return the difference of means, and half of its 95 % interval, by Welch's test: the two need not vary alike."""
    parts = [statistics.variance(each) / len(each) for each in (on, off)]
    variance = sum(parts)
    freedom = variance**2 / sum(
        part**2 / (len(each) - 1) for part, each in zip(parts, (on, off), strict=True)
    )
    return statistics.mean(on) - statistics.mean(off), quantile(freedom) * math.sqrt(variance)


def quantile(freedom: float) -> float:
    """Return Student's quantile for 95 %, by the expansion of Cornish and Fisher: 0.3 % too small at 4 degrees."""
    z = statistics.NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def main(words: Sequence[str]) -> int:
    """Measure and say so; 2 where the endpoint doesn't answer, or a package is missing."""
    options = _options(words)
    try:
        return _measured(options)
    except (MissingExtraError, provider.ProviderError) as error:
        sys.stderr.write(f"bench.live: {error}\n")
        return 2


def _measured(options: argparse.Namespace) -> int:
    """Measure and say so; 2 where the endpoint doesn't answer."""
    with extra("judge", "it"):
        from openai import OpenAI, OpenAIError  # lazy: woven only where recording is on

    with ExitStack() as stack:
        url = options.url
        if url is None:
            os.environ["NO_PROXY"] = "*"  # a proxy of the user's has no way to it
            url = stack.enter_context(provider.serve(latency=(0.02, 0.04), seed=_SEED)).url
        client = OpenAI(base_url=url, api_key=os.environ.get("OPENAI_API_KEY", "none"), max_retries=0)

        def call() -> object:
            return client.chat.completions.create(
                model=options.model, messages=[{"role": "user", "content": PROMPT}]
            )

        try:
            found = measure(
                options.url or "the loopback provider", options.model, options.pairs, call, "memory:"
            )
        except OpenAIError as error:
            asked = (
                f"is it up, does its address end where /chat/completions begins, and has it {options.model}?"
            )
            sys.stderr.write(f"bench.live: {url}: {error}; {asked}\n")
            return 2
    _show(found)
    if options.json is not None:
        options.json.write_bytes(json.format(json.encode(found), indent=1) + b"\n")
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.live", description=__doc__.partition("\n")[0])
    parser.add_argument("--url", help="such as http://127.0.0.1:11434/v1; the loopback provider unless given")
    parser.add_argument("--model", default="gpt-4.1-mini", help="gpt-4.1-mini unless given")
    parser.add_argument(
        "--pairs", type=int, default=50, help="of calls, with recording and without; 50 unless given"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found")
    options = parser.parse_args(list(words))
    if options.pairs < LEAST:
        parser.error(f"--pairs takes {LEAST} and more, not {options.pairs}")
    if options.json is not None and (options.json.is_dir() or not os.access(options.json.parent, os.W_OK)):
        parser.error(f"{options.json} can't be written")
    return options


def _show(found: Overhead) -> None:
    for name, arm in (("off", found.off), ("on", found.on)):
        spread = f"mean {arm.mean:.2f} ms  deviation {arm.deviation:.2f}  median {arm.median:.2f}"
        sys.stdout.write(f"recording {name:3}  {arm.count} calls  {spread}\n")
    interval = f"95 % interval {found.low:+.2f} to {found.high:+.2f}"
    sys.stdout.write(f"difference of means {found.difference:+.2f} ms, {interval}; {found.url}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
