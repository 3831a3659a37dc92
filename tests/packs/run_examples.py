"""Run the examples of one pack, each in its own recording, and print their crossings as JSON. Runs in its own process."""

import contextlib
import json
import os
import sys
from pathlib import Path

import tomli

import autochron
from autochron.rules.packs import pack_texts


def crossings_of(code, space, rules):
    """Return the (name, site) of each crossing of some code. The code may raise."""
    with autochron.record(store="memory:", rules=rules) as recording, contextlib.suppress(Exception):
        eval(code, space)
    # In order of start.
    return [(envelope.name, envelope.site) for envelope in recording.trace().envelopes]


def main(pack, rules):
    examples = tomli.loads(Path(pack_texts()[pack].file).read_text("utf-8"))["example"]
    output = os.dup(1)
    os.dup2(2, 1)
    results = []
    for example in examples:
        space = {}
        with autochron.record(store="memory:", rules=rules):
            exec(example["given"], space)
        for kind in ("crosses", "passes"):
            for code in example.get(kind, ()):
                results.append((example["rule"], kind, code, crossings_of(code, space, rules)))
    os.write(output, json.dumps(results).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
