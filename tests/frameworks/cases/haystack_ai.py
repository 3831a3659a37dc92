"""haystack-ai: its Agent, streamed, in a pipeline with a state, and in an event loop, where a tool is a component."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "haystack_agent",
        (
            Step(("berlin",), 0, calls=(_ask("get_weather", city="Berlin"), _ask("calculator", a=22, b=1.8))),
            Step(("39.6",), 1, calls=(_ask("calculator", a=3, b=13.4),)),
            Step(("40.2",), 2, "It is 71.6 degrees Fahrenheit."),
            Step(("paris",), 0, calls=(_ask("get_weather", city="Paris"), _ask("remember", place="Paris"))),
            Step(("is noted",), 1, "Yes: there is no cloud."),
        ),
        (Tool("get_weather", 2), Tool("calculator", 2), Tool("remember")),
    ),
    Case(
        "haystack_async",
        (
            Step(
                (),
                0,
                calls=(
                    _ask("get_stock", item="lamp"),
                    _ask("get_stock", item="chair"),
                    _ask("price_of", item="lamp"),
                ),
            ),
            Step((), 1, "Seventeen of each, 12.50 euros."),
        ),
        (Tool("get_stock", 2), Tool("price_of", how="pack")),
    ),
    Case(
        "haystack_team",
        (
            Step(("look at rome",), 0, calls=(_ask("get_weather", city="Rome"),)),
            Step(("is cloudless",), 1, "No cloud over Rome."),
            Step(
                ("write to ada",),
                0,
                calls=(
                    _ask(
                        "ask_forecaster", messages=[{"role": "user", "content": [{"text": "Look at Rome."}]}]
                    ),
                ),
            ),
            Step(
                ("no cloud over",),
                1,
                calls=(_ask("write_letter", template_variables={"name": "Ada", "text": "Rome is sunny."}),),
            ),
            Step((), 2, "The letter is written."),
        ),
        (Tool("get_weather"),),
        others=("ask_forecaster", "write_letter"),
    ),
)
