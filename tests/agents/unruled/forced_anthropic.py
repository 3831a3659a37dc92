"""The same with Anthropic's SDK and a dataclass: any tool has to be called, and there is one."""

from dataclasses import dataclass

from anthropic import Anthropic


@dataclass
class Sentiment:
    """How a customer feels."""

    mood: str
    score: float


def classify(text):
    schema = {
        "type": "object",
        "properties": {"mood": {"type": "string"}, "score": {"type": "number"}},
        "required": ["mood", "score"],
    }
    message = Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=200,
        messages=[{"role": "user", "content": text}],
        tools=[{"name": "Sentiment", "description": Sentiment.__doc__, "input_schema": schema}],
        tool_choice={"type": "any"},
    )
    return [Sentiment(**block.input) for block in message.content if block.type == "tool_use"]


for feeling in classify("I have waited for two weeks!"):
    print(feeling)
