"""A refund desk: tools with typed arguments and results keep a log in their dependencies; one asks to be called again."""

import random
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext


class Order(BaseModel):
    number: int
    total: Decimal
    due: datetime | None = None


@dataclass
class Receipt:
    order: Order
    code: float


@dataclass
class Desk:
    log: list[int] = field(default_factory=list)
    receipts: dict[int, Receipt] = field(default_factory=dict)


class Answer(BaseModel):
    text: str
    refunded: Decimal


agent = Agent("openai-chat:gpt-4.1-mini", deps_type=Desk, output_type=Answer, retries=2)


@agent.tool
def look_up(ctx: RunContext[Desk], number: int) -> Order:
    """Look an order up."""
    ctx.deps.log.append(number)
    if number > 100:
        raise ModelRetry(f"no order has the number {number}")
    return Order(number=number, total=Decimal(random.randrange(100)) / 4)


@agent.tool
def refund(ctx: RunContext[Desk], order: Order, why: str = "") -> Receipt:
    """Pay an order back."""
    ctx.deps.receipts[order.number] = receipt = Receipt(order, random.random())
    return receipt


@agent.tool_plain
def now() -> datetime:
    """Return the time."""
    return datetime.now()


def main():
    desk = Desk()
    result = agent.run_sync("Refund 7 and 8.", deps=desk)
    print(repr(result.output), result.usage.tool_calls)
    print(desk)


if __name__ == "__main__":
    main()
