"""Streams of steps and of what the model says, from both kinds of agent."""

import random

from smolagents import CodeAgent, LogLevel, OpenAIModel, ToolCallingAgent, tool


@tool
def roll(sides: int) -> int:
    """Roll a die.

    Args:
        sides: how many it has.
    """
    return random.randint(1, sides)


def main():
    model = OpenAIModel("gpt-4.1-mini")
    for kind in (ToolCallingAgent, CodeAgent):
        agent = kind([roll], model=model, stream_outputs=True, verbosity_level=LogLevel.OFF)
        for event in agent.run(f"Play as {kind.__name__}.", stream=True):
            print(type(event).__name__, getattr(event, "content", None), getattr(event, "output", None))


if __name__ == "__main__":
    main()
