"""`autochron traces`."""

from __future__ import annotations

import os
import sys

from autochron.cli.options import FLAG, VALUE, Parsed, parse
from autochron.config import default_store, find_rule_file
from autochron.errors import StoreError, UsageError
from autochron.ports import Store
from autochron.store import open_store

HELP = """\
usage: autochron traces list                          what is in the store
       autochron traces show TRACE [--all | --full]   a trace as a tree; --all leaves nothing out,
                                                      --full shows all that went in and out
       autochron traces diff TRACE TRACE [--inputs strict|warn|ignore]
                                                      in what two traces differ: 0 the same, 1 they differ
       autochron traces export TRACE FILE             write a trace file (JSON Lines), for a repository
       autochron traces import FILE [--reseal]        take a trace file in; --reseal accepts one that was edited
       autochron traces prune [--max-age 30d] [--max-size 500MB] [--dry-run]
                                                      drop what is older, and the oldest until the rest fits

  --store URL   the store; default .autochron/traces.db beside the rules
  --rules FILE  the rules, beside which the store is
  --json        list, show and diff as JSON, also what prune drops
"""

_OPTIONS = {
    "--store": VALUE, "--rules": VALUE, "--max-age": VALUE, "--max-size": VALUE,
    "--inputs": VALUE, "--json": FLAG, "--all": FLAG, "--full": FLAG, "--reseal": FLAG, "--dry-run": FLAG,
    "--help": FLAG, "-h": FLAG,
}  # fmt: skip
_ACTIONS = {"list": 0, "show": 1, "diff": 2, "export": 2, "import": 1, "prune": 0}
_WANTS = {
    "show": "a trace", "diff": "two traces", "export": "a trace and a file", "import": "a file",
}  # fmt: skip


def traces(arguments: list[str]) -> int:
    """Look at traces and move them."""
    parsed = parse("traces", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    action, *words = parsed.rest or ["list"]
    if action not in _ACTIONS:
        raise UsageError(f"autochron traces has no {action!r}; it does {', '.join(_ACTIONS)}")
    if len(words) != _ACTIONS[action]:
        raise UsageError(f"autochron traces {action} wants {_WANTS.get(action, 'nothing')} after it")
    if action == "list":
        return _list(parsed)
    if action == "prune":
        return _prune(parsed)
    if action == "show":
        return _show(parsed, words[0])
    if action == "diff":
        return _diff(parsed, words[0], words[1])
    return _export(parsed, words[0], words[1]) if action == "export" else _import(parsed, words[0])


def store_of(parsed: Parsed) -> Store:
    """Open the store that the options name."""
    return open_store(store_url(parsed))


def store_url(parsed: Parsed) -> str:
    """Name the store that the options mean."""
    return parsed.values.get("--store") or default_store(parsed.values.get("--rules") or find_rule_file())


def _open(parsed: Parsed, reference: str) -> tuple[Store, str]:
    if reference.endswith(".jsonl"):
        if not os.path.exists(reference):
            raise StoreError(
                f"there is no trace file {reference}; `autochron traces export TRACE FILE` makes one"
            )
        return open_store(reference), "last"
    return store_of(parsed), reference


def _list(parsed: Parsed) -> int:
    from autochron.report.traces import write_list

    write_list(store_of(parsed).summaries(), sys.stdout, as_json="--json" in parsed.flags)
    return 0


def _show(parsed: Parsed, reference: str) -> int:
    from autochron.report.traces import write_trace, write_tree

    store, name = _open(parsed, reference)
    as_json = "--json" in parsed.flags
    if as_json or "--full" in parsed.flags:
        write_trace(store.load(name), sys.stdout, as_json=as_json)
    else:
        write_tree(store.record(name), sys.stdout, whole="--all" in parsed.flags)
    return 0


def _diff(parsed: Parsed, first: str, second: str) -> int:
    from autochron.replaying.contrasts import INPUTS
    from autochron.replaying.differing import differ
    from autochron.report.comparison import write_comparison

    said = parsed.values.get("--inputs", "strict")
    inputs = next((each for each in INPUTS if each == said), None)
    if inputs is None:
        raise UsageError(
            f"autochron traces: --inputs is {', '.join(INPUTS[:-1])} or {INPUTS[-1]}, not {said}"
        )
    one, other = (store.load(name) for store, name in (_open(parsed, each) for each in (first, second)))
    comparison = differ(one, other, inputs=inputs)
    write_comparison(comparison, sys.stdout, as_json="--json" in parsed.flags)
    return 0 if comparison.same else 1


def _export(parsed: Parsed, reference: str, file: str) -> int:
    from autochron.store.tracefile import write_stream

    store, name = _open(parsed, reference)
    trace_id = store.find(name)
    header, footer = store.outline(trace_id)
    write_stream(header, store.envelopes(trace_id), footer, file)
    sys.stdout.write(f"{trace_id} exported to {file}\n")
    return 0


def _import(parsed: Parsed, file: str) -> int:
    from autochron.store.tracefile import read_trace

    if not os.path.exists(file):
        raise StoreError(f"there is no trace file {file}")
    trace = read_trace(file, reseal="--reseal" in parsed.flags)
    store = store_of(parsed)
    sink = store.begin(trace.header)
    for number, envelope in enumerate(trace.envelopes):
        sink.put(envelope)
        if number % 500 == 499:
            sink.commit()
    if trace.footer is not None:
        sink.end(trace.footer)
    sink.close()
    sys.stdout.write(f"{trace.header.id} imported: {len(trace.envelopes)} crossings\n")
    return 0


def _prune(parsed: Parsed) -> int:
    from autochron.report.traces import write_pruned
    from autochron.store import pruning

    age, size = parsed.values.get("--max-age"), parsed.values.get("--max-size")
    if age is None and size is None:
        raise UsageError(
            "autochron traces prune wants --max-age, --max-size or both; with --dry-run it only tells"
        )
    before = None
    if age is not None:
        before = pruning.moment_ago(pruning.seconds(age, "autochron traces prune: --max-age"))
    room = None if size is None else pruning.room(size, "autochron traces prune: --max-size")
    store = store_of(parsed)
    summaries = store.summaries()
    dropped = pruning.to_drop(summaries, begun_before=before, room=room)
    is_dry = "--dry-run" in parsed.flags
    if dropped and not is_dry:
        store.drop([each.header.id for each in dropped])
    write_pruned(
        dropped, summaries[len(dropped) :], sys.stdout, is_dry=is_dry, as_json="--json" in parsed.flags
    )
    return 0
