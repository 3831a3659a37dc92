"""Raw responses: headers, then what they parse to."""

import asyncio

from openai import AsyncOpenAI, OpenAI

ASKED = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "Hello."}]}


def main():
    client = OpenAI()
    raw = client.chat.completions.with_raw_response.create(**ASKED)
    print(type(raw).__name__, raw.status_code, raw.headers["x-request-id"], raw.retries_taken)
    print(raw.text)
    completion = raw.parse()
    print(completion.choices[0].message.content)
    with client.chat.completions.with_streaming_response.create(**ASKED) as response:
        print(response.headers["content-type"])
        lines = list(response.iter_lines())
    print(lines)

    async def ask():
        async with AsyncOpenAI() as other:
            found = await other.chat.completions.with_raw_response.create(**ASKED)
            print(found.http_response.status_code, found.request_id)
            return found.parse()

    last = asyncio.run(ask())
    print(last)
    return [raw, completion, lines, last]


if __name__ == "__main__":
    main()
