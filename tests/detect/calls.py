"""How to call each source of the catalogue on a single line: its arguments, or the whole expression."""

from autochron.detect.catalogue import SOURCES

ARGUMENTS = {
    "time.clock_gettime": "time.CLOCK_REALTIME",
    "time.clock_gettime_ns": "time.CLOCK_REALTIME",
    "time.strftime": "'%Y'",
    "wsgiref.handlers.format_date_time": "None",
    "resource.getrlimit": "resource.RLIMIT_NOFILE",
    "resource.getrusage": "resource.RUSAGE_SELF",
    "signal.getitimer": "signal.ITIMER_REAL",
    "timeit.timeit": "number=1",
    "timeit.repeat": "number=1",
    "random.uniform": "1, 2",
    "random.randint": "1, 2",
    "random.choice": "[1, 2]",
    "random.randrange": "9",
    "random.sample": "[1, 2], 1",
    "random.shuffle": "[1, 2]",
    "random.choices": "[1, 2]",
    "random.lognormvariate": "0, 1",
    "random.expovariate": "1",
    "random.vonmisesvariate": "0, 1",
    "random.gammavariate": "1, 1",
    "random.betavariate": "1, 1",
    "random.paretovariate": "1",
    "random.weibullvariate": "1, 1",
    "random.normalvariate": "0, 1",
    "random.gauss": "0, 1",
    "random.getrandbits": "8",
    "random.randbytes": "2",
    "secrets.choice": "[1, 2]",
    "secrets.randbelow": "9",
    "secrets.randbits": "8",
    "os.urandom": "2",
    "os.getrandom": "2",
    "ssl.RAND_bytes": "2",
    "os.getenv": "'PATH'",
    "os.getenvb": "b'PATH'",
    "os.path.expanduser": "'~'",
    "os.path.expandvars": "'$PATH'",
    "os.getpgid": "0",
    "os.getsid": "0",
    "os.getpriority": "os.PRIO_PROCESS, 0",
    "os.sched_getaffinity": "0",
    "os.ttyname": "0",
    "os.sysconf": "'SC_PAGE_SIZE'",
    "os.confstr": "'CS_PATH'",
    "os.umask": "0o022",
    "shutil.disk_usage": "'.'",
    "shutil.which": "'true'",
    "pwd.getpwuid": "0",
    "pwd.getpwnam": "'root'",
    "os.open": "os.__file__, os.O_RDONLY",
    "os.stat": "'.'",
    "os.lstat": "'.'",
    "os.fstat": "0",
    "os.access": "'.', os.R_OK",
    "os.readlink": "'link'",
    "os.statvfs": "'.'",
    "os.getxattr": "'.', 'user.none'",
    "os.path.samefile": "'.', '.'",
    "open": "os.__file__",
    "gzip.open": "'file.gz'",
    "bz2.open": "'file.bz2'",
    "lzma.open": "'file.xz'",
    "codecs.open": "os.__file__",
    "tarfile.open": "'file.tar'",
    "filecmp.cmp": "os.__file__, os.__file__",
    "filecmp.cmpfiles": "'.', '.', ['file']",
    "linecache.getline": "os.__file__, 1",
    "linecache.getlines": "os.__file__",
    "glob.glob": "'*'",
    "glob.iglob": "'*'",
    "dbm.open": "'no.db'",
    "shelve.open": "'no.db'",
    "sqlite3.connect": "'some.db'",
    "socket.gethostbyname": "'localhost'",
    "socket.getaddrinfo": "'localhost', 1",
    "socket.gethostbyaddr": "'127.0.0.1'",
    "socket.getnameinfo": "('127.0.0.1', 1), 0",
    "subprocess.Popen": "['true']",
    "subprocess.run": "['true']",
    "subprocess.call": "['true']",
    "subprocess.check_call": "['true']",
    "subprocess.check_output": "['true']",
    "subprocess.getoutput": "'true'",
    "subprocess.getstatusoutput": "'true'",
    "os.system": "'true'",
    "os.posix_spawn": "'/bin/true', ['true'], {}",
    "os.popen": "'true'",
    "os.spawnl": "os.P_WAIT, '/bin/true', 'true'",
    "os.spawnle": "os.P_WAIT, '/bin/true', 'true', {}",
    "os.spawnlp": "os.P_WAIT, 'true', 'true'",
    "os.spawnlpe": "os.P_WAIT, 'true', 'true', {}",
    "os.spawnv": "os.P_WAIT, '/bin/true', ['true']",
    "os.spawnve": "os.P_WAIT, '/bin/true', ['true'], {}",
    "os.spawnvp": "os.P_WAIT, 'true', ['true']",
    "os.spawnvpe": "os.P_WAIT, 'true', ['true'], {}",
    "pty.spawn": "['true']",
    "concurrent.futures.as_completed": "[]",
    "concurrent.futures.wait": "[]",
    "_thread.start_new_thread": "int, ()",
    "_thread.start_new": "int, ()",
    "select.select": "[], [], [], 0",
    "multiprocessing.connection.wait": "[], 0",
    "weakref.getweakrefcount": "threading",
    "weakref.getweakrefs": "threading",
    "ctypes.CDLL": "None",
    "numpy.random.seed": "",
}

ARGUMENTS |= {"os.walk": "'.'", "os.fwalk": "'.'"}
ARGUMENTS |= {
    f"os.path.{name}": "'.'"
    for name in "exists lexists isfile isdir islink ismount getmtime getatime getctime getsize".split()
}

_ONE = {"beta": "1, 1", "binomial": "9, 0.5", "bytes": "2", "choice": "9", "dirichlet": "[1, 1]", "f": "1, 1"}
_ONE |= {"hypergeometric": "5, 5, 5", "multinomial": "9, [0.5, 0.5]", "multivariate_normal": "[0], [[1]]"}
_ONE |= {
    "negative_binomial": "1, 0.5",
    "noncentral_chisquare": "1, 1",
    "noncentral_f": "1, 1, 1",
    "permutation": "3",
}
_ONE |= {
    "randint": "9",
    "random_integers": "9",
    "shuffle": "[1, 2]",
    "triangular": "0, 1, 2",
    "vonmises": "0, 1",
}
_ONE |= {
    "wald": "1, 1",
    "geometric": "0.5",
    "logseries": "0.5",
    "standard_gamma": "1",
    "standard_t": "1",
    "zipf": "2",
}
_ONE |= dict.fromkeys(("chisquare", "pareto", "power", "weibull"), "1")
ARGUMENTS |= {f"numpy.random.{name}": arguments for name, arguments in _ONE.items()}

EXPRESSIONS = {
    "random.Random": "random.Random()",
    "random.Random.seed": "SEEDED.seed()",
    "numpy.random.SeedSequence": "numpy.random.default_rng()",
    "os.environ": "os.environ['PATH']",
    "socket.socket.connect": "socket.socket().connect(('127.0.0.1', 1))",
    "socket.socket.sendto": "UDP.sendto(b'', ('127.0.0.1', 9))",
    "socket.socket.sendmsg": "UDP.sendmsg([b''], [], 0, ('127.0.0.1', 9))",
    "os.fork": "os.fork() or os._exit(0)",
    "os.forkpty": "os.forkpty()[0] or os._exit(0)",
    "pty.fork": "pty.fork()[0] or os._exit(0)",
    "asyncio.create_subprocess_exec": "LOOP.run_until_complete(ended(asyncio.create_subprocess_exec('true')))",
    "asyncio.create_subprocess_shell": "LOOP.run_until_complete(ended(asyncio.create_subprocess_shell('true')))",
    "asyncio.wait": "LOOP.run_until_complete(asyncio.wait([LOOP.create_task(asyncio.sleep(0))]))",
    "asyncio.as_completed": "LOOP.run_until_complete(first(lambda: asyncio.as_completed([asyncio.sleep(0)])))",
    "multiprocessing.Process.start": "multiprocessing.get_context('fork').Process(target=int).start()",
    "multiprocessing.pool.Pool.imap_unordered": "POOL.imap_unordered(int, [1])",
    "threading.Thread.start": "THREAD.start()",
    "pathlib.Path.samefile": "pathlib.Path('.').samefile('.')",
    "pathlib.Path.glob": "pathlib.Path('.').glob('*')",
    "pathlib.Path.rglob": "pathlib.Path('.').rglob('*')",
    "pathlib.Path.home": "pathlib.Path.home()",
    "pathlib.Path.cwd": "pathlib.Path.cwd()",
    "pathlib.Path.readlink": "pathlib.Path('link').readlink()",
}

PRELUDE = """
import _thread, asyncio, bz2, codecs, concurrent.futures, ctypes, datetime, dbm, email.utils, filecmp, gc, getpass, glob, gzip
import linecache, locale, lzma, multiprocessing, multiprocessing.connection, multiprocessing.pool, numpy, numpy.random, os
import pathlib, platform, pty, pwd, random, resource, secrets, select, shelve, shutil, signal, socket, sqlite3, ssl
import subprocess, sys, sysconfig, tarfile, tempfile, threading, time, timeit, tracemalloc, uuid, weakref, wsgiref.handlers
SEEDED, SYSTEM = random.Random(1), random.SystemRandom()
UDP = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
THREAD = threading.Thread(target=int)
LOOP = asyncio.new_event_loop()
POOL = multiprocessing.pool.ThreadPool(1)
async def ended(starting):
    await (await starting).wait()
async def first(futures):
    for future in futures():
        await future
"""


def expression_of(call: str) -> str:
    """Return a line that calls this source and nothing else that counts."""
    if call in EXPRESSIONS:
        return EXPRESSIONS[call]
    if call.startswith("random.SystemRandom."):
        return f"SYSTEM.{call.rpartition('.')[2]}({ARGUMENTS.get(call.replace('SystemRandom.', ''), '')})"
    if call.startswith("pathlib.Path."):
        return f"pathlib.Path(os.__file__).{call.rpartition('.')[2]}({ARGUMENTS.get(call, '')})"
    return f"{call}({ARGUMENTS.get(call, '')})"


WATCHED = [source for source in SOURCES if source.places or source.events]
