"""Structured output: chat and responses, parsed into a model of one's own."""

import asyncio
from enum import Enum

from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel


class Mood(Enum):
    good = "good"
    bad = "bad"


class Review(BaseModel):
    title: str
    stars: int
    mood: Mood
    words: list[str]


MESSAGES = [{"role": "user", "content": "Review the mug."}]


def main():
    client = OpenAI()
    completion = client.chat.completions.parse(
        model="gpt-4.1-mini", messages=MESSAGES, response_format=Review
    )
    print(repr(completion.choices[0].message.parsed))
    response = client.responses.parse(model="gpt-4.1-mini", input="Review the mug.", text_format=Review)
    print(repr(response.output_parsed))

    async def ask():
        async with AsyncOpenAI() as other:
            return await other.chat.completions.parse(
                model="gpt-4.1-mini", messages=MESSAGES, response_format=Review
            )

    last = asyncio.run(ask())
    print(last.choices[0].message.parsed.mood is Mood.good, last.choices[0].message.parsed)
    return [completion, response, last]


if __name__ == "__main__":
    main()
