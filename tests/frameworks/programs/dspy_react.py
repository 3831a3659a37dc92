"""ReAct of DSPy, in the shape of its first example: functions as tools, and an async run."""

import asyncio

import dspy
from footprint import footprint

dspy.configure(lm=dspy.LM("openai/gpt-4.1-mini", cache=False))


def evaluate_math(expression: str) -> float:
    """Evaluate a sum."""
    footprint("evaluate_math")
    return float(sum(int(part) for part in expression.split("+")))


def search_wikipedia(query: str) -> list[str]:
    """Search the abstracts of Wikipedia."""
    footprint("search_wikipedia")
    return [f"{query} is a castle.", f"{query} was built in 1623."]


async def find_owner(place: str, year: int = 1700) -> str:
    footprint("owner_of")
    await asyncio.sleep(0)
    return f"{place} was owned by David Gregory in {year}."


react = dspy.ReAct("question -> answer: float", tools=[evaluate_math, search_wikipedia])
pred = react(question="What is 1623 plus 77, the year in which Kinnairdy was built plus 77?")
print(pred.answer)

owner = dspy.Tool(find_owner, name="owner_of", desc="Find who owned a place.")
history = dspy.ReAct("question -> answer", tools=[owner])
print(asyncio.run(history.acall(question="Who owned Kinnairdy?")).answer)
