"""What the scan knows of libraries beside the catalogue, as data: other names, what calls give, and what reaches a source.

A watch needs none of it: it sees where a library's call ends up.
"""

from __future__ import annotations

from typing import NamedTuple

from autochron.detect.catalogue import Argument
from autochron.model import Category

SAME: dict[str, str] = {
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
"""Names of one thing."""

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
    "multiprocessing.get_context": "multiprocessing",
    "urllib.request.build_opener": "urllib.request.OpenerDirector",
}
"""The class of what a call gives, where that isn't the name of the call; with a dot in front, of what an attribute is."""


SWITCHES = frozenset({"transport", "mounts", "app"})
"""Keywords of a client that say where its requests go instead of to the network; what it does then isn't known."""


class Through(NamedTuple):
    """A library's callable that reaches a source."""

    category: Category
    call: str
    """The source, as the catalogue names it."""
    determined_by: Argument | None = None
    """With this argument, and that not None, it doesn't."""


_CLOCK = "time.time"
_DRAW = "random.random"
_CONNECT = "socket.socket.connect"
_VERBS = "get post put patch delete head options request"
_FILES = (
    "configparser.ConfigParser.read configparser.RawConfigParser.read fileinput.input numpy.load numpy.loadtxt "
    "numpy.genfromtxt numpy.fromfile pandas.read_csv pandas.read_json pandas.read_parquet pandas.read_excel "
    "PIL.Image.open netrc.netrc mailbox.mbox runpy.run_path"
)
_NETWORK = (
    "ftplib.FTP.connect smtplib.SMTP.connect asyncio.AbstractEventLoop.create_connection "
    "asyncio.AbstractEventLoop.sock_connect asyncio.AbstractEventLoop.create_datagram_endpoint websockets.connect "
    "websocket.create_connection paramiko.SSHClient.connect httpx.stream httpx.Client.stream httpx.Client.send "
    "httpx.AsyncClient.stream httpx.AsyncClient.send aiohttp.ClientSession.ws_connect "
    "urllib.request.OpenerDirector.open xmlrpc.client.ServerProxy.* http.client.HTTPConnection.connect telnetlib.Telnet "
    "multiprocessing.connection.Client smtplib.SMTP.sendmail"
)

THROUGH: dict[str, Through] = {
    "gzip.compress": Through("clock", _CLOCK, Argument(2, "mtime")),
    "arrow.now": Through("clock", _CLOCK),
    "arrow.utcnow": Through("clock", _CLOCK),
    "pendulum.now": Through("clock", _CLOCK),
    "pendulum.today": Through("clock", _CLOCK),
    "django.utils.timezone.now": Through("clock", "datetime.datetime.now"),
    "statistics.NormalDist.samples": Through("random", _DRAW, Argument(1, "seed")),
    **{
        f"email.mime.multipart.MIMEMultipart.{name}": Through("random", _DRAW)
        for name in ("as_string", "as_bytes")
    },
    "cryptography.fernet.Fernet.generate_key": Through("random", "os.urandom"),
    "bcrypt.gensalt": Through("random", "os.urandom"),
    "nanoid.generate": Through("random", "os.urandom"),
    "shortuuid.uuid": Through("uuid", "uuid.uuid4", Argument(0, "name")),
    "shortuuid.random": Through("random", "secrets.choice"),
    "bson.ObjectId": Through("uuid", "os.urandom", Argument(0, "oid")),
    "bson.objectid.ObjectId": Through("uuid", "os.urandom", Argument(0, "oid")),
    "ulid.ULID": Through("uuid", "os.urandom", Argument(0, "buffer")),
    "ulid.new": Through("uuid", "os.urandom"),
    **{
        name: Through("files", "open")
        for name in _FILES.split()
    },
    "shutil.copytree": Through("files", "os.scandir"),
    "filecmp.dircmp": Through("files", "os.listdir"),
    **{
        f"{base}.{verb}": Through("network", _CONNECT)
        for base in (
            "requests", "requests.Session", "httpx", "httpx.Client", "httpx.AsyncClient", "httpx2", "httpx2.Client",
            "httpx2.AsyncClient", "aiohttp.ClientSession", "urllib3.PoolManager",
        )
        for verb in _VERBS.split()
    },
    **{
        name: Through("network", _CONNECT)
        for name in _NETWORK.split()
    },
    "asyncio.AbstractEventLoop.getaddrinfo": Through("network", "socket.getaddrinfo"),
    "multiprocessing.Pool": Through("subprocess", "multiprocessing.Process.start"),
    "concurrent.futures.ProcessPoolExecutor.submit": Through("subprocess", "multiprocessing.Process.start"),
    "concurrent.futures.ProcessPoolExecutor.map": Through("subprocess", "multiprocessing.Process.start"),
    "cffi.FFI.dlopen": Through("native", "ctypes.CDLL"),
    "webbrowser.open": Through("subprocess", "subprocess.Popen"),
    "asyncio.AbstractEventLoop.subprocess_exec": Through("subprocess", "subprocess.Popen"),
    "asyncio.AbstractEventLoop.subprocess_shell": Through("subprocess", "subprocess.Popen"),
}  # fmt: skip
"""What a watch finds by where it ends up; for a class `.*` is any of its methods."""

INERT: tuple[str, ...] = (
    "builtins.isinstance", "builtins.issubclass", "builtins.callable", "builtins.type", "builtins.hasattr", "builtins.id",
    "builtins.setattr", "builtins.delattr", "builtins.super", "unittest.mock.", "typing.", "pytest.",
)  # fmt: skip
"""What is handed something and makes no use of it; a name that ends with a dot is all that it begins."""
NOT_CALLING: tuple[str, ...] = (
    *INERT, "builtins.repr", "builtins.str", "builtins.print", "builtins.hash", "builtins.len", "builtins.bool",
    "builtins.vars", "builtins.dir", "functools.wraps", "functools.update_wrapper", "inspect.", "dis.", "pickle.",
    "copy.copy", "copy.deepcopy", "warnings.", "logging.", "types.", "weakref.ref", "weakref.proxy",
)  # fmt: skip
"""What is handed a callable and doesn't call it."""

STORING: tuple[str, ...] = (
    "functools.partial", "functools.partialmethod", "builtins.staticmethod", "builtins.classmethod",
    "collections.defaultdict", "builtins.getattr",
)  # fmt: skip
"""What keeps a callable for later, in a way that the scan follows."""

_DEFERRING = "submit to_thread run_in_executor call_soon call_soon_threadsafe Thread run apply_async apply defaultdict iter"
DEFERRING = frozenset(_DEFERRING.split())
"""Last names of what calls something without arguments, unless some are handed over with it."""

INDEXED: dict[str, str] = {"ctypes.cdll": "ctypes.CDLL", "ctypes.pydll": "ctypes.CDLL"}
"""What gives a source's value by subscript."""

FACTORIES = frozenset({"default_factory", "factory"})
"""Keywords of fields: what makes the value of one that isn't given."""
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
        "pprint.pprint", "pprint.pformat", "collections.Counter", "collections.OrderedDict.fromkeys", "array.array",
    }
)  # fmt: skip
"""Callables whose result, or effect, has the order of the elements they are given; all of itertools is, too."""
ORDERED_METHODS = frozenset(
    {"join", "extend", "writelines", "format", "fromkeys", "extendleft", "executemany"}
)
SHOWING = frozenset({"builtins.str", "builtins.repr", "builtins.print", "builtins.format", "builtins.ascii"})
"""What makes text of a value by its own `__repr__`."""
