"""xai-sdk: functions in a dict, whose results name no call, and a coroutine that is called twice at once."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "xai_tools",
        (
            Step(
                ("san francisco",),
                0,
                "I will look up both.",
                (
                    _ask("get_temperature", location="San Francisco, CA", unit="celsius"),
                    _ask("get_ceiling", location="San Francisco, CA"),
                ),
            ),
            Step(("san francisco",), 1, "15 degrees, and clouds at 15000 feet."),
            Step(
                ("pounds",),
                0,
                calls=(_ask("get_exchange_rate", base="USD"), _ask("get_exchange_rate", base="GBP")),
            ),
            Step(("pounds",), 1, "8.60 and 11.50 euros."),
            Step(("joke",), text="Why do pirates never learn the alphabet? They stay at C."),
            Step(text="Who pays in two coins counts twice."),
        ),
        (Tool("get_temperature"), Tool("get_ceiling"), Tool("get_exchange_rate", 2)),
    ),
)
