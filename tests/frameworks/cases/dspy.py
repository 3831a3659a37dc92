"""dspy: ReAct, which asks for tools in the text of a prompt, by LiteLLM and by its own engine, with its cache on disk."""

from autochron.provider import Step
from tests.frameworks.case import Case, Tool


def _fields(**fields: str) -> str:
    """Return an answer as DSPy's adapter for chats reads it."""
    texts = [f"[[ ## {name} ## ]]\n{text}" for name, text in {**fields, "completed": ""}.items()]
    return "\n\n".join(texts)


def _react(thought: str, tool: str, arguments: str = "{}") -> str:
    return _fields(next_thought=thought, next_tool_name=tool, next_tool_args=arguments)


CASES = (
    Case(
        "dspy_react",
        (
            Step(("1623 plus 77", "[[ ## reasoning ## ]]"), text=_fields(reasoning="Added.", answer="1700")),
            Step(("1623 plus 77", "observation_1"), text=_react("Done.", "finish")),
            Step(
                ("1623 plus 77", "observation_0"),
                text=_react("Now add.", "evaluate_math", '{"expression": "1623+77"}'),
            ),
            Step(
                ("1623 plus 77",),
                text=_react("Look it up.", "search_wikipedia", '{"query": "Kinnairdy"}'),
            ),
            Step(
                ("who owned", "[[ ## reasoning ## ]]"),
                text=_fields(reasoning="Found.", answer="David Gregory"),
            ),
            Step(("who owned", "observation_0"), text=_react("Done.", "finish")),
            Step(("who owned",), text=_react("Look it up.", "owner_of", '{"place": "Kinnairdy"}')),
        ),
        (
            Tool("search_wikipedia", how="pack"),
            Tool("evaluate_math", how="pack"),
            Tool("owner_of", how="pack"),
        ),
        others=("finish",),
    ),
    Case(
        "dspy_native",
        (
            Step(("capital",), text=_fields(answer="Lisbon")),
            Step(("spain",), text=_fields(answer="Madrid")),
            Step(("tokyo", "[[ ## reasoning ## ]]"), text=_fields(reasoning="Looked up.", answer="Yes")),
            Step(("tokyo", "observation_0"), text=_react("Done.", "finish")),
            Step(("tokyo",), text=_react("Look it up.", "get_weather", '{"city": "Tokyo"}')),
        ),
        (Tool("get_weather", how="pack"),),
        others=("finish",),
    ),
)
