"""The loop between the model and the tools."""

from refunddesk import model, tools

TOOLS = {"find_order": tools.find_order, "refund": tools.refund}


def answer(message: str) -> str:
    messages = [{"role": "user", "content": message}]
    for _ in range(6):
        step = model.complete(messages)
        if "say" in step:
            return step["say"]
        result = TOOLS[step["tool"]](**step["arguments"])
        messages.append({"role": "tool", "content": result})
    return "Somebody will call you."
