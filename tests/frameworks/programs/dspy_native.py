"""DSPy with its own engine for calls of models: predictions with its cache and without, and ReAct with a tool."""

import os

import dspy
from footprint import footprint

settings = {
    "engine": "lm15",
    "api_base": os.environ.get("OPENAI_BASE_URL"),
    "api_key": os.environ.get("OPENAI_API_KEY"),
}
dspy.configure(lm=dspy.LM("openai/gpt-4.1-mini", **settings))


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    footprint("get_weather")
    return f"The weather in {city} is sunny."


qa = dspy.Predict("question -> answer")
print(qa(question="What is the capital of Portugal?").answer)
with dspy.context(lm=dspy.LM("openai/gpt-4.1-mini", cache=False, **settings)):
    print(qa(question="And that of Spain?").answer)

react = dspy.ReAct("question -> answer", tools=[get_weather])
print(react(question="Is it sunny in Tokyo?").answer)
