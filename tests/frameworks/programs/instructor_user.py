"""Users out of sentences: one whole, one asked for again since it was not valid, and two at a time."""

import asyncio

import instructor
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel, field_validator


class User(BaseModel):
    name: str
    age: int

    @field_validator("age")
    @classmethod
    def is_positive(cls, age):
        if age <= 0:
            raise ValueError("an age is greater than zero")
        return age


def extract(sentence):
    client = instructor.from_openai(OpenAI())
    return client.chat.completions.create(
        model="gpt-4o-mini",
        response_model=User,
        messages=[{"role": "user", "content": sentence}],
        max_retries=2,
    )


async def extract_all(*sentences):
    client = instructor.from_openai(AsyncOpenAI())
    return await asyncio.gather(
        *(
            client.chat.completions.create(
                model="gpt-4o-mini",
                response_model=User,
                messages=[{"role": "user", "content": sentence}],
            )
            for sentence in sentences
        )
    )


if __name__ == "__main__":
    print(extract("John Doe is 30 years old."))
    print(extract("Jane Roe is forty-one."))
    print(asyncio.run(extract_all("Is John Doe 30?", "So John is 30.")))
