"""LiteLLM without a provider: an answer that is mocked, and a model that no provider has."""

import litellm


def main():
    messages = [{"role": "user", "content": "A word."}]
    response = litellm.completion(model="gpt-4.1-mini", messages=messages, mock_response="Mug.")
    print(type(response).__name__, response.id, response.created, response.choices[0].message.content)
    print(response.model_dump_json())
    try:
        litellm.completion(model="nonsense", messages=messages)
    except litellm.BadRequestError as error:
        print(error.status_code, error.message)


if __name__ == "__main__":
    main()
