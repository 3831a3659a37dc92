"""Providers to test against: one that follows a script, and one with random answers."""

from collections.abc import Iterator

import pytest

from autochron import provider
from autochron.provider import Call, Provider, Script, Step

WEATHER = Script(
    (
        Step(
            when=("weather",),
            turn=0,
            text="Let me {look|see}.",
            calls=(Call.of("weather", city="Oslo"), Call.of("weather", city="Rome, {random}")),
        ),
        Step(when=("weather",), turn=1, text="It is {random}."),
        Step(when=("slow",), text="late", latency=0.3),
        Step(when=("busy",), text="at last", fault="429*2"),
        Step(when=("order",), calls=(Call.of("refund", order="{number}", cents={"$int": "{number}00"}),)),
        Step(when=("malformed",), calls=(Call("refund", '{"order": '),)),
    )
)


@pytest.fixture(scope="session")
def scripted() -> Iterator[Provider]:
    """Serve the script above."""
    with provider.serve(script=WEATHER) as running:
        yield running


@pytest.fixture(scope="session")
def chance() -> Iterator[Provider]:
    """Serve the random model, with a different seed in each run."""
    with provider.serve() as running:
        yield running
