"""A trading agent: it quotes shares and buys them for the clients of a small broker."""

import sys

import tools
from pydantic_ai import Agent, TextPart, ToolCallPart, ToolReturnPart, UsageLimits
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset

MODEL = "openai-chat:gpt-4.1-mini"
MESSAGE = "Please put 50,000 into Orsk Minerals (ORSK) for Lindqvist, at the market."
PROMPT = """You are the assistant of the desk at a small broker. Get a quote before you place an order.
Clients name what they want to spend, in dollars. Say in one sentence what was done."""


def refusal(account, symbol, quantity):
    """Return why the desk doesn't place an order; None if it does."""
    limits, price = tools.ACCOUNTS.get(account), tools.PRICES.get(symbol)
    if limits is None or price is None:
        return "there is no such account or share"
    if type(quantity) is not int or quantity < 1:
        return "a quantity is a number of shares, one at least"
    spent = sum(order["price"] * order["quantity"] for order in tools.orders if order["account"] == account)
    most = min(limits["most_per_order"], limits["cash"] - spent)
    if quantity > most / price:
        return f"{account} may spend {most:,.2f} on this order"
    return None


class Desk(WrapperToolset):
    """The tools, and what the desk refuses before it uses them."""

    async def call_tool(self, name, tool_args, ctx, tool):
        """Call a tool, unless it is an order that the account may not place."""
        reason = refusal(**tool_args) if name == "place_order" else None
        if reason:
            return {"status": "blocked", "reason": reason}
        return await super().call_tool(name, tool_args, ctx, tool)


trader = Agent(
    MODEL,
    name="trader",
    instructions=PROMPT,
    toolsets=[Desk(FunctionToolset([tools.get_quote, tools.place_order]))],
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
