"""Make the recorded call of a trace again: `replay.call()`."""

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
"""Request headers that are not copied, since sending makes them."""
_STAY = 1.0
"""Seconds that an application may run on after its start-up has failed, or its shutdown has ended."""


def obstacle(header: Header, footer: Footer | None) -> str | None:
    """Return the reason why the recorded call of a trace can't be made again; None if it can."""
    call = None if footer is None else footer.call
    if call is None:
        return (
            "it holds no call; one that a [[trace]] rule made of a call does, unless an older release recorded it"
            if header.command.mode == "block"
            else "it is of a command; say replay.run()"
        )
    request = decode(call.meta).get("request")
    if request is not None:
        subject = f"the request in its argument {request['parameter']}"
        if request["app"] is None:
            return f"{subject} can't be sent again: its application is no attribute of a module"
        if request["missing"] is not None:
            return f"{subject} can't be sent again: its body is not kept, for {request['missing']}"
        return None
    scope = decode(call.meta)["arguments"].get("scope")
    if isinstance(scope, dict) and {"receive", "send"} <= call.arguments.keys():
        return f"it is no HTTP request but a call of type {scope.get('type')}, which can't be sent again"
    opaque = next((entry for entry in call.opaque if entry.startswith(f"{ARGUMENTS}.")), None)
    if opaque is None:
        return None
    path, _, kind = opaque.removeprefix(f"{ARGUMENTS}.").partition(": ")
    name, _, member = path.partition(".")
    location = f", in {path}," if member else ""
    return f"its argument {name}{location} was recorded as {kind} without its content"


def masked_arguments(footer: Footer | None) -> list[str]:
    """Return the paths of the arguments that were masked. The call is made again with the mask in their place."""
    call = None if footer is None else footer.call
    start = f"{ARGUMENTS}."
    return (
        [] if call is None else [path.removeprefix(start) for path in call.masked if path.startswith(start)]
    )


def call_again(record: Record, root: str) -> Any:
    """Make the recorded call again in this process.

    Args:
        record: the trace of a call.
        root: the folder that the trace's sites are relative to. Modules of the program are imported from there, too.

    Returns:
        The result of the call; of a stream the list of its items.

    Raises:
        UsageError: the call can't be made again.
    """
    reason = obstacle(record.header, record.footer)
    call = None if record.footer is None else record.footer.call
    if reason is not None or call is None:
        raise UsageError(f"replay.call() can't make the call of this trace again: {reason}; {_REMEDY}")
    repeated = _RepeatedCall(record.header, call, root or os.getcwd())
    with repeated.path():
        meta = decode(call.meta)
        if "request" in meta:
            return repeated.send(meta["request"])
        return repeated.call(meta)


class _RepeatedCall:
    """A recorded call that is made again."""

    def __init__(self, header: Header, call: Envelope, root: str) -> None:
        self._call = call
        self._root = root
        self._folder = os.path.join(root, header.command.folder)
        self._target = header.command.target

    @contextlib.contextmanager
    def path(self) -> Iterator[None]:
        """Put the program's folders on the import path, as they were in the recorded run."""
        file = self._call.site.removeprefix("@").partition(":")[0]
        folders = [os.path.normpath(folder) for folder in (self._folder, self._root)]
        if file.endswith(".py"):
            folders.append(_above(os.path.join(self._root, file)))
        added = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]
        sys.path[:0] = added
        try:
            yield
        finally:
            for folder in added:
                with contextlib.suppress(ValueError):
                    sys.path.remove(folder)

    # --- a function ------------------------------------------------------------------------------------------------------

    def call(self, meta: dict[str, Any]) -> Any:
        """Call the function with the recorded arguments, and return the result."""
        module, _, qualname = self._target.rpartition(":")
        if module in MAIN_MODULES:
            module = f"@{self._call.site.removeprefix('@').partition(':')[0]}"
        function = self._find_function(self._module(module), qualname)
        arguments = {name: self._argument(name, tree) for name, tree in meta["arguments"].items()}
        arguments |= {name: self._attribute(place) for name, place in meta.get("attributes", {}).items()}
        bound = self._bind(function, arguments)
        return self._result(function(*bound.args, **bound.kwargs))

    def _find_function(self, module: ModuleType, qualname: str) -> Any:
        """Find a function of the project by its qualified name, without running descriptors."""
        target: Any = module
        for step in qualname.split("."):
            namespace = vars(target)
            base = next((base for base in getattr(target, "__mro__", ()) if step in vars(base)), None)
            if base is not None:
                namespace = vars(base)
            if step not in namespace:
                near = nearest([name for name in namespace if not name.startswith("_")], step)
                hint = f"; the nearest is {near}" if near else ""
                self._refuse(f"{module.__name__} has no {qualname} any more{hint}")
            target = namespace[step]
        target = inspect.unwrap(getattr(target, "__func__", target))
        if not callable(target):
            self._refuse(f"{self._target} is no function but of type {names.label(type(target))}")
        if not admission.is_own_module(getattr(target, "__module__", None)):
            self._refuse(f"{self._target} is no function of the project")
        return target

    def _argument(self, name: str, tree: Any) -> Any:
        try:
            return codec.decode(encode(tree))
        except CodecError as error:
            self._refuse(f"its argument {name} can't be rebuilt: {error.message}")

    def _bind(self, function: Any, arguments: dict[str, Any]) -> inspect.BoundArguments:
        """Bind the recorded arguments to the parameters that the function has now."""
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
                parameter.name
                for parameter in signature.parameters.values()
                if parameter.default is parameter.empty
                and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
                and parameter.name not in arguments
            ),
            None,
        )
        if new is not None:
            self._refuse(f"{self._target} takes an argument {new} now, which was not recorded")
        return bound

    def _result(self, value: Any) -> Any:
        """Return the result of a call: of an awaitable the value, of a stream the list of its items.

        A stream that was left early in the recorded run is read as far as it was then.
        """
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
        """Send the recorded request to its application, and return the response."""
        app = self._attribute(request["app"])
        recorded = self._call.arguments[request["parameter"]]
        headers = [(name, value) for name, value in request["headers"] if name.lower() not in _TRANSFER]
        host = next((value for name, value in request["headers"] if name.lower() == "host"), "testserver")
        query = f"?{recorded['query']}" if recorded["query"] else ""
        url = f"{request['scheme']}://{host}{recorded['path']}{query}"
        content = restore_body(encode(recorded.get("body")))
        return _answer(
            _StartedApplication(app), (recorded["method"], url, headers, content), request["root_path"]
        )

    # --- for both --------------------------------------------------------------------------------------------------------

    def _attribute(self, place: str) -> Any:
        module, _, path = place.rpartition(":")
        target: Any = self._module(module)
        for step in path.split("."):
            if not hasattr(target, step):
                self._refuse(f"{module.lstrip('@')} has no {path} any more")
            target = getattr(target, step)
        return target

    def _module(self, place: str) -> ModuleType:
        """Import a module of the program. The import crosses no boundary: in the recorded run it preceded the call."""
        try:
            module = names.find_module(place)
        except CodecError:
            module = self._import(place)
        if not admission.is_own_module(module.__name__):
            self._refuse(f"{module.__name__} is no module of the project")
        return module

    def _import(self, place: str) -> ModuleType:
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
    """Return whether a module that is not imported yet, and the packages around it, are the project's.

    Raises:
        ModuleNotFoundError: there is no such module.
    """
    for count in range(1, name.count(".") + 2):
        prefix = ".".join(name.split(".")[:count])
        if prefix in sys.modules:
            continue
        spec = find_spec(prefix)  # this imports packages around it, which were checked to be the project's
        if spec is None:
            raise ModuleNotFoundError(f"No module named {prefix!r}", name=prefix)
        places = [spec.origin] if spec.has_location else [*(spec.submodule_search_locations or ())]
        if not places or not all(isinstance(place, str) and objects.is_own_file(place) for place in places):
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
    """Keep this thread from crossing boundaries. Effects are refused as anywhere outside live crossings."""
    ident = unpatched.get_ident()
    BUSY.add(ident)
    try:
        yield
    finally:
        BUSY.discard(ident)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


async def _items(stream: Any, count: int | None) -> list[Any]:
    items: list[Any] = []
    async with contextlib.aclosing(stream):
        while count is None or len(items) < count:
            try:
                items.append(await anext(stream))
            except StopAsyncIteration:
                break
    return items


def _run(coroutine: Any) -> Any:
    """Run a coroutine in an event loop of its own.

    Raises:
        UsageError: an event loop is running in this thread.
    """
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
    app: _StartedApplication, request: tuple[str, str, list[tuple[str, str]], bytes], root_path: str
) -> Any:
    """Send a request to an application in this process, and return the response.

    Args:
        app: the application.
        request: its method, URL, headers and body.
        root_path: the path under which the application is mounted.

    Raises:
        UsageError: neither starlette nor httpx is installed.
    """
    method, url, headers, content = request
    try:
        from starlette.testclient import TestClient  # lazy: belongs to the program's framework, if it has one
    except (ImportError, RuntimeError):  # no starlette, or none of the clients that it needs
        pass
    else:
        client = TestClient(app, root_path=root_path)
        built = client.build_request(method, url, content=content)
        # With the recorded headers only, and not those that the client adds.
        recorded = type(built)(method, built.url, headers=headers, content=content)
        return client.send(recorded, follow_redirects=False)
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


class _StartedApplication:
    """An application that is started before a request and stopped after it, as a server does.

    It needn't support the lifespan protocol.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        async with self._lifespan() as state:
            await self._app({**scope, "state": {**scope.get("state", {}), **state}}, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[dict[str, Any]]:
        """Run the application's start-up and shutdown around a block; yield the state that it sets up."""
        state: dict[str, Any] = {}
        to_app: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": state,
        }
        running: asyncio.Task[None] = asyncio.create_task(
            _started(self._app, scope, to_app.get, from_app.put)
        )
        with _outside():
            await to_app.put({"type": "lifespan.startup"})
            first_answer = asyncio.create_task(from_app.get())
            await asyncio.wait({running, first_answer}, return_when=asyncio.FIRST_COMPLETED)
        if first_answer.done() and first_answer.result().get("type") == "lifespan.startup.failed":
            with _outside():
                await _ended(running)
            if running.done() and not running.cancelled() and (error := running.exception()) is not None:
                raise error  # the exception that it failed with
            message = str(first_answer.result().get("message", "")).strip().splitlines()
            raise UsageError(
                f"replay.call(): the application did not start: {message[-1] if message else 'it does not say why'}"
            )
        first_answer.cancel()
        try:
            yield state
        finally:
            if not running.done():
                await to_app.put({"type": "lifespan.shutdown"})
                last_answer = asyncio.create_task(_shutdown_answer(from_app))
                with _outside():
                    await asyncio.wait({running, last_answer}, return_when=asyncio.FIRST_COMPLETED)
                    await _ended(running)
                last_answer.cancel()
            if running.done() and not running.cancelled():
                running.exception()  # an application without lifespan support may raise any exception


async def _ended(running: asyncio.Task[None]) -> None:
    """Wait for an application that has said its last word, and cancel it if it stays: no server waits for it either."""
    await asyncio.wait({running}, timeout=_STAY)
    if not running.done():
        running.cancel()
        await asyncio.wait({running}, timeout=_STAY)


async def _shutdown_answer(from_app: asyncio.Queue[dict[str, Any]]) -> None:
    while not str((await from_app.get()).get("type")).startswith("lifespan.shutdown."):
        pass


async def _started(app: Any, scope: dict[str, Any], receive: Any, send: Any) -> None:
    await app(scope, receive, send)
