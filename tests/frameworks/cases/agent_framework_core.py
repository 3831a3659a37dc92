"""agent-framework: functions and a method as tools, one under another name, on responses and on streamed chat completions."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "af_weather",
        (
            Step(
                turn=0,
                calls=(
                    _ask("get_weather", location="Amsterdam"),
                    _ask("get_weather", location="Oslo"),
                    _ask("get_menu_specials"),
                ),
            ),
            Step(turn=1, text="Mild in both; the soup is clam chowder."),
        ),
        (Tool("get_weather", 2), Tool("get_menu_specials")),
    ),
    Case(
        "af_stream",
        (
            Step(turn=0, calls=(_ask("look_up", title="Emma"), _ask("lend", title="Emma"))),
            Step(turn=1, text="Emma is on shelf C 14, and one is yours."),
            Step(turn=2, calls=(_ask("lend", title="Ulysses", copies=2),)),
            Step(turn=3, text="Two copies of Ulysses are yours."),
        ),
        (Tool("look_up"), Tool("lend", 2)),
    ),
    Case(
        "af_experts",
        (
            Step(("Amsterdam now",), 0, calls=(_ask("get_weather", location="Amsterdam"),)),
            Step(("Amsterdam now",), 1, "Rain."),
            Step(turn=0, calls=(_ask("ask_weather", query="Amsterdam now?"),)),
            Step(turn=1, text="Il pleut."),
        ),
        (Tool("get_weather"), Tool("ask_weather", runs=0)),
    ),
)
