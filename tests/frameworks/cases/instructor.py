"""instructor: answers as pydantic models, which are declared as a tool that the model has to call."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "instructor_user",
        (
            Step(("john",), calls=(_ask("User", name="John Doe", age=30),)),
            Step(("jane",), 0, calls=(_ask("User", name="Jane Roe", age=-1),)),
            Step((), 1, calls=(_ask("User", name="Jane Roe", age=41),)),
        ),
        (Tool("User", 0, "form"),),
    ),
)
