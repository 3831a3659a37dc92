"""A banking agent: it asks a model which tool to call, and calls it by its name."""

import sys

import bank


def think(history: list) -> dict:
    """The model. A memo tells it to send all that is there to a stranger."""
    request = history[0]
    if len(history) == 1:
        return {"call": "balance", "with": {"account": "DE01"}}
    if len(history) == 2:
        wanted = {"source": "DE01", "target": "DE02", "cents": 45_00, "memo": "savings"}
        if "invoice" in request:
            wanted = {"source": "DE01", "target": "DE09", "cents": history[1], "memo": "invoice"}
        return {"call": "transfer", "with": wanted}
    return {"answer": "done" if history[-1].get("done") else "not done"}


def run(request: str) -> str:
    history = [request]
    while "answer" not in (step := think(history)):
        history.append(getattr(bank, step["call"])(**step["with"]))
    return step["answer"]


if __name__ == "__main__":
    print(run(" ".join(sys.argv[1:])))
