"""An agent that calls tools, one of which fails, and has a team member."""

import random
from dataclasses import dataclass

from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent, tool


@dataclass
class Order:
    number: int
    total: float


@tool
def look_up(number: int) -> Order:
    """Look an order up.

    Args:
        number: which one.
    """
    if number > 100:
        raise LookupError(f"no order has the number {number}")
    return Order(number, random.random())


class Refund(Tool):
    name = "refund"
    description = "Pay an order back."
    inputs = {"number": {"type": "integer", "description": "which one"}}
    output_type = "string"

    def setup(self):
        self.drawer = random.Random()
        super().setup()

    def forward(self, number: int):
        return f"refunded {number}: {self.drawer.random()}"


def main():
    model = OpenAIModel("gpt-4.1-mini")
    quiet = {"model": model, "verbosity_level": LogLevel.OFF}
    teller = ToolCallingAgent([Refund()], name="teller", description="Pays back.", **quiet)
    desk = ToolCallingAgent([look_up], managed_agents=[teller], **quiet)
    answer = desk.run("Refund 7 and 8.")
    print(type(answer).__name__, answer)
    for step in desk.memory.steps[1:]:
        print(repr(getattr(step, "observations", None)), getattr(step, "error", None))


if __name__ == "__main__":
    main()
