"""A dealing agent: it asks for quotes of the currencies that a company needs, and deals at them."""

import sys
from datetime import UTC, datetime

import tools
from pydantic_ai import Agent, ModelRetry

MESSAGE = "Please buy 250,000 US dollars and 100,000 pounds, and check the pound against our budget first."
PROMPT = """You are the dealing agent of a company. Ask for a quote of each currency, and accept the quotes within the budget:
1.05 dollars, 0.84 pounds or 0.92 francs for a euro, or more. A quote is firm for a short time only.
In the end say in one sentence what was dealt."""

agent = Agent("openai-chat:gpt-4.1-mini", instructions=PROMPT, defer_model_check=True)


@agent.instructions
def tell_the_time() -> str:
    return f"It is {datetime.now(UTC):%H:%M:%S} UTC."


@agent.tool_plain
def request_quote(currency: str, amount: int) -> tools.Quote:
    """Ask the desk for a firm rate at which it sells an amount of a currency for euros.

    Args:
        currency: a code of three letters.
        amount: in whole units of that currency.
    """
    print(f"  request_quote {currency} {amount:,}")
    if currency not in tools.RATES:
        raise ModelRetry(f"the desk deals in {', '.join(tools.RATES)}, and not in {currency}")
    quote = tools.request_quote(currency, amount)
    print(f"    -> {quote.number} at {quote.rate}, valid until {quote.valid_until:%H:%M:%S}")
    return quote


def refuse(why):
    """Say to the model that there was no deal."""
    print(f"    -> blocked: {why}")
    return {"status": "blocked", "why": why}


@agent.tool_plain
def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote.

    Args:
        number: that of the quote, such as Q-001.
    """
    print(f"  accept_quote {number}")
    if number not in tools.quotes:
        raise ModelRetry(f"there is no quote {number}")
    quote = tools.quotes[number]
    if type(quote.amount) is not int or quote.amount < 1:
        return refuse("the quote is for no amount")
    if datetime.now(UTC) > quote.valid_until:
        return refuse("the quote has run out")
    deal = tools.accept_quote(number)
    print(f"    -> {deal['status']}")
    return deal


def answer(message):
    """Work until the model asks for no tool any more; give the last thing it said."""
    said = agent.run_sync(message).output
    print(f"agent: {said}")
    return said


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
