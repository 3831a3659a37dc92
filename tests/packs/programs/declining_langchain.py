"""A manual loop over LangChain's tools: of what the model asks for, one call is made."""

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def quote(item: str) -> int:
    """Price an item."""
    return len(item)


@tool
def order(item: str, count: int) -> str:
    """Order an item."""
    print("ordered", item, count)
    return item


TOOLS = {each.name: each for each in (quote, order)}


def main():
    model = ChatOpenAI(model="gpt-4.1-mini").bind_tools([quote, order])
    for call in model.invoke("A mug, please.").tool_calls:
        if call["name"] == "quote":
            print(TOOLS[call["name"]].invoke(call["args"]))


if __name__ == "__main__":
    main()
