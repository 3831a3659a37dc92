"""An agent that writes code: its tools are called from that, in a thread of the executor."""

import random

from smolagents import CodeAgent, LogLevel, OpenAIModel, ToolCallingAgent, tool


@tool
def roll(sides: int) -> int:
    """Roll a die.

    Args:
        sides: how many it has.
    """
    if sides < 2:
        raise ValueError("no such die")
    return random.randint(1, sides)


def main():
    model = OpenAIModel("gpt-4.1-mini")
    quiet = {"model": model, "verbosity_level": LogLevel.OFF}
    poet = ToolCallingAgent([], name="poet", description="Writes a line.", **quiet)
    player = CodeAgent([roll], managed_agents=[poet], **quiet)
    print(repr(player.run("Play.")))
    for step in player.memory.steps[1:]:
        print(repr(getattr(step, "observations", None)))


if __name__ == "__main__":
    main()
