"""groq: tools in a dict, a stream, and the asynchronous client."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "groq_tools",
        (
            Step(
                ("25 * 4",),
                0,
                calls=(_ask("get_exchange_rate", base="USD"), _ask("get_exchange_rate", base="GBP")),
            ),
            Step((), 1, calls=(_ask("calculate", expression="25 * 4"),)),
            Step((), 2, "100; 86 euros, and 1.15 euros."),
            Step(("joke",), text="A tensor walks into a bar, and nobody can picture it."),
            Step(text="Who answers first is listened to."),
        ),
        (Tool("calculate"), Tool("get_exchange_rate", 2)),
    ),
)
