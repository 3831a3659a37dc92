"""What the scan knows of libraries beside the catalogue and the tables of libraries: aliases, results, kinds of callables.

A watch needs none of this: it sees which source a call of a library reaches.
"""

from __future__ import annotations

from typing import NamedTuple

from autochron.detect.catalogue import Argument
from autochron.detect.scan.library_call import LibraryCall
from autochron.model import Category

ALIASES: dict[str, str] = {
    "timeit.default_timer": "time.perf_counter",
    "secrets.SystemRandom": "random.SystemRandom",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.WindowsPath": "pathlib.Path",
    "multiprocessing.Pool.imap_unordered": "multiprocessing.pool.Pool.imap_unordered",
    "random._inst": "random",
    "asyncio.subprocess.create_subprocess_exec": "asyncio.create_subprocess_exec",
    "asyncio.subprocess.create_subprocess_shell": "asyncio.create_subprocess_shell",
    "asyncio.tasks.as_completed": "asyncio.as_completed",
    "asyncio.tasks.wait": "asyncio.wait",
    "requests.api": "requests",
    "httpx._api": "httpx",
    "multiprocessing.context.Process": "multiprocessing.Process",
    "multiprocessing.pool.ThreadPool": "multiprocessing.pool.Pool",
    "threading.Timer": "threading.Thread",
    "http.client.HTTPSConnection": "http.client.HTTPConnection",
    "requests.sessions.Session": "requests.Session",
    "smtplib.SMTP_SSL": "smtplib.SMTP",
    "imaplib.IMAP4_SSL": "imaplib.IMAP4",
    "poplib.POP3_SSL": "poplib.POP3",
    "xmlrpc.client.Server": "xmlrpc.client.ServerProxy",
    "asyncio.events.AbstractEventLoop": "asyncio.AbstractEventLoop",
    "posix.environ": "os.environ",
    "os.environb": "os.environ",
    "posixpath": "os.path",
    "ntpath": "os.path",
}
"""Other names, each with the one that the catalogue uses."""

_PATH = "pathlib.Path"
_PATHS = "cwd home joinpath with_suffix with_name with_stem resolve absolute expanduser relative_to rename readlink"
RETURNS: dict[str, str] = {
    **{f"{_PATH}.{name}": _PATH for name in _PATHS.split()},
    f"{_PATH}.parent": f".{_PATH}",
    "requests.session": "requests.Session",
    "asyncio.get_running_loop": "asyncio.AbstractEventLoop",
    "asyncio.get_event_loop": "asyncio.AbstractEventLoop",
    "asyncio.new_event_loop": "asyncio.AbstractEventLoop",
    "socket.create_connection": "socket.socket",
    "opentelemetry.trace.get_tracer": "opentelemetry.trace.Tracer",
    "requests.cookies.create_cookie": "http.cookiejar.Cookie",
    "opentelemetry.sdk.trace.TracerProvider.get_tracer": "opentelemetry.trace.Tracer",
    "opentelemetry.trace.get_tracer_provider": "opentelemetry.sdk.trace.TracerProvider",
    **{f"asyncio.create_subprocess_{form}": "asyncio.subprocess.Process" for form in ("exec", "shell")},
    "multiprocessing.Process": "multiprocessing.Process",
    **{
        f"concurrent.futures.{pool}.submit": "concurrent.futures.Future"
        for pool in ("ThreadPoolExecutor", "ProcessPoolExecutor", "Executor")
    },
    "multiprocessing.get_context": "multiprocessing",
    "urllib.request.build_opener": "urllib.request.OpenerDirector",
    "ctypes.cdll.LoadLibrary": "ctypes.CDLL",
    "ctypes.PyDLL": "ctypes.CDLL",
    **{
        f"pandas.{name}": "pandas.DataFrame"
        for name in ["read_csv", "read_json", "read_sql", "read_parquet", "read_excel", "concat", "merge"]
    },
    "freezegun.api.freeze_time": "freezegun.freeze_time",
}
"""The class of a call's result, if the call itself isn't the class; with a leading dot, the class of an attribute."""


SETTLING_OPTIONS: dict[str, frozenset[str]] = {
    "msgspec.json.Encoder": frozenset({"order"}),
    "msgspec.msgpack.Encoder": frozenset({"order"}),
    "email.mime.multipart.MIMEMultipart": frozenset({"boundary"}),
    "argparse.ArgumentParser": frozenset({"formatter_class"}),
    "starlette.config.Config": frozenset({"environ"}),
    "sched.scheduler": frozenset({"timefunc"}),
}
"""Keywords of constructors whose results ask for nothing then. Such an object is an unknown value."""
SETTLING_FIRST = frozenset({"sched.scheduler"})
"""Constructors whose results ask for nothing if a first argument is passed."""

TRANSPORT_OPTIONS = frozenset({"transport", "mounts", "app"})
"""Keywords that send a client's requests elsewhere than to the network. Such a client is an unknown value."""


INERT: tuple[str, ...] = (
    "builtins.isinstance", "builtins.issubclass", "builtins.callable", "builtins.type", "builtins.hasattr", "builtins.id",
    "builtins.setattr", "builtins.delattr", "builtins.super", "unittest.mock.", "typing.", "pytest.",
)  # fmt: skip
"""Callables that make no use of their arguments. A name that ends with a dot stands for all names that begin so."""
NOT_CALLING: tuple[str, ...] = (
    *INERT, "builtins.repr", "builtins.str", "builtins.print", "builtins.hash", "builtins.len", "builtins.bool",
    "builtins.vars", "builtins.dir", "functools.wraps", "functools.update_wrapper", "inspect.", "dis.", "pickle.",
    "copy.copy", "copy.deepcopy", "warnings.", "logging.", "types.", "weakref.ref", "weakref.proxy",
)  # fmt: skip
"""Callables that don't call a callable argument."""

STORING: tuple[str, ...] = (
    "functools.partial", "functools.partialmethod", "builtins.staticmethod", "builtins.classmethod",
    "collections.defaultdict", "builtins.getattr",
)  # fmt: skip
"""Callables that keep a callable argument for later, in a way that the scan follows."""

_DEFERRING = "submit to_thread run_in_executor call_soon call_soon_threadsafe Thread run apply_async apply defaultdict iter"
DEFERRING = frozenset(_DEFERRING.split())
"""Last names of callables that call an argument, without arguments unless some are passed along with it."""


class ReadAttribute(NamedTuple):
    """An attribute that asks for something when it is read."""

    category: Category
    call: str
    only_of: tuple[str, ...] = ()
    """How the names of the objects begin that it is an attribute of; none for any object."""


_PROCESSES = (
    "multiprocessing.current_process", "multiprocessing.Process", "subprocess.Popen", "asyncio.subprocess.Process"
)  # fmt: skip
_CONSOLES = ("rich.console.Console", "rich.get_console")
ATTRIBUTES: dict[str, ReadAttribute] = {
    "__array_interface__": ReadAttribute("identity", "id"),
    "data": ReadAttribute("identity", "id"),
    "_identity": ReadAttribute("ordering", "threading.current_thread", ("multiprocessing.current_process",)),
    "elapsed": ReadAttribute("clock", "time.perf_counter"),
    "width": ReadAttribute("host", "shutil.get_terminal_size", _CONSOLES),
    "size": ReadAttribute("host", "shutil.get_terminal_size", _CONSOLES),
    "is_terminal": ReadAttribute("host", "os.isatty", _CONSOLES),
    "ident": ReadAttribute("identity", "threading.get_ident", ("threading.main_thread",)),
    "native_id": ReadAttribute("identity", "threading.get_ident", ("threading.main_thread",)),
    "_max_workers": ReadAttribute("host", "os.cpu_count"),
    "pid": ReadAttribute(
        "host",
        "os.getpid",
        (
            "multiprocessing.current_process",
            "multiprocessing.Process",
            "subprocess.Popen",
            "asyncio.subprocess.Process",
        ),
    ),
}

INDEXED: dict[str, str] = {"ctypes.cdll": "ctypes.CDLL", "ctypes.pydll": "ctypes.CDLL"}
"""Objects whose subscript calls a source."""

FACTORIES = frozenset({"default_factory", "factory"})
"""Keywords of a field that hold the factory of its default."""
FIELDS = frozenset(
    {
        "dataclasses.field", "pydantic.Field", "pydantic.fields.Field", "attr.ib", "attr.field", "attrs.field", "attr.attrib",
        "pydantic.PrivateAttr", "msgspec.field", "sqlmodel.Field",
    }
)  # fmt: skip

ENVIRONMENT = "os.environ"
_READS = "__getitem__ __iter__ __len__ __contains__ get copy keys values items pop popitem setdefault"
READS = frozenset(_READS.split())
"""Methods of the environment that read it."""

ORDERED = frozenset(
    {
        "builtins.list", "builtins.tuple", "builtins.iter", "builtins.enumerate", "builtins.zip", "builtins.map",
        "builtins.filter", "builtins.dict.fromkeys", "builtins.str.join", "collections.deque", "collections.OrderedDict",
        "functools.reduce", "numpy.array", "numpy.fromiter", "builtins.str", "builtins.repr", "builtins.print",
        "builtins.format", "builtins.bytes", "builtins.bytearray", "asyncio.as_completed", "random.Random.choice",
        "builtins.dict.update", "collections.Counter.update", "collections.OrderedDict.update",
        "pprint.pprint", "pprint.pformat", "click.Choice", "collections.Counter", "collections.OrderedDict.fromkeys",
        "array.array",
    }
)  # fmt: skip
"""Callables whose result or effect has the order of their argument's elements, as all of itertools have."""
ORDERED_METHODS = frozenset(
    {"join", "extend", "writelines", "format", "fromkeys", "extendleft", "executemany"}
)
RENDERING_METHODS = frozenset(
    {"render", "render_async", "generate", "substitute", "safe_substitute", "format_map"}
)
"""Methods of templates, which make text of their arguments, also of those by keyword."""
UNORDERED = frozenset(
    {"concurrent.futures.as_completed", "asyncio.as_completed", "multiprocessing.pool.Pool.imap_unordered"}
)
"""Callables that return results in the order in which they are done."""
METHODS: dict[str, LibraryCall] = {
    "get_help": LibraryCall(
        "host", "shutil.get_terminal_size", if_call="Context", unless_keyword="terminal_width"
    ),
    "OutputString": LibraryCall("clock", "time.time", if_text="expires"),
    "getsockname": LibraryCall("network", "socket.socket.connect"),
    "getpeername": LibraryCall("network", "socket.socket.connect"),
    "main": LibraryCall("env", ENVIRONMENT, if_keyword="envvar"),
    "is_expired": LibraryCall("clock", "time.time", if_call="create_cookie|RequestsCookieJar|CookieJar"),
    "set_cookie": LibraryCall("clock", "time.time", only_with=Argument(99, "expires")),
    **{
        name: LibraryCall("clock", "datetime.datetime.now")
        for name in ("generate_presigned_url", "generate_presigned_post")
    },
    **{name: LibraryCall("ordering", "threading.Lock.acquire") for name in ("is_alive", "qsize")},
    "get_nowait": LibraryCall("ordering", "threading.Lock.acquire", if_concurrent=True),
}
"""Methods of whatever object that reach a source."""
UNORDERED_METHODS = frozenset(
    {"imap_unordered", "batch_as_completed", "abatch_as_completed", "map_unordered"}
)
"""Methods of whatever object that return results in the order in which they are done."""
RETURNING_SETS = frozenset({"jinja2.meta.find_undeclared_variables"})
"""Functions that return a set of texts."""
SETS_OF_TEXTS = frozenset({"sys.stdlib_module_names"})
"""Objects that are a set of texts."""
ENCODERS = frozenset(
    {
        "msgspec.json.encode", "msgspec.json.Encoder.encode", "msgspec.msgpack.encode", "msgspec.msgpack.Encoder.encode",
        "msgspec.yaml.encode", "msgspec.toml.encode", "pydantic_core.to_json", "graphlib.TopologicalSorter", "pickle.dumps",
        "pickle.dump", "marshal.dumps", "cloudpickle.dumps", "dill.dumps", "toml.dumps",
        "pprint.pformat", "pprint.pprint",
    }
)  # fmt: skip
"""Callables whose result has the order of the sets that their first argument holds."""
SHOWING_ADDRESSES = frozenset(
    {
        "threading.Lock", "threading.RLock", "threading.Event", "threading.Condition", "threading.Semaphore",
        "asyncio.Lock", "asyncio.Event", "asyncio.Semaphore", "io.StringIO", "io.BytesIO", "requests.Session",
        "httpx.Client", "httpx.AsyncClient", "sqlite3.connect", "queue.Queue", "asyncio.Queue", "random.Random",
        "unittest.mock.Mock", "unittest.mock.MagicMock", "unittest.mock.AsyncMock", "functools.partial",
        "builtins.object", "contextvars.ContextVar", "asyncio.Condition", "asyncio.Future",
        "concurrent.futures.Future", "threading.local", "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor", "openai.OpenAI", "openai.AsyncOpenAI", "anthropic.Anthropic",
        "anthropic.AsyncAnthropic", "aiohttp.ClientSession", "queue.SimpleQueue", "queue.PriorityQueue",
        "queue.LifoQueue", "argparse.ArgumentParser", "logging.Formatter", "threading.current_thread",
        "threading.main_thread", "threading.Thread", "operator.methodcaller", "itertools.count", "json.JSONEncoder",
        "json.JSONDecoder", "numpy.random.default_rng", "random.SystemRandom", "http.client.HTTPConnection",
        "sched.scheduler",
    }
)  # fmt: skip
"""Classes and functions whose result shows its address where it is converted to text."""
REPR_CALLERS = frozenset(
    {"builtins.str", "builtins.repr", "builtins.print", "builtins.format", "builtins.ascii"}
)
"""Callables that convert a value to text, by `__repr__` if its class has nothing else."""

_OPENING = (
    "builtins.open io.open os.popen os.scandir codecs.open gzip.open bz2.open lzma.open tarfile.open "
    "zipfile.ZipFile shelve.open dbm.open pathlib.Path.open sqlite3.connect duckdb.connect aiofiles.open "
    "anyio.open_file subprocess.Popen mmap.mmap asyncio.create_subprocess_exec "
    "asyncio.create_subprocess_shell urllib.request.urlopen socket.create_connection asyncio.open_connection "
    "asyncio.open_unix_connection httpx.stream httpx.Client.stream httpx.AsyncClient.stream "
    "anyio.create_memory_object_stream trio.open_memory_channel http.client.HTTPConnection.getresponse "
    "sqlalchemy.create_engine sqlalchemy.ext.asyncio.create_async_engine weakref.ref aiosqlite.connect "
    "random.Random random.SystemRandom numpy.random.default_rng numpy.random.RandomState "
    "numpy.random.SeedSequence numpy.random.PCG64 numpy.random.MT19937 numpy.random.Philox "
    "numpy.random.SFC64 requests.Request collections.ChainMap fsspec.open dbm.dumb.open dbm.gnu.open "
    "dbm.ndbm.open numpy.memmap aiohttp.ClientSession.get aiohttp.ClientSession.post "
    "aiohttp.ClientSession.request aiohttp.ClientSession.ws_connect urllib.request.OpenerDirector.open "
    "starlette.responses.FileResponse fastapi.responses.FileResponse "
    "zict.File inspect.signature os.open glob.iglob mailbox.mbox mailbox.Maildir "
    "multiprocessing.connection.Client websockets.connect websockets.sync.client.connect execnet.makegateway"
)
OPENING = frozenset(_OPENING.split())
"""Callables whose result is read later."""
SAME_HANDLE = frozenset(
    {
        "cursor", "execute", "makefile", "extractfile", "connect", "begin", "stdout", "stderr", "buffer", "__enter__",
        "execution_options", "detach",
    }
)  # fmt: skip
"""Methods and attributes of what was opened that are, or return, another way to read the same."""
