"""A help desk on the command line."""

import argparse

import desk


def model(question, facts):
    """Stand in for a model, which mistakes what was paid for what may be paid back."""
    if facts is None:
        return {"tool": "lookup"}
    return {"tool": "refund", "cents": facts["paid"]}


def main(arguments=None):
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("refund")
    command.add_argument("order")
    options = parser.parse_args(arguments)
    facts = None
    while (step := model(options.order, facts))["tool"] == "lookup":
        facts = desk.lookup(options.order)
    print(desk.refund(options.order, step["cents"])["status"])


if __name__ == "__main__":
    main()
