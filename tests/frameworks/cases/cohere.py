"""cohere: version 2 of its chat, with a tool that is a coroutine behind a lambda."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "cohere_tools",
        (
            Step(
                ("29 September",),
                0,
                "I will look up both.",
                (
                    _ask("query_daily_sales_report", day="2026-09-29"),
                    _ask("query_product_catalog", category="electronics"),
                ),
            ),
            Step((), 1, "The day before, too.", (_ask("query_daily_sales_report", day="2026-09-28"),)),
            Step((), 2, "10000, after 5000; and the Smartphone."),
            Step(("haiku",), text="Old pond. A request. The sound of a response."),
            Step(text="Say What You Return, and Return What You Say"),
        ),
        (Tool("query_daily_sales_report", 2), Tool("query_product_catalog", how="name value")),
    ),
)
