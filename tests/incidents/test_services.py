"""The call of a `[[trace]]`: recorded, shown, made again, compared, and turned into an incident."""

import json
import re
from collections import Counter

import pytest

from autochron.model import Abandoned
from autochron.store import open_store
from autochron.store.tracefile import read_trace
from tests.cli.processes import autochron as command
from tests.cli.processes import python, write
from tests.incidents.verdicts import PLUGINS

APP = '''
import asyncio
import contextlib
import threading
from dataclasses import dataclass

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Mount, Route


class Order(BaseModel):
    item: str
    qty: int = 1
    password: str = ""


@dataclass
class Desk:
    rate: int

    def sell(self, order, *more, note="", **rest):
        return price(order["item"]) * self.rate + len(more) + len(note) + len(rest)

    @classmethod
    def open(cls, rate):
        return price("mug") * rate

    @staticmethod
    def close(item):
        return price(item)


class Shop:
    def __init__(self):
        self.lock = threading.Lock()

    def buy(self, item):
        return price(item)


def price(item):
    return {"mug": 250, "startup": 1}[item]


def charge(order: Order, limit=3):
    order.qty += 1
    return price(order.item) * (order.qty - 1)


async def wait(item):
    await asyncio.sleep(0)
    return price(item)


def count(n):
    for at in range(n):
        yield price("mug") + at
    return "all"


async def tick(n):
    for at in range(n):
        await asyncio.sleep(0)
        yield price("mug") + at


def fail(item):
    raise LookupError(f"no {item} at {price('mug')}")


def locked(lock, item):
    return price(item)


def late(item):
    return price(item)


def longer(item):
    return price(item)


def renamed(item):
    return price(item)


def replaced(item):
    return price(item)


async def sell(request):
    order = await request.json()
    if order["item"] == "none":
        raise HTTPException(409, f"none at {price('mug')}")
    return JSONResponse({"price": price(order["item"]) * request.app.state.rate}, status_code=201)


async def stream(request):
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return PlainTextResponse(f"{price('mug')} {size}")


async def early(request):
    return PlainTextResponse(str(price("mug")))


class Items(HTTPEndpoint):
    async def get(self, request):
        return PlainTextResponse(f"{price('mug')} {request.url.path} {request.query_params}")


async def raw(scope, receive, send):
    """It knows no lifespan, and an inner function of it holds its channels."""
    assert scope["type"] == "http"

    async def read():
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        return body

    async def answer(text):
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": text})

    item = (await read()).decode()
    await answer(str(price(item)).encode())


class Wrapped:
    """A class-based application around another."""

    def __init__(self, inner):
        self.inner = inner

    async def __call__(self, scope, receive, send):
        price("mug")
        await self.inner(scope, receive, send)


@contextlib.asynccontextmanager
async def lifespan(app):
    price("startup")  # outside of every call
    app.state.rate = 2
    yield


app = Starlette(
    routes=[
        Route("/sell", sell, methods=["POST"]),
        Route("/stream", stream, methods=["POST"]),
        Route("/early", early, methods=["POST"]),
    ],
    lifespan=lifespan,
)
items = Starlette(routes=[Route("/all", Items)])
outer = Starlette(routes=[Mount("/items", items)])
wrapped = Wrapped(Starlette(routes=[Route("/x", lambda request: PlainTextResponse("inner"), methods=["POST"])]))
shop = Shop()


def hidden():
    return Starlette(routes=[Route("/early", early, methods=["POST"])])
'''
TARGETS = (
    *("charge", "wait", "count", "tick", "fail", "locked", "late", "longer", "renamed", "replaced"),
    *("sell", "stream", "early", "raw"),
    *("Desk.sell", "Desk.open", "Desk.close", "Shop.buy", "Items.get", "Wrapped.__call__"),
)
RULES = (
    'version = 1\npacks = []\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ntarget = "app:price"\n'
    + "".join(f'[[trace]]\ntarget = "app:{target}"\n' for target in TARGETS)
)
RECORD = """
import asyncio
import threading
import autochron
from starlette.testclient import TestClient

SECRET = {"authorization": "Bearer sk-abcdefghijklmnopqrstuvwx"}
with autochron.record("all"):
    import app

    async def ticks():
        return [each async for each in app.tick(2)]

    print(app.charge(app.Order(item="mug", qty=2, password="hunter2")))
    print(asyncio.run(app.wait("mug")))
    print(list(app.count(3)))
    first = app.count(5)
    print(next(first), first.close())
    print(asyncio.run(ticks()))
    try:
        app.fail("cup")
    except LookupError as error:
        print(error)
    print(app.locked(threading.Lock(), "mug"))
    print(app.late("mug"), app.longer("mug"), app.renamed("mug"), app.replaced("mug"))
    print(app.Desk(3).sell({"item": "mug"}, 1, 2, note="x", more=4))
    print(app.Desk.open(2), app.Desk.close("mug"))
    print(app.shop.buy("mug"))
    with TestClient(app.app) as client:
        print(client.post("/sell?token=abc&a=%20b", json={"item": "mug", "secret": "s"}, headers=SECRET).text)
        print(client.post("/sell", json={"item": "none"}).text)
        print(client.post("/stream", content=b"x" * 10).text)
        print(client.post("/early", content=b"unread").text)
    print(TestClient(app.outer).get("/items/all?q=1").text)
    print(TestClient(app.raw).post("/x", content=b"mug").text)
    print(TestClient(app.wrapped).post("/x", content=b"mug").text)
    print(TestClient(app.hidden()).post("/early").text)
    never = app.count(2)
    next(never)
"""
CALLS = """
import json
import sys
import autochron
from autochron.errors import AutochronError
from autochron.store import open_store

for summary in open_store(".autochron/traces.db").summaries():
    target = summary.header.command.target.removeprefix("app:")
    if target in sys.argv[1:] or not sys.argv[1:]:
        try:
            with autochron.replay(summary.header.id, check=False) as replay:
                got = replay.call()
                got = [got.status_code, got.text] if hasattr(got, "status_code") else got
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
        print(json.dumps([target, got, [each.message for each in replay.divergences]]))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record a call of each function once."""
    folder = tmp_path_factory.mktemp("service")
    write(folder, {"app.py": APP, "autochron.toml": RULES, "record.py": RECORD, "calls.py": CALLS})
    done = python(folder, "record.py")
    assert done.status == 0, done.said
    return folder


@pytest.fixture(scope="module")
def traces(recorded):
    """Return the traces of the calls, by the name of the function."""
    store = open_store(str(recorded / ".autochron" / "traces.db"))
    by_function = {}
    for summary in store.summaries()[1:]:
        name = summary.header.command.target.removeprefix("app:")
        by_function.setdefault(name, []).append(store.load(summary.header.id))
    return by_function


@pytest.fixture
def service(recorded, tmp_path):
    """Return a copy of the folder for one test, with the program and its traces."""
    write(tmp_path, {"app.py": APP, "autochron.toml": RULES, "calls.py": CALLS})
    (tmp_path / ".autochron").mkdir()
    (tmp_path / ".autochron" / "traces.db").write_bytes((recorded / ".autochron" / "traces.db").read_bytes())
    return tmp_path


def call_of(traces, name, at=0):
    return traces[name][at].footer.call


def outcome(call):
    ended = call.outcome
    if hasattr(ended, "items"):
        return [json.loads(item) for item in ended.items], type(ended.end).__name__
    return json.loads(ended.value if hasattr(ended, "value") else ended.error)


def ids(traces, name):
    return [trace.header.id for trace in traces[name]]


def calls_made_again(folder, *names):
    done = python(folder, "calls.py", *names)
    assert done.status == 0, done.said
    return [json.loads(line) for line in done.text.splitlines()]


# --- recorded --------------------------------------------------------------------------------------------------------------


def test_arguments_and_outcome_are_recorded(traces):
    call = call_of(traces, "charge")
    assert (call.seq, call.address, call.kind, call.lane, call.parent, call.site) == (
        *(0, "charge[1]", "router", "0", None),
        "app.py:charge",
    )
    assert call.arguments == {
        "limit": 3,
        "order": {"item": "mug", "qty": 2, "password": "[masked]"},
    }
    assert json.loads(call.meta)["arguments"] == {
        "order": {"$type": "app:Order", "item": "mug", "qty": 2, "password": "[masked]"},
        "limit": 3,
    }
    assert (outcome(call), call.masked, call.opaque) == (500, ("arguments.order.password",), ())
    assert call.duration > 0


@pytest.mark.parametrize(
    ("name", "at", "arguments", "expected"),
    [
        ("wait", 0, {"item": "mug"}, 250),
        ("count", 0, {"n": 3}, ([250, 251, 252], "Returned")),
        ("count", 1, {"n": 5}, ([250], "Closed")),
        ("tick", 0, {"n": 2}, ([250, 251], "Returned")),
        ("Desk.sell", 0, {"order": {"item": "mug"}, "more": [1, 2], "note": "x", "rest": {"more": 4}}, 754),
        ("Desk.open", 0, {"rate": 2}, 500),
        ("Desk.close", 0, {"item": "mug"}, 250),
        ("Shop.buy", 0, {"item": "mug"}, 250),
        ("raw", 0, {"scope": {"method": "POST", "path": "/x", "query": "", "body": {"text": "mug"}}}, None),
    ],
)
def test_calls_of_each_kind_of_function_are_recorded(traces, name, at, arguments, expected):
    call = call_of(traces, name, at)
    assert (call.arguments, outcome(call)) == (arguments, expected)


def test_a_call_that_raises_is_recorded(traces):
    ended = outcome(call_of(traces, "fail"))
    assert (ended["$error"], ended["args"]) == ("builtins:LookupError", ["no cup at 250"])
    assert traces["fail"][0].footer.error == "LookupError"


def test_a_stream_that_is_left_open_is_recorded_as_abandoned(traces):
    (call,) = [
        candidate
        for candidate in (trace.footer.call for trace in traces["count"])
        if json.loads(candidate.input) == {"n": 2}
    ]
    assert outcome(call) == ([250], Abandoned.__name__)


def test_an_argument_that_cannot_be_encoded_is_recorded_by_its_type(traces):
    assert call_of(traces, "locked").opaque == (
        "arguments.lock: _thread:lock",
        "(input).lock: _thread:lock",
    )


def test_a_request_is_recorded_with_its_secrets_masked(traces):
    call = call_of(traces, "sell")
    request = call.arguments["request"]
    assert request == {
        "method": "POST",
        "path": "/sell",
        "query": "token=[masked]&a=%20b",
        "body": {"json": {"item": "mug", "secret": "[masked]"}, "style": "compact"},
    }
    meta = json.loads(call.meta)
    assert (meta["request"]["app"], dict(meta["request"]["headers"])["authorization"]) == (
        "app:app",
        "[masked]",
    )
    assert meta["response"] == {"status": 201, "body": {"json": {"price": 500}, "style": "compact"}}
    assert set(call.masked) == {
        "arguments.request.query",
        "arguments.request.body.json.secret",
        "arguments.request.headers.authorization",
    }


def test_an_application_is_recorded_by_its_name_in_a_module(traces):
    apps = {
        name: json.loads(call_of(traces, name).meta)["request"]["app"]
        for name in ("raw", "Items.get", "Wrapped.__call__")
    }
    assert apps == {"raw": "app:raw", "Items.get": "app:items", "Wrapped.__call__": "app:wrapped"}
    assert [json.loads(trace.footer.call.meta)["request"]["app"] for trace in traces["early"]] == [
        "app:app",
        None,
    ]


def test_a_trace_of_a_run_has_no_call(recorded):
    assert open_store(str(recorded / ".autochron" / "traces.db")).load("all").footer.call is None


# --- shown -----------------------------------------------------------------------------------------------------------------


def test_the_call_is_the_root_of_the_tree(recorded, traces):
    (charge,), (sell, _) = ids(traces, "charge"), ids(traces, "sell")
    shown = command(recorded, "traces", "show", charge).text
    # The input is shortened to the room that the duration leaves.
    shown = re.sub(r"[\d.]+ .?s", "T", re.sub(r" \w*… →", "… →", shown))
    assert shown.splitlines()[2:] == [
        '└─ charge[1] router  limit: 3, order: {item: "mug", password: "[masked]",… → 500  T  1 masked',
        '   └─ price[1] tool  item: "mug" → 250  T',
    ]
    full = command(recorded, "traces", "show", "--full", sell).text.splitlines()
    assert full[3:5] == ["    in   {", '      "request": {']
    (out,) = [line for line in full if line.startswith("    out  ")]
    assert out.startswith('    out  response {"status":201,"body":')
    as_json = json.loads(command(recorded, "traces", "show", "--json", charge).text)
    assert as_json["footer"]["call"]["outcome"] == {"value": 500, "argument": None}


def test_the_call_is_in_a_trace_file(recorded, traces, tmp_path):
    for name in ("charge", "count", "sell"):
        (ident, *_), file = ids(traces, name), str(tmp_path / f"{name}.jsonl")
        assert command(recorded, "traces", "export", ident, file).status == 0
        assert read_trace(file) == traces[name][0]


# --- made again ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made_again(recorded):
    """Make all calls again once. Return name, result and messages of the divergences of each."""
    return calls_made_again(recorded)


def test_every_call_that_can_be_made_again_is_made_again(made_again):
    refused = (
        "UsageError: replay.call() can't make the call of this trace again: {}; write the call yourself, inside the replay"
        " (usage)"
    )
    opaque = refused.format("its argument lock was recorded as _thread:lock without its content")
    request = (
        "the request in its argument request can't be sent again: its application is no attribute of a module"
    )
    no_app = refused.format(request)
    no_call = refused.format(
        "it holds no call; one that a [[trace]] rule made of a call does, unless an older release recorded it"
    )
    results = Counter((name, json.dumps(value)) for name, value, _ in made_again)
    expected = [
        ("", no_call),
        ("charge", 500),
        ("wait", 250),
        ("count", [250, 251, 252]),
        ("count", [250]),
        ("count", [250]),
        ("tick", [250, 251]),
        ("fail", "LookupError: no cup at 250"),
        ("locked", opaque),
        ("late", 250),
        ("longer", 250),
        ("renamed", 250),
        ("replaced", 250),
        ("Desk.sell", 754),
        ("Desk.open", 500),
        ("Desk.close", 250),
        ("Shop.buy", 250),
        ("sell", [201, '{"price":500}']),
        ("sell", [409, "none at 250"]),
        ("stream", [200, "250 10"]),
        ("early", [200, "250"]),
        ("early", no_app),
        ("Items.get", [200, "250 /items/all q=1"]),
        ("Wrapped.__call__", [200, "inner"]),
        ("raw", [202, "250"]),
    ]
    assert results == Counter((name, json.dumps(value)) for name, value in expected)


def test_the_recorded_input_is_no_divergence(made_again):
    names = ("charge", "count", "sell", "stream", "raw", "Shop.buy")
    assert {name for name, _, _ in made_again} > set(names)
    assert [entry for entry in made_again if entry[0] in names and entry[2]] == []


def test_without_starlette_a_request_goes_through_httpx(service):
    only_asgi = APP[APP.index("async def raw") : APP.index("class Wrapped")]
    price = APP[APP.index("def price") : APP.index("def charge")]
    blocked = 'import sys\nsys.modules["starlette"] = None\nsys.modules["starlette.testclient"] = None\n'
    write(service, {"app.py": price + only_asgi, "calls.py": blocked + CALLS})
    assert calls_made_again(service, "raw") == [["raw", [202, "250"], []]]
    write(service, {"calls.py": f'{blocked}sys.modules["httpx"] = None\n{CALLS}'})
    ((_, error, _),) = calls_made_again(service, "raw")
    assert error == (
        "UsageError: replay.call() sends the recorded request through starlette's test client or httpx, and neither is "
        "installed here; install one, or write the call yourself, inside the replay (usage)"
    )


STAYS = """
    if scope["type"] == "lifespan":
        ends, answer, staying = case
        while (message := await receive())["type"] != ends:
            await send({"type": message["type"] + ".complete"})
        await send({"type": message["type"] + answer, "message": "no key"})
        await (receive() if staying == "receive" else asyncio.sleep(60))
        return
"""
STAYING = {
    ("lifespan.startup", ".failed"): (
        "UsageError: replay.call(): the application did not start: no key (usage)"
    ),
    ("lifespan.shutdown", ".complete"): [202, "250"],
    ("lifespan.shutdown", ".failed"): [202, "250"],
}
"""The result of a call, by the last message that the application expects and the answer after which it stays."""


@pytest.mark.slow
def test_an_application_that_stays_after_its_last_word_is_ended(service):
    asserted = '    assert scope["type"] == "http"\n'
    write(service, {"app.py": APP.replace(asserted, STAYS)})
    cases = {(*ends, staying): result for ends, result in STAYING.items() for staying in ("receive", "sleep")}
    setting = f"import app\nfor app.case in {list(cases)!r}:\n"
    loop = CALLS[CALLS.index("for summary") :].replace("\n", "\n    ")
    imports = CALLS[: CALLS.index("for summary")]
    write(service, {"calls.py": f"{imports}{setting}    {loop}"})
    results = [result for _, result, _ in calls_made_again(service, "raw")]
    assert dict(zip(cases, results, strict=True)) == cases


CHANGED = {
    "late": ("def late(", "def later(", "app has no late any more; the nearest is later"),
    "longer": (
        "def longer(item)",
        "def longer(item, limit)",
        "app:longer takes an argument limit now, which was not recorded",
    ),
    "renamed": (
        "def renamed(item)",
        "def renamed(*, thing='mug')",
        "app:renamed takes no argument item any more",
    ),
    "replaced": (
        "def replaced(item):\n    return price(item)",
        "replaced = 3",
        "app:replaced is no function but of type builtins:int",
    ),
}
"""A change of each of these functions: the text before, the text after, and the reason to refuse the call."""


def test_functions_that_have_changed_are_refused(service):
    changed = APP
    for before, after, _ in CHANGED.values():
        assert changed.count(before) == 1
        changed = changed.replace(before, after)
    write(service, {"app.py": changed})
    refusal = (
        "UsageError: replay.call() can't make the call of app:{} again: {}; write the call yourself, inside the replay"
        " (usage)"
    )
    results = {name: result for name, result, _ in calls_made_again(service, *CHANGED)}
    assert results == {name: refusal.format(name, reason) for name, (_, _, reason) in CHANGED.items()}


MISUSED = """
import asyncio
import sys
import autochron
from autochron.errors import UsageError
from autochron.store import open_store
from msgspec import structs

def said(function):
    try:
        function()
    except UsageError as error:
        print(error)

replay = autochron.replay(sys.argv[1])
said(replay.call)
async def inside():
    replay.call()
with replay:
    said(lambda: asyncio.run(inside()))
    replay.call()
said(replay.call)
trace = open_store(".autochron/traces.db").load(sys.argv[1])
header = structs.replace(trace.header, command=structs.replace(trace.header.command, target="nowhere:wait"))
with autochron.replay(structs.replace(trace, header=header), check=False) as replay:
    said(replay.call)
"""


def test_call_is_refused_outside_a_replay_and_inside_an_event_loop(service, traces):
    write(service, {"misused.py": MISUSED})
    done = python(service, "misused.py", *ids(traces, "wait"))
    elsewhere = f"No module named 'nowhere'; let it be imported from {service}; write the call yourself, inside the replay"
    in_a_loop = (
        "replay.call() runs the call in an event loop of its own, and one is running here; call it from a test that is no "
        "coroutine, or in a thread: await asyncio.to_thread(replay.call)"
    )
    assert done.text.splitlines() == [
        "the replay has not begun; ask inside or after `with autochron.replay(...) as replay:` (usage)",
        f"{in_a_loop} (usage)",
        "replay.call() after the replay has ended would run for real; call it inside a replay of its own (usage)",
        f"replay.call() can't make the call of nowhere:wait again: {elsewhere} (usage)",
    ], done.said


# --- another input ---------------------------------------------------------------------------------------------------------

COMPARED = """
import json
import sys
import autochron
from starlette.testclient import TestClient
import app

for ident, live, inputs, code in json.load(sys.stdin):
    with autochron.replay(ident, live=live, inputs=inputs or None, check=False) as replay:
        exec(code)
    noted = [each for each in replay.divergences if each.kind == "input"]
    print(json.dumps([[e.kind, e.address, e.severity, e.path, e.recorded, e.replayed] for e in noted]))
"""
OTHER = ("limit", "3", "4")


INPUTS = (
    ("charge", [], "", "app.charge(app.Order(item='mug', qty=2, password='other'))", []),
    ("charge", [], "", "app.charge(app.Order(item='mug', qty=2, password='o'), 4)", [("error", *OTHER)]),
    (
        "charge",
        ["price"],
        "",
        "app.charge(app.Order(item='mug', qty=2, password='o'), 4)",
        [("warning", *OTHER)],
    ),
    (
        "charge",
        ["price"],
        "strict",
        "app.charge(app.Order(item='mug', qty=2, password='o'), 4)",
        [("error", *OTHER)],
    ),
    (
        "charge",
        [],
        "warn",
        "app.charge(app.Order(item='mug', qty=2, password='o'), 4)",
        [("warning", *OTHER)],
    ),
    ("charge", [], "ignore", "app.charge(app.Order(item='mug', qty=2, password='o'), 4)", []),
    ("stream", [], "", "TestClient(app.app).post('/stream', content=b'x' * 10)", []),
    (
        *("stream", [], "", "TestClient(app.app).post('/stream', content=b'x' * 11)"),
        [("error", "request.body.text", '"xxxxxxxxxx"', '"xxxxxxxxxxx"')],
    ),
    (
        *("stream", [], "", "TestClient(app.app).post('/stream?a=1', content=b'x' * 10)"),
        [("error", "request.query", '""', '"a=1"')],
    ),
    ("early", [], "", "TestClient(app.app).post('/early', content=b'other')", []),
    (
        *("raw", ["price"], "", "TestClient(app.raw).post('/y', content=b'mug')"),
        [("warning", "scope.path", '"/x"', '"/y"')],
    ),
    # The test client also calls the application to start and to stop it, around the request.
    *(
        (
            *(
                "Wrapped.__call__",
                ["price"],
                "",
                f"with TestClient(app.wrapped) as client: client.post('{path}')",
            ),
            noted,
        )
        for path, noted in (("/x", []), ("/y", [("warning", "scope.path", '"/x"', '"/y"')]))
    ),
)
"""Function, `live` and `inputs` of the plan, code that calls the function, and the divergences."""


def test_another_input_is_a_divergence_with_the_plans_severity(service, traces):
    write(service, {"compared.py": COMPARED})
    cases = [(ids(traces, name)[0], *plan_and_code) for name, *plan_and_code, _ in INPUTS]
    done = python(service, "compared.py", stdin=json.dumps(cases).encode())
    assert done.status == 0, done.said
    found = [json.loads(line) for line in done.text.splitlines()]
    expected = [
        [["input", name.rpartition(".")[2], *fields] for fields in noted] for name, *_, noted in INPUTS
    ]
    plans = [tuple(map(str, case[:-1])) for case in INPUTS]
    assert dict(zip(plans, found, strict=True)) == dict(zip(plans, expected, strict=True))


# --- incidents -------------------------------------------------------------------------------------------------------------


def new(folder, *words):
    done = command(folder, "incident", "new", *words, env=PLUGINS)
    assert done.status == 0, done.text + done.said
    return done.text


def run_test(folder, place):
    done = python(folder, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", place, env=PLUGINS)
    return done.status, done.text


@pytest.fixture
def new_and_red(request):
    """Return a function that makes an incident whose test fails as it should; those that are not `tried` are run later.

    `--thorough` tries all.
    """

    def make(folder, ident, name, *, tried):
        if tried or request.config.getoption("--thorough"):
            report = new(folder, ident, f"incidents/{name}")
            assert f"incidents/{name}/test_{name}.py fails as it should on today's code:" in report
        else:
            new(folder, ident, "--no-try", f"incidents/{name}")

    return make


@pytest.mark.slow
def test_incidents_tests_are_red_until_the_fix_is_in(service, traces, new_and_red):
    for name in ("charge", "sell"):
        new_and_red(service, ids(traces, name)[0], name, tried=name == "charge")
        text = (service / "incidents" / name / f"test_{name}.py").read_text("utf-8")
        assert (
            "    replay.call()\n" in text,
            "pytest.fail" in text,
            max(map(len, text.splitlines())) <= 100,
        ) == (True, False, True)
        assert "What was masked when it was recorded is passed as its mask" in text
    status, out = run_test(service, "incidents")
    again = re.findall(r"^E .*ReproducedError: price\[1\] did again", out, re.MULTILINE)
    assert (status, "2 failed" in out, len(again)) == (1, True, 2), out
    write(service, {"app.py": APP.replace('{"mug": 250,', '{"mug": 240,')})
    status, out = run_test(service, "incidents")
    assert (status, "2 passed" in out) == (0, True), out


@pytest.mark.slow
def test_calls_that_failed_have_to_end_well(service, traces, new_and_red):
    for name, at in (("fail", 0), ("sell", 1)):
        new_and_red(service, ids(traces, name)[at], f"{name}_failed", tried=name == "sell")
    status, out = run_test(service, "incidents")
    assert (status, "2 failed" in out, "LookupError" in out, "HTTPException" in out) == (1, True, True, True)
    fixed = APP.replace("    raise LookupError(", "    return (").replace(
        "        raise HTTPException(409, f\"none at {price('mug')}\")", "        order['item'] = 'mug'"
    )
    write(service, {"app.py": fixed})
    status, out = run_test(service, "incidents")
    assert (status, "2 passed" in out) == (0, True), out


def test_a_call_that_cannot_be_made_again_is_left_to_the_user(service, traces):
    report = new(service, *ids(traces, "locked"), "incidents/locked")
    assert "incidents/locked/test_locked.py fails, and waits for you:" in report
    text = (service / "incidents" / "locked" / "test_locked.py").read_text("utf-8")
    assert "pytest.fail(" in text
    report = " ".join(line.strip("# ") for line in text.splitlines())
    assert (
        "the call can't be made again: its argument lock was recorded as _thread:lock without its content"
        in report
    )
