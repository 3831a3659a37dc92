"""strands-agents: tools by decorator, one async, one with the agent's state, a stream, and an answer with a type."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "strands_tools",
        (
            Step(
                ("strawberry",),
                0,
                calls=(
                    _ask("letter_counter", word="strawberry", letter="r"),
                    Call("find_city", '{"name": "Porto"}'),
                ),
            ),
            Step(("where is faro",), 0, calls=(Call("find_city", '{"name": "Faro"}'),)),
            Step(("faro lies",), 1, "Faro lies at the sea."),
            Step((), 1, calls=(_ask("take_note", text="three letters r"),)),
            Step((), 2, calls=(_ask("take_note", text="Porto at the sea"),)),
            Step((), 3, "Three, and at the sea."),
        ),
        (Tool("letter_counter"), Tool("find_city", 2), Tool("take_note", 2)),
    ),
    Case(
        "strands_answer",
        (
            Step((), 0, calls=(_ask("distance", name="Faro"),)),
            Step((), 1, calls=(_ask("City", name="Faro", kilometres=4),)),
        ),
        (Tool("distance"), Tool("City", 0, "free-form")),
    ),
    Case(
        "strands_bedrock",
        (
            Step(
                (),
                0,
                calls=(
                    _ask("letter_counter", word="strawberry", letter="r"),
                    _ask("letter_counter", word="berry", letter="r"),
                ),
            ),
            Step((), 1, calls=(_ask("keep_answer", answer="three"),)),
            Step((), 2, calls=(_ask("keep_answer", answer="two"),)),
            Step((), 3, "Three and two."),
        ),
        (Tool("letter_counter", 2), Tool("keep_answer", 2)),
    ),
)
