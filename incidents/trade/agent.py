"""A trading agent: it quotes shares and buys them for the clients of a small broker."""

import sys

import tools
from pydantic_ai import Agent, TextPart, ToolCallPart, ToolReturnPart, UsageLimits

MODEL = "openai-chat:gpt-4.1-mini"
MESSAGE = "Please put 50,000 into Orsk Minerals (ORSK) for Lindqvist, at the market."
PROMPT = """You are the assistant of the desk at a small broker. Get a quote before you place an order.
Clients name what they want to spend, in dollars. Say in one sentence what was done."""

trader = Agent(
    MODEL,
    name="trader",
    instructions=PROMPT,
    tools=[tools.get_quote, tools.place_order],
    retries=2,
    defer_model_check=True,
)


def show(part):
    """Print what was said, asked for or given."""
    if isinstance(part, TextPart):
        print(f"agent: {part.content}")
    elif isinstance(part, ToolCallPart):
        print(f"  {part.tool_name} {part.args_as_json_str()}")
    elif isinstance(part, ToolReturnPart):
        print(f"    -> {part.model_response_str()}")


def answer(message):
    """Work on what somebody asks for; give the last thing that the model said."""
    result = trader.run_sync(message, usage_limits=UsageLimits(request_limit=6))
    for each in result.new_messages():
        for part in each.parts:
            show(part)
    return result.output


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
