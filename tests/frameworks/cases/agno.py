"""agno: functions, coroutines and toolkits as tools, with a state of the session, whole, streamed and printed in boxes."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "agno_weather",
        (
            Step(("is it warm",), 0, calls=(_ask("get_weather", city="Lisbon"),)),
            Step(
                ("what can i do",),
                0,
                calls=(_ask("get_weather", city="Faro"), _ask("list_events", city="Faro", limit=2)),
            ),
            Step(("tram tour",), 1, "Go on a tram tour."),
            Step(("22 degrees",), 1, "It is: 22 degrees."),
        ),
        (Tool("get_weather", 2), Tool("list_events")),
    ),
    Case(
        "agno_printed",
        (
            Step((), 0, calls=(_ask("get_price", symbol="ACME"), _ask("get_company", symbol="ACME"))),
            Step((), 1, "Acme Corporation costs 182.40 dollars."),
        ),
        (Tool("get_price"), Tool("get_company")),
        times=r"Response \(\d+\.\ds\) ━+",
    ),
    Case(
        "agno_state",
        (
            Step(("milk",), 0, calls=(_ask("add_item", item="milk"), _ask("add_item", item="bread"))),
            Step(("milk",), 1, calls=(_ask("list_items"),)),
            Step((), 2, "Milk and bread are on the list."),
        ),
        (Tool("add_item", 2), Tool("list_items")),
    ),
)
