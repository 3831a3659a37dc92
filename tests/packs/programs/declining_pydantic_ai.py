"""An agent that has its answer, and so does not run the tool that was asked for beside it."""

from pydantic import BaseModel
from pydantic_ai import Agent


class Answer(BaseModel):
    text: str


agent = Agent("openai-chat:gpt-4.1-mini", output_type=Answer, end_strategy="early")


@agent.tool_plain
def refund(number: int) -> str:
    """Pay an order back."""
    print("refunded", number)
    return "done"


def main():
    print(agent.run_sync("Refund 7.").output)


if __name__ == "__main__":
    main()
