"""Loading, showing, comparing, importing and exporting a trace builds no object and calls nothing that it names."""

import json
import os

import pytest
from msgspec import structs

from autochron.model import Abandoned, Raised, Returned, Streamed
from autochron.store.tracefile import read_trace, write_trace
from tests.cli.processes import python, write
from tests.security.agents import recorded
from tests.security.hostile import HOSTILE

# What a trace can name: functions with effects, modules with code to import, and a value type of an imported module.
NAMES = [
    "os:system",
    "subprocess:Popen",
    "builtins:eval",
    "builtins:__import__",
    "pickle:loads",
    "canary:Quote",
    "canary:run",
    "canary.py:Quote",
    "agent.py:act",
    "unheard_of.module:x",
    "antigravity:fly",
    "present:Quote",
    "present:run",
    "@:x",
    "",
]
CANARY = """
import os

def run(*args, **named):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "owned"), "a") as file:
        file.write("x")

class Meta(type):
    __call__ = __instancecheck__ = __getattr__ = run

class Quote(metaclass=Meta):
    __new__ = __init__ = __setstate__ = __reduce__ = __repr__ = __str__ = __del__ = __eq__ = __hash__ = run
"""
# Runs our commands one after the other, in a process that observes every audit event and every call.
GUARD = """
import contextlib, io, json, os, sys
import present
from autochron.cli import main

HERE = os.path.dirname(os.path.abspath(__file__))
STARTS = ("os.system", "os.exec", "os.fork", "os.kill", "os.posix_spawn", "os.putenv", "os.spawn", "subprocess.")
ACTS = (*STARTS, "code.", "ctypes.", "pickle.", "socket.", "urllib.", "webbrowser.")
MODULES = {"agent", "antigravity", "canary", "present", "this", "unheard_of"}
seen = []

def hear(event, arguments):
    if event.startswith(ACTS):
        seen.append(f"{event} {arguments!r:.80}")
    elif event == "import" and arguments[0].partition(".")[0] in MODULES:
        seen.append(f"import {arguments[0]}")
    elif event == "compile" and "owned" in repr(arguments[0]):
        seen.append(f"compile {arguments!r:.80}")

def call(frame, event, argument):
    file = frame.f_code.co_filename
    # `reading.py` is what makes values: it may be imported, and is not asked to.
    makes = file.endswith(READING) and frame.f_code.co_name != "<module>"
    if event == "call" and (makes or file.startswith(HERE) and file != __file__):
        seen.append(f"call {frame.f_code.co_qualname} in {file}")

READING = os.path.join("autochron", "envelope", "reading.py")
sys.addaudithook(hear)
done = {}
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    seen.clear()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.setprofile(call)
        try:
            main(words)
        except SystemExit as end:
            status = end.code
        finally:
            sys.setprofile(None)
    done[" ".join(words)] = [status, list(seen), out.getvalue(), err.getvalue()]
print(json.dumps(done))
"""
META = b'{"model":{"$type":"canary:Quote"},"beside":{"$ref":"os:system"}}'
COMMANDS = {
    "load": ["traces", "list", "--json"],
    "import": ["traces", "import", "sent.jsonl"],
    "show": ["traces", "show", "sent.jsonl"],
    "show all": ["traces", "show", "--full", "sent.jsonl"],
    "show as JSON": ["traces", "show", "--json", "sent.jsonl"],
    "show of the store": ["traces", "show", "--full", "last"],
    "diff": ["traces", "diff", "sent.jsonl", "other.jsonl"],
    "diff as JSON": ["traces", "diff", "--json", "sent.jsonl", "other.jsonl"],
    "export": ["traces", "export", "last", "again.jsonl"],
}


def bodies():
    """Yield outcomes that name something to build or to call, in each form that a trace has for that."""
    for name in NAMES:
        yield Returned(json.dumps({"$type": name, "args": "touch owned", "price": 1}).encode())
        yield Returned(json.dumps([{"$ref": name}, {"$module": name.partition(":")[0]}]).encode())
        yield Returned(json.dumps({"$enum": name, "name": "run", "value": 1}).encode())
        yield Raised(json.dumps({"$error": name, "args": ["touch owned"], "attributes": {"a": 1}}).encode())
        yield Streamed(
            (json.dumps({"$type": name}).encode(),),
            Abandoned() if name == "" else Returned(b'{"$ref":"os:system"}'),
        )
    for text in HOSTILE:
        yield Returned(json.dumps({"text": text.encode("utf-8", "replace").decode()}).encode())


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Run each command on a hostile trace under the guard; return the folder, and each command's status, events, output."""
    folder = recorded(tmp_path_factory.mktemp("sent"))
    trace = read_trace(str(folder / "trace.jsonl"))
    (first,) = trace.envelopes
    envelopes = [
        structs.replace(
            first,
            seq=number,
            nth=number,
            name=NAMES[number % 10],
            outcome=outcome,
            meta=META,
        )
        for number, outcome in enumerate(bodies(), 1)
    ]
    sent_letter, other_letter = [letter for letter in "XYZ" if not trace.header.id.endswith(letter)][:2]
    for name, last, changed in (("sent", sent_letter, envelopes), ("other", other_letter, envelopes[::-1])):
        header = structs.replace(trace.header, id=trace.header.id[:-1] + last)
        renumbered = tuple(
            structs.replace(envelope, seq=position, nth=position)
            for position, envelope in enumerate(changed, 1)
        )
        write_trace(
            structs.replace(trace, header=header, envelopes=renumbered), str(folder / f"{name}.jsonl")
        )
    write(folder, {"guard.py": GUARD, "canary.py": CANARY, "present.py": CANARY})
    os.remove(folder / "ran")
    done = python(folder, "guard.py", json.dumps(list(COMMANDS.values())))
    assert (done.status, done.said) == (0, ""), done.said
    return folder, json.loads(done.text)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_builds_or_calls_anything_that_a_trace_names(guarded, command):
    folder, results = guarded
    status, seen, out, errors = results[" ".join(COMMANDS[command])]
    assert seen == []
    assert (status, errors) == (1 if "diff" in command else 0, errors if "import" in command else ""), errors
    assert command in {"import", "export"} or out
    assert not os.path.exists(folder / "owned")
    assert not os.path.exists(folder / "ran")


def test_an_imported_trace_is_exported_unchanged(guarded):
    folder, _ = guarded
    assert (
        read_trace(str(folder / "again.jsonl")).envelopes == read_trace(str(folder / "sent.jsonl")).envelopes
    )
