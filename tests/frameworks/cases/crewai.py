"""crewai: a crew of two, with a tool by decorator whose name has spaces, and one that is a class."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "crewai_crew",
        (
            Step(("soup is funnier",), text="Robots cook soup now."),
            Step(("find the news",), 0, calls=(_ask("search_the_news", topic="robots"),)),
            Step(
                ("medal",),
                1,
                calls=(
                    _ask("article_reader", title="Robots", paragraphs=1),
                    _ask("article_reader", title="Soup"),
                ),
            ),
            Step(("learn to cook",), text="1. A medal. 2. A robot cooks soup."),
            Step(("which is funnier",), text="The soup is funnier."),
            Step(
                ("write a line",),
                0,
                calls=(
                    _ask(
                        "ask_question_to_coworker",
                        question="Which is funnier?",
                        context="A medal, or soup.",
                        coworker="Researcher",
                    ),
                ),
            ),
        ),
        (Tool("search_the_news"), Tool("article_reader", 2)),
        others=("ask_question_to_coworker",),
    ),
)
