"""browser-use: its model calls, without a browser. What the agent is to do stands in the text of an answer."""

from autochron.provider import Step
from tests.frameworks.case import Case

CASES = (
    Case(
        "bu_decide",
        (
            Step(("How is",), text="Find it, put it into the cart, and pay."),
            Step(
                ("Imprint",),
                text='{"thinking": "2", "clicks": [{"index": 2, "reason": "a kettle"}], "is_done": false}',
            ),
            Step(("Pay",), text='{"thinking": "1", "clicks": [], "is_done": true}'),
        ),
    ),
)
