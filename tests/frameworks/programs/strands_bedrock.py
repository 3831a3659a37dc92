"""An agent of Strands in the shape of its first example: a tool by decorator, and the default model of Amazon Bedrock."""

from footprint import footprint
from strands import Agent, tool


@tool
def letter_counter(word: str, letter: str) -> int:
    """Count how often a letter stands in a word.

    Args:
        word (str): The word.
        letter (str): The letter.
    """
    footprint("letter_counter")
    return word.lower().count(letter.lower())


class Desk:
    """What keeps the answers, with a tool that is a method."""

    def __init__(self) -> None:
        self.answers: list[str] = []

    @tool
    def keep_answer(self, answer: str) -> str:
        """Keep an answer.

        Args:
            answer: The answer.
        """
        footprint("keep_answer")
        self.answers.append(answer)
        return f"kept as number {len(self.answers)}"


desk = Desk()
agent = Agent(tools=[letter_counter, desk.keep_answer])
agent("How many letters r are in strawberry, and in berry? Keep both answers.")
print()
print(desk.answers)
