"""What LiteLLM knows of prices: fetched as it is imported."""

import litellm


def main():
    print(litellm.model_cost.get("mug-1", "no mug"), len(litellm.model_cost))
    response = litellm.completion(model="openai/mug-1", messages=[{"role": "user", "content": "A word."}])
    print(response.choices[0].message.content, response._hidden_params.get("response_cost"))


if __name__ == "__main__":
    main()
