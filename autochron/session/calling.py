"""Make the call again that a trace is of: `replay.call()`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, MutableMapping
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.json import decode, encode

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing.crossing import BUSY
from autochron.envelope import admission, codec, objects
from autochron.envelope import types as names
from autochron.envelope.bodies import restore_body
from autochron.errors import CodecError, UsageError
from autochron.model import Abandoned, Closed, Envelope, Streamed
from autochron.project import module_names
from autochron.recording.calls import ARGUMENTS
from autochron.rules.nearest import nearest
from autochron.session.replaying import MAIN_MODULES

if TYPE_CHECKING:
    from autochron.model import Footer, Header
    from autochron.ports import Record

_REMEDY = "write the call yourself, inside the replay"
_TRANSFER = frozenset({"host", "content-length", "transfer-encoding"})
"""Headers that are made anew for the request that is sent."""


def obstacle(header: Header, footer: Footer | None) -> str | None:
    """Say why the call that a trace is of can't be made again; None where it can."""
    call = None if footer is None else footer.call
    if call is None:
        return (
            "it holds no call; one that a [[trace]] rule made of a call does, unless an older release recorded it"
            if header.command.mode == "block"
            else "it is of a command; say replay.run()"
        )
    request = decode(call.meta).get("request")
    if request is not None:
        what = f"the request in its argument {request['parameter']}"
        if request["app"] is None:
            return f"{what} can't be sent again: its application is no attribute of a module"
        if request["missing"] is not None:
            return f"{what} can't be sent again: its body is not kept, for {request['missing']}"
        return None
    scope = decode(call.meta)["arguments"].get("scope")
    if isinstance(scope, dict) and {"receive", "send"} <= call.arguments.keys():
        return f"it is no HTTP request but a call of type {scope.get('type')}, which can't be sent again"
    found = next((entry for entry in call.opaque if entry.startswith(f"{ARGUMENTS}.")), None)
    if found is None:
        return None
    path, _, kind = found.removeprefix(f"{ARGUMENTS}.").partition(": ")
    name, _, rest = path.partition(".")
    inside = f", in {path}," if rest else ""
    return f"its argument {name}{inside} was recorded as {kind} without its content"


def masked_arguments(footer: Footer | None) -> list[str]:
    """Name what of the arguments was masked: the call is made again with the mask."""
    call = None if footer is None else footer.call
    start = f"{ARGUMENTS}."
    return (
        [] if call is None else [path.removeprefix(start) for path in call.masked if path.startswith(start)]
    )


def call_again(record: Record, root: str) -> Any:
    """Make the recorded call in this process; return what it returns, of a stream its items in a list.

    Args:
        record: the trace of a call.
        root: the folder that the trace's sites start from; modules of the program are imported from there, too.

    Raises:
        UsageError: the call can't be made again.
    """
    reason = obstacle(record.header, record.footer)
    call = None if record.footer is None else record.footer.call
    if reason is not None or call is None:
        raise UsageError(f"replay.call() can't make the call of this trace again: {reason}; {_REMEDY}")
    again = _Again(record.header, call, root or os.getcwd())
    with again.path():
        meta = decode(call.meta)
        if "request" in meta:
            return again.send(meta["request"])
        return again.call(meta)


class _Again:
    """One call that is made again."""

    def __init__(self, header: Header, call: Envelope, root: str) -> None:
        self._call = call
        self._root = root
        self._folder = os.path.join(root, header.command.folder)
        self._target = header.command.target

    @contextlib.contextmanager
    def path(self) -> Iterator[None]:
        """Let modules be imported from the program's folders, as the program could."""
        file = self._call.site.removeprefix("@").partition(":")[0]
        folders = [os.path.normpath(each) for each in (self._folder, self._root)]
        if file.endswith(".py"):
            folders.append(_above(os.path.join(self._root, file)))
        added = [each for each in dict.fromkeys(folders) if each not in sys.path]
        sys.path[:0] = added
        try:
            yield
        finally:
            for each in added:
                with contextlib.suppress(ValueError):
                    sys.path.remove(each)

    # --- a function ------------------------------------------------------------------------------------------------------

    def call(self, meta: dict[str, Any]) -> Any:
        module, _, qualname = self._target.rpartition(":")
        if module in MAIN_MODULES:
            module = f"@{self._call.site.removeprefix('@').partition(':')[0]}"
        function = self._function(self._module(module), qualname)
        arguments = {name: self._argument(name, tree) for name, tree in meta["arguments"].items()}
        arguments |= {name: self._attribute(place) for name, place in meta.get("attributes", {}).items()}
        bound = self._bound(function, arguments)
        return self._finished(function(*bound.args, **bound.kwargs))

    def _function(self, module: ModuleType, qualname: str) -> Any:
        found: Any = module
        for step in qualname.split("."):
            space = vars(found)
            base = next((each for each in getattr(found, "__mro__", ()) if step in vars(each)), None)
            if base is not None:
                space = vars(base)
            if step not in space:
                near = nearest([name for name in space if not name.startswith("_")], step)
                hint = f"; the nearest is {near}" if near else ""
                self._refuse(f"{module.__name__} has no {qualname} any more{hint}")
            found = space[step]
        found = inspect.unwrap(getattr(found, "__func__", found))
        if not callable(found):
            self._refuse(f"{self._target} is no function but of type {names.label(type(found))}")
        if not admission.is_own_module(getattr(found, "__module__", None)):
            self._refuse(f"{self._target} is no function of the project")
        return found

    def _argument(self, name: str, tree: Any) -> Any:
        try:
            return codec.decode(encode(tree))
        except CodecError as error:
            self._refuse(f"its argument {name} can't be rebuilt: {error.message}")

    def _bound(self, function: Any, arguments: dict[str, Any]) -> inspect.BoundArguments:
        signature = inspect.signature(function)
        gone = next((name for name in arguments if name not in signature.parameters), None)
        if gone is not None:
            self._refuse(f"{self._target} takes no argument {gone} any more")
        bound = inspect.BoundArguments(
            signature,
            {name: arguments[name] for name in signature.parameters if name in arguments},
        )
        new = next(
            (
                each.name
                for each in signature.parameters.values()
                if each.default is each.empty
                and each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}
                and each.name not in arguments
            ),
            None,
        )
        if new is not None:
            self._refuse(f"{self._target} takes an argument {new} now, which was not recorded")
        return bound

    def _finished(self, value: Any) -> Any:
        """Return the value once it is there; of a stream as many items as were read when it was recorded."""
        outcome = self._call.outcome
        was_left = isinstance(outcome, Streamed) and isinstance(outcome.end, Abandoned | Closed)
        count = len(outcome.items) if isinstance(outcome, Streamed) and was_left else None
        if inspect.isgenerator(value):
            with contextlib.closing(value):
                return list(islice(value, count))
        if inspect.isasyncgen(value):
            return _run(_items(value, count))
        return _run(_awaited(value)) if inspect.isawaitable(value) else value

    # --- a request -------------------------------------------------------------------------------------------------------

    def send(self, request: dict[str, Any]) -> Any:
        app = self._attribute(request["app"])
        asked = self._call.arguments[request["parameter"]]
        headers = [(name, value) for name, value in request["headers"] if name.lower() not in _TRANSFER]
        host = next((value for name, value in request["headers"] if name.lower() == "host"), "testserver")
        query = f"?{asked['query']}" if asked["query"] else ""
        url = f"{request['scheme']}://{host}{asked['path']}{query}"
        content = restore_body(encode(asked.get("body")))
        return _answer(
            _ServedApplication(app), (asked["method"], url, headers, content), request["root_path"]
        )

    # --- what both need --------------------------------------------------------------------------------------------------

    def _attribute(self, place: str) -> Any:
        module, _, path = place.rpartition(":")
        found: Any = self._module(module)
        for step in path.split("."):
            if not hasattr(found, step):
                self._refuse(f"{module.lstrip('@')} has no {path} any more")
            found = getattr(found, step)
        return found

    def _module(self, place: str) -> ModuleType:
        """Import a module of the program's. Outside of the call nothing crosses a boundary, as when it was recorded."""
        try:
            found = names.find_module(place)
        except CodecError:
            found = self._imported(place)
        if not admission.is_own_module(found.__name__):
            self._refuse(f"{found.__name__} is no module of the project")
        return found

    def _imported(self, place: str) -> ModuleType:
        name = module_names(os.path.join(self._root, place[1:]))[0] if place.startswith("@") else place
        with _outside():
            try:
                if not _is_own(name):
                    self._refuse(f"{name} is no module of the project")
                return import_module(name)
            except ModuleNotFoundError as error:
                if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                    raise
                self._refuse(f"{error}; let it be imported from {self._root}")

    def _refuse(self, reason: str) -> NoReturn:
        raise UsageError(f"replay.call() can't make the call of {self._target} again: {reason}; {_REMEDY}")


def _is_own(name: str) -> bool:
    """Return whether a module that is not imported yet, with the packages around it, is the project's."""
    for at in range(1, name.count(".") + 2):
        part = ".".join(name.split(".")[:at])
        if part in sys.modules:
            continue
        spec = find_spec(part)  # the packages around it were looked at, so what this imports is the project's
        if spec is None:
            raise ModuleNotFoundError(f"No module named {part!r}", name=part)
        places = [spec.origin] if spec.has_location else [*(spec.submodule_search_locations or ())]
        if not places or not all(isinstance(each, str) and objects.is_own_file(each) for each in places):
            return False
    return True


def _above(file: str) -> str:
    """Return the folder from which the module of a file is imported."""
    folder = os.path.dirname(file)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return os.path.normpath(folder)


@contextlib.contextmanager
def _outside() -> Iterator[None]:
    """Let nothing cross a boundary in this thread; what reaches out is refused as anywhere outside of live crossings."""
    ident = unpatched.get_ident()
    BUSY.add(ident)
    try:
        yield
    finally:
        BUSY.discard(ident)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


async def _items(stream: Any, count: int | None) -> list[Any]:
    found: list[Any] = []
    async with contextlib.aclosing(stream):
        while count is None or len(found) < count:
            try:
                found.append(await anext(stream))
            except StopAsyncIteration:
                break
    return found


def _run(coroutine: Any) -> Any:
    """Run a coroutine in an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    coroutine.close()
    raise UsageError(
        "replay.call() runs the call in an event loop of its own, and one is running here; call it from a test that is no"
        " coroutine, or in a thread: await asyncio.to_thread(replay.call)"
    )


# --- sending ---------------------------------------------------------------------------------------------------------------


def _answer(
    app: _ServedApplication, request: tuple[str, str, list[tuple[str, str]], bytes], root_path: str
) -> Any:
    """Send a request to an application in this process."""
    method, url, headers, content = request
    try:
        from starlette.testclient import TestClient  # lazy: of the program's framework, if it has it
    except (ImportError, RuntimeError):  # without starlette, or without the client that it sends through
        pass
    else:
        client = TestClient(app, root_path=root_path)
        made = client.build_request(method, url, content=content)
        # As it was, without the headers that a client adds of its own.
        exact = type(made)(method, made.url, headers=headers, content=content)
        return client.send(exact, follow_redirects=False)
    try:
        import httpx  # lazy: as above
    except ImportError:
        raise UsageError(
            "replay.call() sends the recorded request through starlette's test client or httpx, and neither is installed"
            f" here; install one, or {_REMEDY}"
        ) from None

    async def send() -> Any:
        transport = httpx.ASGITransport(app=app, root_path=root_path)
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.send(httpx.Request(method, url, headers=headers, content=content))

    return _run(send())


class _ServedApplication:
    """An application that is started before the request and stopped after it, as a server does; one may know neither."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        async with self._lifespan() as state:
            await self._app({**scope, "state": {**scope.get("state", {}), **state}}, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[dict[str, Any]]:
        state: dict[str, Any] = {}
        asked: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": state,
        }
        running: asyncio.Task[None] = asyncio.create_task(_started(self._app, scope, asked.get, told.put))
        with _outside():
            await asked.put({"type": "lifespan.startup"})
            said = asyncio.create_task(told.get())
            await asyncio.wait({running, said}, return_when=asyncio.FIRST_COMPLETED)
        if said.done() and said.result().get("type") == "lifespan.startup.failed":
            with contextlib.suppress(asyncio.CancelledError):
                await running  # which raises what it failed with
            message = str(said.result().get("message", "")).strip().splitlines()
            raise UsageError(
                f"replay.call(): the application did not start: {message[-1] if message else 'it does not say why'}"
            )
        said.cancel()
        try:
            yield state
        finally:
            if not running.done():
                await asked.put({"type": "lifespan.shutdown"})
                with _outside():
                    await asyncio.wait({running})
            if not running.cancelled():
                running.exception()  # an application that knows no lifespan may say so by any error


async def _started(app: Any, scope: dict[str, Any], receive: Any, send: Any) -> None:
    await app(scope, receive, send)
