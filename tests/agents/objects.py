"""Record an imported agent in this process, stop its provider, and compare the objects of replays in forks of it.

    python -m tests.agents.objects all MODULE FORKS      in a folder with the agent and its rules
    python -m tests.agents.objects again MODULE          the same trace once more, in this process

Objects are equal if their types are, if `==` says so (where a class defines it), and if what pydantic and the SDKs keep
beside the fields is equal, too.
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
    mode, name, *options = sys.argv[1:]
    sys.path.insert(0, os.getcwd())
    sys.argv = [name]
    if mode == "again":
        with open(PICTURE, encoding="utf-8") as file:
            recorded = json.load(file)
        os.environ |= recorded["environment"]
        module = import_agent(name)
        with autochron.replay("objects", store=STORE):
            output, objects = outcome(module)
        assert output == recorded["output"], (recorded["output"], output)
        assert portrait(objects) == recorded["portrait"], (recorded["portrait"], portrait(objects))
        return 0
    from autochron import provider

    with provider.serve(latency=(0.0, 0.01)) as model:
        keys = {"OPENAI_API_KEY": "-", "ANTHROPIC_API_KEY": "-"}
        places = {"OPENAI_BASE_URL": model.url, "ANTHROPIC_BASE_URL": model.origin, **keys}
        os.environ |= places
        module = import_agent(name)
        with autochron.record("objects", store=STORE) as recording:
            output, objects = outcome(module)
        assert not recording.problems, recording.problems
    with open(PICTURE, "w", encoding="utf-8") as file:
        json.dump({"environment": places, "output": output, "portrait": portrait(objects)}, file)
    forks = int(options[0])
    for number in range(forks):
        in_fork(lambda: replay_once(module, output, objects), number)
    print(f"{forks} equal")
    return 0


def import_agent(name):
    import importlib

    return importlib.import_module(name)


def outcome(module):
    """Run the agent. Return what it printed and the objects that it got."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        objects = module.main()
    return output.getvalue(), objects


def replay_once(module, output, recorded):
    with autochron.replay("objects", store=STORE):
        printed, objects = outcome(module)
    # The event loop decides which of two tasks prints first after their crossings have ended, so lines are sorted.
    assert sorted(printed.splitlines()) == sorted(output.splitlines()), (
        f"printed\n{printed}\nand not\n{output}"
    )
    assert_equal(recorded, objects, "got")


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


def assert_equal(recorded, replayed, path):
    """Raise unless two values and their types are equal at every depth."""
    assert type(recorded) is type(replayed), f"{path}: {type(recorded)} became {type(replayed)}"
    if isinstance(recorded, list | tuple):
        assert len(recorded) == len(replayed), f"{path}: {recorded!r} became {replayed!r}"
        for index, (recorded_item, replayed_item) in enumerate(zip(recorded, replayed, strict=True)):
            assert_equal(recorded_item, replayed_item, f"{path}[{index}]")
    elif isinstance(recorded, dict):
        assert list(recorded) == list(replayed), f"{path}: {recorded!r} became {replayed!r}"
        for key in recorded:
            assert_equal(recorded[key], replayed[key], f"{path}[{key!r}]")
    elif type(recorded).__eq__ is not object.__eq__:
        assert recorded == replayed, f"{path}: {recorded!r} became {replayed!r}"
    if hasattr(type(recorded), "model_fields"):
        assert recorded.model_fields_set == replayed.model_fields_set, path
        assert getattr(recorded, "_request_id", None) == getattr(replayed, "_request_id", None), path
        for key in type(recorded).model_fields:
            assert_equal(getattr(recorded, key), getattr(replayed, key), f"{path}.{key}")
    assert portrait(recorded) == portrait(replayed), (
        f"{path}: {portrait(recorded)} became {portrait(replayed)}"
    )


def portrait(value):
    """Return a value as JSON data, with its types, its order and the facts that `==` leaves out."""
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    if value is None or (isinstance(value, bool | int | str) and type(value).__module__ == "builtins"):
        return value
    if isinstance(value, list | tuple):
        return [kind, *(portrait(item) for item in value)]
    if isinstance(value, set | frozenset):
        return [kind, *sorted((portrait(item) for item in value), key=repr)]
    if isinstance(value, dict):
        return [kind, *([portrait(key), portrait(item)] for key, item in value.items())]
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
