"""autogen-agentchat: an agent that streams, a team that hands over, and agents as tools."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "autogen_weather",
        (
            Step(turn=0, calls=(_ask("get_weather", city="New York"), _ask("stock_price", ticker="ACME"))),
            Step(turn=1, text="Sunny, and $101.50."),
        ),
        (Tool("get_weather"), Tool("stock_price")),
    ),
    Case(
        "autogen_team",
        (
            Step(("Transferred to",), 0, calls=(_ask("refund_flight", flight_id="507811"),)),
            Step(("Transferred to",), 1, "Flight 507811 is paid back. TERMINATE"),
            Step(turn=0, calls=(_ask("transfer_to_flights_refunder"),)),
        ),
        (Tool("refund_flight"), Tool("transfer_to_flights_refunder", 0, how="pack")),
    ),
    Case(
        "autogen_experts",
        (
            Step(("tides of Husum",), 0, calls=(_ask("lookup_tides", harbour="Husum"),)),
            Step(("tides of Husum",), 1, "At 03:12 and 15:40."),
            Step(("a verse on",), 0, "At twelve past three the tide is free."),
            Step(turn=0, calls=(_ask("pilot", task="The tides of Husum, please."),)),
            Step(turn=1, calls=(_ask("poet", task="A verse on 03:12."),)),
            Step(turn=2, text="At twelve past three, the tide is free."),
        ),
        (
            Tool("lookup_tides"),
            Tool("pilot", how="pack", runs=0),
            Tool("poet", how="pack", runs=0),
        ),
    ),
)
