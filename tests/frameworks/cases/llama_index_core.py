"""llama-index: FunctionAgent with a context and streamed events, and AgentWorkflow, where one agent hands over to another."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "llama_agent",
        (
            Step(("the name is", "12"), text="Twelve, Ada."),
            Step(("my name",), calls=(_ask("remember_name", name="Ada"), _ask("multiply", a=3, b=4))),
            Step(
                ("1234 times",),
                0,
                calls=(_ask("multiply", a=1234, b=4567), _ask("search_documents", query="1234")),
            ),
            Step(("5635678",), 1, "5635678, and nobody."),
        ),
        (Tool("multiply", 2), Tool("search_documents"), Tool("remember_name")),
    ),
    Case(
        "llama_workflow",
        (
            Step((), 0, calls=(_ask("search_web", query="history of the web"),)),
            Step((), 1, calls=(_ask("handoff", to_agent="Writer", reason="The notes are there."),)),
            Step((), 2, calls=(_ask("write_report", title="The web", content="It began in 1989."),)),
            Step((), 3, "Here is the report."),
        ),
        (Tool("search_web"), Tool("write_report")),
    ),
)
