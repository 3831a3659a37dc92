"""Make up values that a replay asks for and the trace doesn't have: its time, and the same random values each time."""

from __future__ import annotations

import datetime as dt
import random
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any

from autochron._runtime import unpatched
from autochron.ambient.waiting import VirtualTime
from autochron.model import Header

_SECOND = 1_000_000_000

_MONOTONIC = frozenset({"time.monotonic", "time.perf_counter", "time.process_time", "time.thread_time"})


_APART = (3 * 86_400 + 3_661) * _SECOND
"""Nanoseconds between the clocks of two variations: day of the month and of the week, hour, minute and second all differ."""

VARIATION = "AUTOCHRON_REPLAY_VARIATION"
"""The environment variable with the number of a variation: a replay with another clock, seed and order of sets."""


def variation_of(environment: Mapping[str, str]) -> int:
    """Return the number of the variation in an environment; 0 if there is none."""
    text = environment.get(VARIATION, "")
    return int(text) if text.isdecimal() else 0


class Inventor:
    """Replaces sources: clocks go on from the time of the trace, and random values come from a seed that it determines.

    A clock goes on by what the program waits for and by 1 ms a reading, so that a busy machine changes nothing.
    """

    def __init__(self, header: Header, reached: Callable[[], int]) -> None:
        """Make one.

        Args:
            header: the header of the trace.
            reached: returns how far into the trace the replay is, in nanoseconds. Served crossings take no time. Without
                this, code that checks whether something has expired meanwhile would see the time at which the trace began.
        """
        variation = variation_of(unpatched.environ)
        self._trace = f"{header.id} {variation}" if variation else header.id
        self._reached = reached
        self._ahead = 0
        self._time = VirtualTime()
        created = header.created or "1970-01-01T00:00:00Z"
        moment = dt.datetime.fromisoformat(created)
        self._created = round(moment.timestamp() * 1000) * 1_000_000 + variation * _APART
        self._generators: dict[tuple[str, str], random.Random] = {}
        self._latest: dict[str, tuple[Any, int]] = {}

    def served(self, call: str, value: Any) -> None:
        """Note a served value of a monotonic clock: made-up values have to go on from it."""
        if call.removesuffix("_ns") in _MONOTONIC:
            self._latest[call] = (value, self._time.passed())

    def replacement(
        self, call: str, original: Callable[..., Any], lane: str, name: str
    ) -> Callable[..., Any]:
        """Return the function to call in place of a source.

        Args:
            call: the dotted name of the source.
            original: the source itself; returned if its value can't be made up.
            lane, name: random values depend on these, and on how many were drawn for them before.
        """
        if call in self._latest:
            return lambda: self._continued(call)
        owner, _, function = call.rpartition(".")
        clock = self._clock(call, owner, function, original)
        if clock is not None:
            return clock
        generator = self._generators.get((lane, name))
        if generator is None:
            generator = self._generators[lane, name] = random.Random(f"{self._trace} {lane} {name}")
        return _draw(call, owner, function, generator) or original

    # --- clocks ------------------------------------------------------------------------------------------------------

    def _now(self) -> int:
        elapsed = self._time.passed()
        # The time never goes back and never stands still.
        self._ahead = max(self._ahead, self._reached() - elapsed)
        return self._created + elapsed + self._ahead

    def _continued(self, call: str) -> Any:
        value, since = self._latest[call]
        elapsed = self._time.passed() - since
        return value + (elapsed if call.endswith("_ns") else elapsed / _SECOND)

    def _clock(
        self, call: str, owner: str, function: str, original: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        if owner.startswith("datetime."):
            return getattr(self, f"_{owner.rpartition('.')[2]}_{function}")  # type: ignore[no-any-return]
        simple: dict[str, Callable[..., Any]] = {
            "time.time": lambda: self._now() / _SECOND,
            "time.time_ns": self._now,
            "time.localtime": lambda *_: time.localtime(self._now() / _SECOND),
            "time.gmtime": lambda *_: time.gmtime(self._now() / _SECOND),
            "time.ctime": lambda *_: time.ctime(self._now() / _SECOND),
            "time.asctime": lambda *_: time.asctime(time.localtime(self._now() / _SECOND)),
            "time.strftime": lambda form: time.strftime(form, time.localtime(self._now() / _SECOND)),
            "email.utils.formatdate": lambda _=None, *rest, **more: original(
                self._now() / _SECOND, *rest, **more
            ),
            "email.utils.localtime": lambda *_, **__: self._datetime_now(dt.UTC).astimezone(),
        }
        if call.startswith("time.clock_gettime"):
            return lambda clock: self._reading(clock, original, is_whole=call.endswith("_ns"))
        return simple.get(call)

    def _reading(self, clock: int, original: Callable[..., Any], *, is_whole: bool) -> Any:
        if clock != time.CLOCK_REALTIME:
            return original(clock)
        return self._now() if is_whole else self._now() / _SECOND

    def _datetime_now(self, tz: Any = None) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._now() / _SECOND, tz)

    def _datetime_today(self) -> dt.datetime:
        return self._datetime_now()

    def _datetime_utcnow(self) -> dt.datetime:
        return self._datetime_now(dt.UTC).replace(tzinfo=None)

    def _date_today(self) -> dt.date:
        return self._datetime_now().date()


# --- random values ---------------------------------------------------------------------------------------------------


def _draw(call: str, owner: str, function: str, generator: random.Random) -> Callable[..., Any] | None:
    if call in {"random.seed", "random.Random", "random.Random.seed", "numpy.random.seed"}:
        return generator.getrandbits
    if owner in {"random", "random.SystemRandom"}:
        return getattr(generator, function, None)
    if owner in {"secrets", "os", "ssl"}:
        return _SECRETS[function](generator)
    if call == "numpy.random.SeedSequence":
        return generator.getrandbits
    if owner == "numpy.random":
        numpy = sys.modules["numpy"]
        return getattr(numpy.random.RandomState(generator.getrandbits(32)), function, None)
    if owner in {"uuid", "fastuuid", "uuid_utils"}:
        return _identifier(function, generator)
    return None


def _identifier(function: str, generator: random.Random) -> Callable[..., Any] | None:
    if function == "getnode":
        # Python sets the multicast bit, too, if it finds no network card.
        return lambda: generator.getrandbits(48) | 1 << 40
    version = function.removeprefix("uuid")
    if not version.isdecimal():
        return None

    def draw(*_: Any, **__: Any) -> uuid.UUID:
        bits = generator.getrandbits(128) & ~(0xF000 << 64) & ~(0xC000 << 48)  # RFC 9562: version and variant
        return uuid.UUID(int=bits | int(version) << 76 | 0x8000 << 48)

    return draw


_SECRETS: dict[str, Callable[[random.Random], Callable[..., Any]]] = {
    "token_bytes": lambda generator: lambda size=None: generator.randbytes(_size(size)),
    "token_hex": lambda generator: lambda size=None: generator.randbytes(_size(size)).hex(),
    "token_urlsafe": lambda generator: (
        lambda size=None: urlsafe_b64encode(generator.randbytes(_size(size))).rstrip(b"=").decode()
    ),
    "choice": lambda generator: generator.choice,
    "randbelow": lambda generator: generator.randrange,
    "randbits": lambda generator: generator.getrandbits,
    "urandom": lambda generator: generator.randbytes,
    "getrandom": lambda generator: lambda size, _flags=0: generator.randbytes(size),
    "RAND_bytes": lambda generator: generator.randbytes,
}


def _size(size: int | None) -> int:
    return 32 if size is None else size
