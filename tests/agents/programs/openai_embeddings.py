"""Embeddings: which of some texts is the nearest?"""

import asyncio

from openai import AsyncOpenAI, OpenAI

TEXTS = ["a blue mug", "a linen apron", "the weather in Oslo"]


def dot(one, other):
    return sum(x * y for x, y in zip(one, other))


def main():
    found = OpenAI().embeddings.create(model="text-embedding-3-small", input=TEXTS)

    async def ask():
        async with AsyncOpenAI() as client:
            return await client.embeddings.create(
                model="text-embedding-3-small", input="crockery", encoding_format="float"
            )

    asked = asyncio.run(ask())
    for text, each in zip(TEXTS, found.data):
        print(text, dot(each.embedding, asked.data[0].embedding))
    return [found, asked]


if __name__ == "__main__":
    main()
