"""A triage that hands over to a refund desk: tools with typed arguments and a context, one of which fails."""

import random
from dataclasses import dataclass, field
from datetime import datetime

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunContextWrapper,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)


class Order(BaseModel):
    number: int
    due: datetime


@dataclass
class Receipt:
    order: Order
    code: float


@dataclass
class Desk:
    log: list[int] = field(default_factory=list)


@function_tool
async def look_up(context: RunContextWrapper[Desk], number: int) -> Order:
    """Look an order up."""
    context.context.log.append(number)
    if number > 100:
        raise LookupError(f"no order has the number {number}, {random.random()}")
    return Order(number=number, due=datetime.now())


@function_tool
def refund(order: Order, why: str) -> Receipt:
    """Pay an order back."""
    return Receipt(order, random.random())


model = OpenAIChatCompletionsModel("gpt-4.1-mini", AsyncOpenAI())
refunds = Agent(name="Refunds", model=model, tools=[refund])
sales = Agent(name="Sales", model=model)
triage = Agent(name="Triage", model=model, tools=[look_up], handoffs=[refunds, sales])


def main():
    desk = Desk()
    result = Runner.run_sync(triage, "Refund 7.", context=desk)
    print(result.final_output, result.last_agent.name, desk)
    for item in result.to_input_list():
        print(item)


if __name__ == "__main__":
    main()
