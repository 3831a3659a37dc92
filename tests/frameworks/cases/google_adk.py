"""google-adk: an agent with two functions; and a team that hands over, has an agent as a tool, and streams."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "adk_weather",
        (
            Step(
                turn=0,
                calls=(_ask("get_weather", city="New York"), _ask("get_current_time", city="New York")),
            ),
            Step(turn=1, text="It is sunny in New York, and half past nine."),
            Step(turn=2, calls=(_ask("get_weather", city="Paris"),)),
            Step(turn=3, text="I don't know about Paris."),
        ),
        (Tool("get_weather", 2), Tool("get_current_time")),
    ),
    Case(
        "adk_team",
        (
            # What one agent did is told to the next one as words of the user.
            Step(("transfer_to_agent",), 0, calls=(_ask("say_hello", name="Ada"),)),
            Step(("transfer_to_agent",), 1, "Done: Ada is greeted."),
            Step(("Oslo's old name",), 0, "Ansloga"),
            Step(turn=0, calls=(_ask("get_weather", city="Oslo"), _ask("get_weather", city="Rome"))),
            Step(turn=1, text="Both are sunny."),
            Step(turn=2, calls=(_ask("namer", request="Oslo's old name, please."),)),
            Step(turn=3, text="It was Ansloga."),
            Step(turn=4, calls=(_ask("transfer_to_agent", agent_name="greeting_agent"),)),
        ),
        (
            Tool("get_weather", 2),
            Tool("say_hello"),
            Tool("namer", how="pack", runs=0),
            Tool("transfer_to_agent", 0, how="pack"),
        ),
    ),
)
