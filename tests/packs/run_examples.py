"""Run the examples of one pack, each in a recording of its own, and print what crossed as JSON; for a process of its own."""

import contextlib
import json
import os
import sys
from pathlib import Path

import tomli

import autochron
from autochron.rules.packs import pack_texts


def crossed(code, space, rules):
    """Return (name, site) of what crosses; what the code raises is an outcome like any other."""
    with autochron.record(store="memory:", rules=rules) as recording, contextlib.suppress(Exception):
        eval(code, space)
    # In order of start, and ids that a library draws are not in question where it is about something else.
    return [(envelope.name, envelope.site) for envelope in recording.trace().envelopes]


def main(pack, rules):
    examples = tomli.loads(Path(pack_texts()[pack].file).read_text("utf-8"))["example"]
    said = os.dup(1)
    os.dup2(2, 1)
    found = []
    for example in examples:
        space = {}
        with autochron.record(store="memory:", rules=rules):
            exec(example["given"], space)
        for kind in ("crosses", "passes"):
            for code in example.get(kind, ()):
                found.append((example["rule"], kind, code, crossed(code, space, rules)))
    os.write(said, json.dumps(found).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
