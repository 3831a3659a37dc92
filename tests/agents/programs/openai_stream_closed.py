"""Streams that nobody reads to the end: broken off, closed, and never read."""

from openai import OpenAI

client = OpenAI()


def ask(text):
    return client.chat.completions.create(
        model="gpt-4.1-mini", messages=[{"role": "user", "content": text}], stream=True
    )


def main():
    seen = []
    for chunk in ask("one"):
        seen.append(chunk)
        break
    with ask("two") as stream:
        seen.append(next(iter(stream)))
        seen.append(next(stream))
    stream = ask("three")
    stream.close()
    left = ask("four")
    seen.append(next(left))
    for each in seen:
        print(each.id, each.choices[0].delta)
    return seen


if __name__ == "__main__":
    main()
