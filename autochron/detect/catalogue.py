"""The sources of non-determinism, as data: what the watch patches and what the scan of source looks for.

Nothing that is named here is imported. A source is skipped if its module isn't imported, or if this Python or this
version of a library doesn't have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from autochron.model import Category


class Argument(Struct, frozen=True):
    """A parameter, by its position without `self` and by its name; the name is None for a positional-only one."""

    position: int
    name: str | None = None


class Source(Struct, frozen=True):
    """One callable whose value isn't determined by the program."""

    call: str
    """Its dotted name, as findings have it and as imports resolve to it."""
    category: Category
    tier: Literal["any", "direct"] = "any"
    """`direct`: only calls that a line of the project itself makes are counted."""
    places: tuple[str, ...] = ()
    """Where it is patched, as `module:qualname`. Each of these places that exists is patched."""
    events: tuple[str, ...] = ()
    """Audit events by which it is seen without a patch."""
    determined_by: Argument | None = None
    """The argument that determines its value, if it is given and not None: a seed, a time, an id."""
    words: tuple[str, ...] = ()
    """If any: its value is determined unless its first argument is one of these."""
    harmless: tuple[str, ...] = ()
    """First arguments with which its value is determined."""
    mode: Argument | None = None
    """The argument that holds a file's mode. To open a file for writing only reads nothing, so it is not counted."""
    aliases: tuple[str, ...] = ()
    """Other dotted names of the same callable."""
    discards: tuple[str, ...] = ()
    """Methods, as `module:qualname`. A caller that looks one up discards the value that it has just drawn."""
    calls_source: bool = False
    """Whether it is implemented in C and calls another source by that source's name."""


def _of(
    module: str,
    category: Category,
    names: str,
    tier: Literal["any", "direct"] = "any",
    *,
    home: str | None = None,
    determined_by: Argument | None = None,
) -> Iterator[Source]:
    """Yield sources named `module.name`; `home` is the module that defines them, if it is another one."""
    for name in names.split():
        yield Source(
            f"{module}.{name}", category, tier, (f"{home or module}:{name}",), determined_by=determined_by
        )


def _events(category: Category, names: str, tier: Literal["any", "direct"] = "any") -> Iterator[Source]:
    """Yield sources whose audit event has the callable's own name."""
    for name in names.split():
        yield Source(name, category, tier, events=(name,))


def _unseen(category: Category, names: str, tier: Literal["any", "direct"] = "any") -> Iterator[Source]:
    """Yield sources that nothing can watch. Only the scan of source finds them."""
    for name in names.split():
        yield Source(name, category, tier)


COLLECTED: tuple[str, ...] = (
    "weakref.WeakSet", "weakref.WeakKeyDictionary", "weakref.WeakValueDictionary"
)  # fmt: skip
"""Collections whose elements vanish with their last reference, or when the garbage collector runs."""

_FIRST = Argument(0)
_DRAWS = (
    "random uniform triangular randint choice randrange sample shuffle choices normalvariate lognormvariate expovariate "
    "vonmisesvariate gammavariate gauss betavariate binomialvariate paretovariate weibullvariate getrandbits randbytes"
)


def _clock() -> Iterator[Source]:
    plain = "time monotonic perf_counter process_time thread_time"
    yield from _of("time", "clock", " ".join(f"{name} {name}_ns" for name in plain.split()))
    yield from _of("time", "clock", "clock_gettime clock_gettime_ns")
    yield from _of("time", "clock", "localtime gmtime ctime", determined_by=_FIRST)
    yield from _of("time", "clock", "asctime", determined_by=_FIRST)
    yield from _of("time", "clock", "strftime", determined_by=Argument(1))
    yield from _of("datetime", "clock", "datetime.now datetime.utcnow")
    for kind in ("datetime", "date"):
        yield Source(f"datetime.{kind}.today", "clock", places=(f"datetime:{kind}.today",), calls_source=True)
    # For the scan only: the watch reports time.monotonic, which an event loop calls.
    yield Source("asyncio.AbstractEventLoop.time", "clock", aliases=("asyncio.BaseEventLoop.time",))
    yield from _of("email.utils", "clock", "localtime", determined_by=Argument(0, "dt"))
    yield from _of("email.utils", "clock", "formatdate", determined_by=Argument(0, "timeval"))
    yield from _of("wsgiref.handlers", "clock", "format_date_time", determined_by=_FIRST)
    yield from _of("resource", "clock", "getrusage", "direct")
    yield from _of("os", "clock", "times", "direct")
    yield from _of("signal", "clock", "getitimer", "direct")
    yield from _of("psutil", "clock", "cpu_times boot_time", "direct")
    yield from _of("timeit", "clock", "timeit repeat")
    yield Source("numpy.datetime64", "clock", words=("now", "today"))
    for name in ("Timestamp", "to_datetime"):
        yield Source(f"pandas.{name}", "clock", words=("now", "today"))
    stamp = "pandas._libs.tslibs.timestamps:Timestamp"
    for name in ("now", "utcnow", "today"):
        yield Source(f"pandas.Timestamp.{name}", "clock", places=(f"{stamp}.{name}",))


def _random() -> Iterator[Source]:
    yield from _of("random", "random", _DRAWS)
    yield from _of("random", "random", "seed", determined_by=Argument(0, "a"))
    yield Source(
        "random.Random", "random", places=("random:Random.__init__",), determined_by=Argument(0, "x")
    )
    yield Source(
        "random.Random.seed", "random", places=("random:Random.seed",), determined_by=Argument(0, "a")
    )
    for name in _DRAWS.split():
        yield Source(
            f"random.SystemRandom.{name}",
            "random",
            places=(f"random:SystemRandom.{name}",),
            aliases=(f"secrets.SystemRandom.{name}",),
        )
    yield from _of("email.utils", "random", "make_msgid")
    yield from _of("secrets", "random", "token_bytes token_hex token_urlsafe choice randbelow randbits")
    yield from _of("os", "random", "urandom getrandom")
    yield from _of("ssl", "random", "RAND_bytes")


def _numpy() -> Iterator[Source]:
    draws = (
        "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic "
        "lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal "
        "pareto permutation poisson power rand randint randn random random_integers random_sample ranf rayleigh sample "
        "shuffle standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises "
        "wald weibull zipf"
    )
    yield from _of("numpy.random", "random", draws)
    yield from _of("numpy.random", "random", "seed", determined_by=Argument(0, "seed"))
    # The constructors of these Cython types can't be patched. Without a seed, all of them draw their entropy with this
    # one function.
    yield Source(
        "numpy.random.SeedSequence",
        "random",
        places=("numpy.random.bit_generator:randbits",),
        # A parameter of the constructor, for the scan. The patched function is called only if it is not given.
        determined_by=Argument(0, "entropy"),
        # RandomState draws before it looks at its seed.
        discards=("numpy.random._mt19937:MT19937._legacy_seeding",),
    )
    for name in ("default_rng", "RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        yield Source(f"numpy.random.{name}", "random", determined_by=Argument(0, "seed"))
    yield from _unseen("random", "torch.rand torch.randn torch.randint torch.randperm torch.seed")


def _uuid() -> Iterator[Source]:
    yield from _of("uuid", "uuid", "uuid1 uuid4 uuid6 uuid7 getnode")
    yield from _of("uuid", "uuid", "uuid8", determined_by=Argument(0, "a"))
    yield from _of("fastuuid", "uuid", "uuid1 uuid4 uuid7")
    yield from _of("uuid_utils", "uuid", "uuid1 uuid4 uuid6 uuid7 getnode")
    yield from _of("ulid", "uuid", "ULID.from_datetime ULID.generate")


def _environment() -> Iterator[Source]:
    reads = "__getitem__ __iter__ __len__ __contains__ get copy keys values items pop popitem setdefault __or__ __ror__"
    yield Source(
        "os.environ",
        "env",
        "direct",
        tuple(f"os:_Environ.{name}" for name in reads.split()),
        aliases=("os.environb",),
    )
    yield from _of("os", "env", "getenv getenvb get_exec_path", "direct")
    for name in ("expanduser", "expandvars"):
        yield Source(f"os.path.{name}", "env", "direct", (f"posixpath:{name}", f"ntpath:{name}"))
    yield from _of("tempfile", "env", "gettempdir gettempdirb", "direct")
    yield from _of("pathlib", "env", "Path.home Path.expanduser", "direct")


def _host() -> Iterator[Source]:
    yield from _of(
        "os",
        "host",
        "getpid getppid cpu_count process_cpu_count getcwd getcwdb uname getlogin getloadavg getuid geteuid getgid getegid "
        "getgroups getpgid getpgrp getsid getresuid getresgid getpriority sched_getaffinity get_terminal_size ctermid "
        "ttyname sysconf confstr umask",
        "direct",
    )
    yield from _of(
        "platform",
        "host",
        "platform system node release version machine processor uname architecture python_version python_version_tuple "
        "python_implementation python_build python_compiler libc_ver mac_ver win32_ver freedesktop_os_release",
        "direct",
    )
    yield from _of("socket", "host", "gethostname getfqdn if_nameindex", "direct")
    yield from _of("resource", "host", "getrlimit", "direct")
    yield from _of("getpass", "host", "getuser", "direct")
    yield from _of("multiprocessing", "host", "cpu_count", "direct")
    yield from _of("locale", "host", "getlocale getdefaultlocale getpreferredencoding getencoding", "direct")
    yield from _of("shutil", "host", "get_terminal_size which", "direct")
    yield from _of("pathlib", "host", "Path.cwd", "direct")
    yield from _of("pwd", "host", "getpwuid getpwnam getpwall", "direct")
    yield from _unseen("host", "sys.stdin.isatty sys.stdout.isatty sys.stderr.isatty os.isatty", "direct")
    yield from _of("sys", "host", "getallocatedblocks", "direct")
    yield from _of("tracemalloc", "host", "get_traced_memory take_snapshot get_tracemalloc_memory", "direct")
    yield from _of("sysconfig", "host", "get_platform", "direct")
    yield from _of(
        "psutil",
        "host",
        "cpu_percent cpu_count virtual_memory swap_memory net_io_counters pids users",
        "direct",
    )


def _files() -> Iterator[Source]:
    mode = Argument(1, "mode")
    yield Source(
        "open",
        "files",
        events=("open",),
        mode=mode,
        aliases=("io.open", "builtins.open", "_io.open", "io.FileIO"),
    )
    yield Source("os.open", "files", events=("open",))
    yield from _events("files", "os.listdir os.scandir")
    yield from _of("os", "files", "stat lstat fstat access readlink statvfs walk fwalk getxattr listxattr")
    predicates = "exists lexists isfile isdir islink ismount getmtime getatime getctime getsize samefile"
    for name in predicates.split():
        yield Source(
            f"os.path.{name}", "files", places=(f"genericpath:{name}", f"posixpath:{name}", f"ntpath:{name}")
        )
    yield from _of(
        "pathlib",
        "files",
        "Path.stat Path.lstat Path.exists Path.is_file Path.is_dir Path.is_symlink Path.is_mount Path.samefile Path.iterdir "
        "Path.glob Path.rglob Path.walk Path.read_text Path.read_bytes Path.readlink Path.owner Path.group",
    )
    yield Source("pathlib.Path.open", "files", places=("pathlib:Path.open",), mode=Argument(0, "mode"))
    yield from _of("glob", "files", "glob iglob")
    for name in ("gzip", "bz2", "lzma", "codecs"):
        yield Source(f"{name}.open", "files", places=(f"{name}:open",), mode=mode)
    yield Source(
        "tarfile.open", "files", places=("tarfile:open",), mode=mode, determined_by=Argument(2, "fileobj")
    )
    yield Source("zipfile.ZipFile", "files", mode=mode)
    yield from _of("filecmp", "files", "cmp cmpfiles")
    yield from _of("linecache", "files", "getline getlines", "direct")
    yield from _of("tempfile", "files", "mkstemp mkdtemp mktemp NamedTemporaryFile TemporaryFile")
    for name in ("SpooledTemporaryFile", "TemporaryDirectory"):
        yield Source(f"tempfile.{name}", "files", places=(f"tempfile:{name}.__init__",))
    yield from _of("dbm", "files", "open")
    yield from _of("shelve", "files", "open")
    yield Source(
        "sqlite3.connect",
        "files",
        events=("sqlite3.connect",),
        harmless=(":memory:",),
        aliases=("sqlite3.dbapi2.connect",),
    )
    yield from _of("duckdb", "files", "connect")


def _installation() -> Iterator[Source]:
    yield from _of("shutil", "files", "disk_usage", "direct")
    yield from _of("psutil", "files", "disk_usage", "direct")
    yield from _unseen(
        "files",
        "importlib.metadata.version importlib.metadata.distribution importlib.metadata.distributions "
        "importlib.metadata.metadata importlib.metadata.requires importlib.metadata.entry_points "
        "importlib.metadata.packages_distributions pkg_resources.get_distribution",
        "direct",
    )


def _network() -> Iterator[Source]:
    yield Source(
        "socket.socket.connect", "network", events=("socket.connect",), aliases=("socket.socket.connect_ex",)
    )
    yield Source("socket.socket.sendto", "network", events=("socket.sendto",))
    yield Source("socket.socket.sendmsg", "network", events=("socket.sendmsg",))
    yield Source(
        "socket.gethostbyname",
        "network",
        events=("socket.gethostbyname",),
        aliases=("socket.gethostbyname_ex",),
    )
    yield from _events("network", "socket.getaddrinfo socket.gethostbyaddr socket.getnameinfo")
    # For the scan only: each reaches one of the above. The watch reports that one, with `via` for the name here.
    yield from _unseen(
        "network",
        "socket.create_connection urllib.request.urlopen urllib.request.urlretrieve http.client.HTTPConnection.request "
        "requests.get requests.post requests.put requests.patch requests.delete requests.head requests.options "
        "requests.request requests.Session.get requests.Session.post requests.Session.request httpx.get httpx.post httpx.put "
        "httpx.patch httpx.delete httpx.head httpx.request httpx.stream httpx.Client.get httpx.Client.post "
        "httpx.Client.request httpx.AsyncClient.get httpx.AsyncClient.post httpx.AsyncClient.request "
        "aiohttp.ClientSession.get aiohttp.ClientSession.post aiohttp.ClientSession.request aiohttp.request "
        "asyncio.open_connection asyncio.open_unix_connection smtplib.SMTP ftplib.FTP poplib.POP3 imaplib.IMAP4 "
        "urllib3.request urllib3.PoolManager.request",
    )
    drivers = "psycopg psycopg2 pymysql MySQLdb mysql.connector asyncpg oracledb pyodbc snowflake.connector"
    for module in drivers.split():
        yield from _of(module, "network", "connect")


def _subprocess() -> Iterator[Source]:
    yield Source("subprocess.Popen", "subprocess", places=("subprocess:Popen.__init__",))
    yield from _of("subprocess", "subprocess", "run call check_call check_output getoutput getstatusoutput")
    yield from _events("subprocess", "os.system os.fork os.forkpty")
    yield Source("os.posix_spawn", "subprocess", events=("os.posix_spawn",), aliases=("os.posix_spawnp",))
    yield from _of(
        "os", "subprocess", "popen spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe"
    )
    yield from _of("pty", "subprocess", "fork spawn")
    yield Source(
        "asyncio.create_subprocess_exec", "subprocess", places=("asyncio.subprocess:create_subprocess_exec",)
    )
    yield Source(
        "asyncio.create_subprocess_shell",
        "subprocess",
        places=("asyncio.subprocess:create_subprocess_shell",),
    )
    yield Source(
        "multiprocessing.Process.start",
        "subprocess",
        places=("multiprocessing.process:BaseProcess.start",),
    )


def _ordering() -> Iterator[Source]:
    yield Source(
        "concurrent.futures.as_completed", "ordering", places=("concurrent.futures._base:as_completed",)
    )
    yield Source("concurrent.futures.wait", "ordering", places=("concurrent.futures._base:wait",))
    yield Source("asyncio.as_completed", "ordering", places=("asyncio.tasks:as_completed",))
    yield Source("asyncio.wait", "ordering", places=("asyncio.tasks:wait",))
    # A thread that is joined counts as well: its lines interleave with others in a different order each time, and
    # source does not show what its target shares with them. The cost is about one finding a program, and impact finds
    # the harmless ones.
    yield Source(
        "threading.Thread.start",
        "ordering",
        places=("threading:Thread.start",),
        aliases=("threading.Timer.start",),
    )
    yield from _unseen("ordering", "os.wait os.wait3", "direct")
    yield from _of("_thread", "ordering", "start_new_thread start_new")
    yield from _of("select", "ordering", "select", "direct")
    yield Source(
        "multiprocessing.pool.Pool.imap_unordered",
        "ordering",
        places=("multiprocessing.pool:Pool.imap_unordered",),
    )
    yield Source(
        "multiprocessing.connection.wait", "ordering", "direct", ("multiprocessing.connection:wait",)
    )


def _threads() -> Iterator[Source]:
    yield from _of("threading", "ordering", "active_count enumerate", "direct")


def _identity() -> Iterator[Source]:
    # For the scan only: libraries call these far too often, and an identity that is only a key in a dict is harmless.
    yield from _unseen(
        "identity",
        "id hash threading.get_ident object.__repr__ object.__hash__ weakref.ref weakref.finalize",
        "direct",
    )
    # The scan reports where they are counted or iterated, not where they are made: most are caches, which change
    # nothing.
    yield from _unseen("identity", " ".join(COLLECTED), "direct")
    # For the scan only: a patch would change their value, since it holds one more reference to the arguments.
    yield from _unseen("identity", "gc.get_referrers sys.getrefcount", "direct")
    yield from _unseen("identity", "sys._current_frames", "direct")
    yield from _of("gc", "identity", "collect get_objects get_count get_stats get_freeze_count", "direct")
    yield from _of("weakref", "identity", "getweakrefcount getweakrefs", "direct")
    yield from _of("threading", "identity", "get_native_id", "direct")


def _native() -> Iterator[Source]:
    yield Source(
        "ctypes.CDLL",
        "native",
        places=("ctypes:CDLL.__init__",),
        aliases=(
            "ctypes.PyDLL",
            "ctypes.cdll.LoadLibrary",
            "ctypes.pydll.LoadLibrary",
            "ctypes.WinDLL",
            "ctypes.OleDLL",
        ),
    )


def _all() -> Iterable[Source]:
    for part in (
        _clock, _random, _numpy, _uuid, _environment, _host, _files, _installation, _network, _subprocess, _ordering,
        _threads, _identity, _native,
    ):  # fmt: skip
        yield from part()


SOURCES: tuple[Source, ...] = tuple(_all())

MAKING: frozenset[str] = frozenset(
    {
        *(f"tempfile.{name}" for name in ["mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile"]),
        *(f"tempfile.{name}" for name in ["SpooledTemporaryFile", "TemporaryDirectory"]),
        "dbm.open",
        "shelve.open",
    }
)
"""Sources that create or open what they return. In a later run the same value would name something that is gone."""

SHIELDS: tuple[str, ...] = ("random:SystemRandom.__init__",)
"""Callables that inherit a source and are none: to make a SystemRandom draws nothing."""

QUIET: tuple[str, ...] = (
    "copy:_reconstruct",
    "os:makedirs",
    "os:removedirs",
    "pathlib:Path.mkdir",
    "pathlib:Path.resolve",
    "pathlib:Path.touch",
    "posixpath:realpath",
    "ntpath:realpath",
    "shutil:copy",
    "shutil:copy2",
    "shutil:copyfile",
    "shutil:copytree",
    "shutil:move",
    "shutil:rmtree",
)
"""Functions beneath which nothing is counted.

Most look at files to do their work and return nothing of what they see. `copy:_reconstruct` makes a generator and then
sets its state, so what the constructor draws has no effect.
"""

CHANGING: dict[str, tuple[str, ...]] = {"_time_machine": ("_time_machine:patch", "_time_machine:unpatch")}
"""Modules that change C functions in place, with the functions that do it.

They look up the C functions by name and would find our stand-ins. Some versions do it while they are imported, others
when these functions are called.
"""

_READINGS = "time monotonic perf_counter process_time thread_time"
LOOP_TIME = "asyncio.AbstractEventLoop.time"

CLOCKS: frozenset[str] = frozenset(
    {
        *(f"time.{name}{unit}" for name in _READINGS.split() for unit in ("", "_ns")),
        *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
        LOOP_TIME,
    }
)
"""The clocks of which a program mostly uses differences."""

BY_NAME: dict[str, Source] = {name: source for source in SOURCES for name in (*source.aliases, source.call)}
"""Each source by each of the dotted names that source code may resolve to."""
