"""More library calls that reach a source, one table a library, as `libraries` has them.

Each was looked up in the library's own documentation or source.
"""

from __future__ import annotations

from autochron.detect.catalogue import Argument
from autochron.detect.scan.library_call import LibraryCall
from autochron.model import Category

_PROCESS = "subprocess.Popen"
_CLOCK = "time.time"
_STEADY = "time.monotonic"
_DRAW = "os.urandom"
_OPEN = "open"
_CONNECT = "socket.socket.connect"
_ENVIRONMENT = "os.environ"


def _all(
    category: Category, call: str, names: str, determined_by: Argument | None = None
) -> dict[str, LibraryCall]:
    """Return the same library call for each of some names."""
    return {name: LibraryCall(category, call, determined_by) for name in names.split()}


MORE_CALLS: dict[str, LibraryCall] = {
    # --- the standard library
    **_all(
        "subprocess",
        _PROCESS,
        "pexpect.run pexpect.spawn sh.Command anyio.run_process anyio.open_process trio.run_process git.Git git.Repo "
        "git.Repo.git.*",
    ),
    **_all(
        "network",
        _CONNECT,
        "asyncio.StreamReader.read asyncio.StreamReader.readline asyncio.StreamReader.readexactly "
        "asyncio.StreamReader.readuntil websockets.sync.client.connect websockets.asyncio.client.connect "
        "websockets.client.connect grpc.channel_ready_future grpc.insecure_channel grpc.secure_channel "
        "telnetlib3.open_connection",
    ),
    **_all(
        "ordering",
        "threading.Lock.acquire",
        "threading.Thread.is_alive multiprocessing.Process.is_alive threading.Barrier.wait queue.Queue.get_nowait "
        "queue.Queue.qsize queue.Queue.empty queue.Queue.full queue.SimpleQueue.qsize queue.SimpleQueue.get_nowait "
        "asyncio.Queue.qsize asyncio.Queue.get_nowait asyncio.Queue.empty",
    ),
    **_all("host", "os.getcwd", "os.path.abspath os.path.relpath pathlib.Path.absolute"),
    **_all(
        "files",
        _OPEN,
        "zipfile.is_zipfile tarfile.is_tarfile zoneinfo.available_timezones importlib.resources.read_text "
        "importlib.resources.read_binary importlib.resources.open_text pkgutil.get_data fsspec.open fsspec.filesystem "
        "jinja2.FileSystemLoader.get_source mmap.mmap tomllib.load plistlib.load",
    ),
    **_all(
        "env",
        _ENVIRONMENT,
        "site.getuserbase site.getusersitepackages locale.getdefaultlocale ssl.get_default_verify_paths typer.get_app_dir "
        "requests.Session.merge_environment_settings requests.utils.get_environ_proxies "
        "langchain_core.utils.from_env langchain_core.utils.get_from_env "
        "langchain_core.utils.secret_from_env",
    ),
    # --- clocks
    **_all(
        "clock",
        _STEADY,
        "anyio.current_time trio.current_time trio.lowlevel.current_clock tornado.ioloop.IOLoop.time",
    ),
    **_all(
        "clock",
        "datetime.datetime.now",
        "dateutil.parser.parse dateutil.parser.parser.parse",
        Argument(99, "default"),
    ),
    **_all("clock", "datetime.datetime.now", "dateutil.rrule.rrule", Argument(1, "dtstart")),
    **_all("clock", "datetime.datetime.now", "dateutil.utils.today dateutil.relativedelta.today"),
    **_all(
        "clock",
        _CLOCK,
        "tornado.web.create_signed_value tornado.web.decode_signed_value botocore.auth.SigV4Auth.add_auth "
        "http.cookiejar.Cookie.is_expired google.oauth2.credentials.Credentials.expired itsdangerous.TimestampSigner.sign "
        "itsdangerous.TimestampSigner.unsign itsdangerous.URLSafeTimedSerializer.dumps "
        "itsdangerous.URLSafeTimedSerializer.loads itsdangerous.TimedSerializer.dumps itsdangerous.TimedSerializer.loads "
        "cProfile.Profile.runcall cProfile.Profile.run profile.Profile.runcall sched.scheduler.run jwt.PyJWT.decode",
    ),
    "tarfile.open": LibraryCall("files", _OPEN, Argument(2, "fileobj")),
    # --- chance
    **_all(
        "random",
        _DRAW,
        "cryptography.hazmat.primitives.asymmetric.ed25519.Ed25519PrivateKey.generate "
        "cryptography.hazmat.primitives.asymmetric.x25519.X25519PrivateKey.generate "
        "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key "
        "cryptography.hazmat.primitives.asymmetric.ec.generate_private_key cryptography.x509.random_serial_number "
        "cryptography.fernet.Fernet.encrypt_at_time cryptography.hazmat.primitives.ciphers.aead.AESGCM.generate_key "
        "nacl.signing.SigningKey.generate nacl.utils.random ecdsa.SigningKey.generate",
    ),
    **_all(
        "random", "random.random", "toolz.random_sample cytoolz.random_sample", Argument(2, "random_state")
    ),
    **_all(
        "random",
        "random.getrandbits",
        "opentelemetry.trace.Tracer.start_as_current_span opentelemetry.trace.Tracer.start_span",
    ),
    **_all("random", "numpy.random.random", "dask.array.random.*"),
    **_all(
        "uuid",
        "uuid.uuid4",
        "uuid6.uuid6 uuid6.uuid7 uuid6.uuid8 fastuuid.uuid4_bulk fastuuid.uuid4_as_strings_bulk fastuuid.uuid7_bulk "
        "langgraph.checkpoint.base.id.uuid6 aiohttp.MultipartWriter ksuid.Ksuid ksuid.KsuidMs cuid2.Cuid xid.XID",
    ),
}
"""Library calls by the source that they reach; `.*` after a class stands for any of its methods."""
