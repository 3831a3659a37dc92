"""Streams of LiteLLM: whole, and closed early, from OpenAI and Anthropic; and what a refused call raises."""

import litellm


def ask(model, **more):
    messages = [{"role": "user", "content": f"Tell {model} a story."}]
    return litellm.completion(model=model, messages=messages, stream=True, max_tokens=200, **more)


def main():
    seen = []
    for model in ("openai/gpt-4.1-mini", "anthropic/claude-sonnet-4-5"):
        stream = ask(model)
        print(type(stream).__name__)
        chunks = list(stream)
        for chunk in chunks:
            print(chunk.id, repr(chunk.choices[0].delta.content), chunk.choices[0].finish_reason)
        whole = litellm.stream_chunk_builder(chunks)
        print("whole:", whole.choices[0].message.content)
        seen += chunks
        for number, chunk in enumerate(ask(model, stream_options={"include_usage": True})):
            print(number, chunk.choices[0].delta.content)
            if number == 2:
                break
        try:
            litellm.completion(
                model=model,
                messages=[{"role": "user", "content": "x"}],
                extra_headers={"x-loopback": "400"},
                max_tokens=5,
            )
        except litellm.BadRequestError as error:
            print(type(error).__name__, error.status_code, error.llm_provider)
    return seen


if __name__ == "__main__":
    main()
