"""Record an imported agent in this process, stop its provider, and compare what replays in forks of it give.

    python -m tests.agents.objects all MODULE FORKS      in a folder with the agent and its rules
    python -m tests.agents.objects again MODULE          the same trace once more, in this process

Equality is that of `==` where a class has one, of the type in any case, and of what pydantic and the SDKs keep beside the
fields.
"""

import contextlib
import io
import json
import os
import sys
import traceback

import autochron

STORE = "sqlite:///objects.db"
PICTURE = "objects.json"
TRANSFER = ("connection", "content-length", "transfer-encoding")
"""Headers that a trace doesn't keep: they describe another transfer."""


def main():
    what, name, *rest = sys.argv[1:]
    sys.path.insert(0, os.getcwd())
    sys.argv = [name]
    if what == "again":
        with open(PICTURE, encoding="utf-8") as file:
            recorded = json.load(file)
        os.environ |= recorded["environment"]
        module = imported(name)
        with autochron.replay("objects", store=STORE):
            output, found = outcome(module)
        assert output == recorded["output"], (recorded["output"], output)
        assert portrait(found) == recorded["portrait"], (recorded["portrait"], portrait(found))
        return 0
    from autochron import provider

    with provider.serve(latency=(0.0, 0.01)) as model:
        keys = {"OPENAI_API_KEY": "-", "ANTHROPIC_API_KEY": "-"}
        places = {"OPENAI_BASE_URL": model.url, "ANTHROPIC_BASE_URL": model.origin, **keys}
        os.environ |= places
        module = imported(name)
        with autochron.record("objects", store=STORE) as recording:
            output, found = outcome(module)
        assert not recording.problems, recording.problems
    with open(PICTURE, "w", encoding="utf-8") as file:
        json.dump({"environment": places, "output": output, "portrait": portrait(found)}, file)
    forks = int(rest[0])
    for number in range(forks):
        in_fork(lambda: replay_once(module, output, found), number)
    print(f"{forks} equal")
    return 0


def imported(name):
    import importlib

    return importlib.import_module(name)


def outcome(module):
    """Run the agent; give what it printed and what it got."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        found = module.main()
    return output.getvalue(), found


def replay_once(module, output, recorded):
    with autochron.replay("objects", store=STORE):
        again, found = outcome(module)
    # Which of two tasks prints first after their crossings have ended is the event loop's, and not what this is about.
    assert sorted(again.splitlines()) == sorted(output.splitlines()), f"printed\n{again}\nand not\n{output}"
    same(recorded, found, "got")


def in_fork(check, number):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            check()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"fork {number} ended with {status}"


def same(one, other, path):
    """Raise unless two values are equal and of the same type, all the way down."""
    assert type(one) is type(other), f"{path}: {type(one)} became {type(other)}"
    if isinstance(one, list | tuple):
        assert len(one) == len(other), f"{path}: {one!r} became {other!r}"
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            same(left, right, f"{path}[{index}]")
    elif isinstance(one, dict):
        assert list(one) == list(other), f"{path}: {one!r} became {other!r}"
        for key in one:
            same(one[key], other[key], f"{path}[{key!r}]")
    elif type(one).__eq__ is not object.__eq__:
        assert one == other, f"{path}: {one!r} became {other!r}"
    if hasattr(type(one), "model_fields"):
        assert one.model_fields_set == other.model_fields_set, path
        assert getattr(one, "_request_id", None) == getattr(other, "_request_id", None), path
        for key in type(one).model_fields:
            same(getattr(one, key), getattr(other, key), f"{path}.{key}")
    assert portrait(one) == portrait(other), f"{path}: {portrait(one)} became {portrait(other)}"


def portrait(value):
    """Draw a value as JSON, with types, order and what `==` leaves out."""
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    if value is None or (isinstance(value, bool | int | str) and type(value).__module__ == "builtins"):
        return value
    if isinstance(value, list | tuple):
        return [kind, *(portrait(each) for each in value)]
    if isinstance(value, set | frozenset):
        return [kind, *sorted((portrait(each) for each in value), key=repr)]
    if isinstance(value, dict):
        return [kind, *([portrait(key), portrait(each)] for key, each in value.items())]
    if isinstance(value, BaseException):
        facts = {
            name: portrait(getattr(value, name, None))
            for name in ("body", "request_id", "status_code", "code")
        }
        return [
            kind,
            str(value),
            portrait(value.args),
            facts,
            portrait(value.__cause__),
            getattr(value, "__notes__", None),
        ]
    if hasattr(type(value), "model_fields"):
        fields = {name: portrait(getattr(value, name)) for name in type(value).model_fields}
        extra = portrait(value.__pydantic_extra__)
        return [kind, fields, extra, sorted(value.model_fields_set), getattr(value, "_request_id", None)]
    if hasattr(value, "__dataclass_fields__"):
        return [kind, {name: portrait(getattr(value, name)) for name in value.__dataclass_fields__}]
    if hasattr(value, "http_response"):
        headers = {name: text for name, text in value.headers.items() if name not in TRANSFER}
        return [kind, value.status_code, portrait(headers), value.text, value.retries_taken]
    return [kind, repr(value)]


if __name__ == "__main__":
    sys.exit(main())
