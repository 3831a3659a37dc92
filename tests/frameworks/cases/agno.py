"""agno: functions, coroutines and toolkits as tools, with a state of the session, whole, streamed and printed in boxes."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

_DELEGATION = _ask("delegate_task_to_member", member_id="weather-agent", task="Look up Lisbon.")

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
    Case(
        "agno_team",
        (
            Step(("how warm",), 0, calls=(_DELEGATION,)),
            Step(("look up lisbon",), 0, calls=(_ask("get_weather", city="Lisbon"),)),
            Step(("is sunny",), 1, "It has 22 degrees."),
            Step(("it has 22",), 1, calls=(_ask("multiply", a=22, b=1.8),)),
            Step((), 2, calls=(_ask("add", a=39.6, b=32),)),
            Step((), 3, "It has 71.6 degrees Fahrenheit."),
        ),
        (Tool("get_weather"),),
        others=("delegate_task_to_member", "multiply", "add"),
    ),
)
