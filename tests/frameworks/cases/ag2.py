"""ag2: tools that a decorator made of functions, and a conversation that goes on."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "ag2_weekday",
        (
            Step(
                turn=0,
                calls=(
                    _ask("get_weekday", date_string="1995-03-25"),
                    _ask("days_between", start="1995-03-25", end="2026-05-04"),
                ),
            ),
            Step(turn=1, text="It was a Saturday, 11363 days before."),
            Step(turn=2, calls=(_ask("get_weekday", date_string="2026-05-04"),)),
            Step(turn=3, text="It is a Monday."),
        ),
        (Tool("get_weekday", 2), Tool("days_between")),
    ),
    Case(
        "ag2_experts",
        (
            Step(("Husum now",), 0, calls=(_ask("get_tide", harbour="Husum"),)),
            Step(("Husum now",), 1, "At 03:12."),
            Step(turn=0, calls=(_ask("task_pilot", objective="Husum now?"),)),
            Step(turn=1, text="At 03:12, says the pilot."),
        ),
        (Tool("get_tide"), Tool("task_pilot", runs=0)),
    ),
)
