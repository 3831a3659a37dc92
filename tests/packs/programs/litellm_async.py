"""LiteLLM in asyncio: calls at once, streams, embeddings."""

import asyncio

import litellm

MODELS = ("openai/gpt-4.1-mini", "anthropic/claude-sonnet-4-5")


async def ask(model, topic):
    messages = [{"role": "user", "content": f"A word on {topic}."}]
    response = await litellm.acompletion(model=model, messages=messages, max_tokens=100)
    return response.id, response.choices[0].message.content


async def tell(model):
    messages = [{"role": "user", "content": "Tell a story."}]
    stream = await litellm.acompletion(model=model, messages=messages, stream=True, max_tokens=100)
    print(type(stream).__name__)
    async for chunk in stream:
        print(chunk.id, repr(chunk.choices[0].delta.content))


async def run():
    topics = ("mugs", "plates", "forks")
    for answer in await asyncio.gather(*(ask(model, topic) for model in MODELS for topic in topics)):
        print(*answer)
    for model in MODELS:
        await tell(model)
    vectors = await litellm.aembedding(model="openai/text-embedding-3-small", input=["mug", "plate"])
    print([round(sum(each["embedding"]), 6) for each in vectors.data], vectors.usage.total_tokens)


def main():
    asyncio.run(run())


if __name__ == "__main__":
    main()
