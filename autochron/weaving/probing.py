"""Find out, on a Python that is newer than this autochron, which shapes of code can be woven.

Each probe runs in a child process, since an interpreter that does not work as expected may crash. The result is kept for each
build of the interpreter. A shape whose probe fails is refused by name, as any function that can't be woven.
"""

from __future__ import annotations

import json
import sys
from _blake2 import blake2b
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from autochron import __version__
from autochron._runtime import unpatched
from autochron._runtime.instruction_set import VERIFIED, VERSION
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed
from autochron.weaving.assembler_choice import KEY
from autochron.weaving.code_cache import default_folder, version_of_code

SHAPES = ("sync", "generator", "coroutine", "async_generator", "name", "attribute", "subscript")
"""The shapes of functions and of calls: each has a program in `probes`."""

_SECONDS = 60
"""After which a probe that has not ended counts as failed."""
_RUN = "import sys; sys.path[:] = {path!r}; from autochron.weaving import probes; probes.run({shape!r})"


@cache
def refused() -> dict[str, str]:
    """Return the shapes that can't be woven on this interpreter, with the reason of each; of `SHAPES`.

    The first call of a build of the interpreter runs the probes, and says on the standard error what it is running on.
    """
    folder = default_folder()
    path = None if folder is None else os.path.join(os.path.dirname(folder), "probed", f"{_build()}.json")
    known = _read(path)
    if known is None:
        with undisturbed():
            known = _probe()
        _keep(path, known)
        sys.stderr.write(_notice(known))
    return known


def _build() -> str:
    """Return a name of this build of the interpreter, and of what weaves on it."""
    import bytecode  # lazy: only on a Python that is newer than this autochron

    facts = (
        sys.version,
        sys.implementation.cache_tag,
        KEY,
        bytecode.__version__,
        __version__,
        version_of_code(),
    )
    return blake2b(repr(facts).encode(), digest_size=16).hexdigest()


def _read(path: str | None) -> dict[str, str] | None:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    except (OSError, ValueError):
        return None
    is_valid = isinstance(known, dict) and all(isinstance(each, str) for each in (*known, *known.values()))
    return known if is_valid else None


def _keep(path: str | None, known: dict[str, str]) -> None:
    """Keep the result; where that can't be written, the next process runs the probes again."""
    if path is None:
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        temporary = f"{path}.{unpatched.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(known, file)
        os.replace(temporary, path)
    except OSError:
        pass


def _probe() -> dict[str, str]:
    with ThreadPoolExecutor(max_workers=len(SHAPES)) as pool:
        faults = dict(zip(SHAPES, pool.map(_fault_of, SHAPES), strict=True))
    return {shape: fault for shape, fault in faults.items() if fault is not None}


def _fault_of(shape: str) -> str | None:
    """Run a probe in a child process; return why its shape is refused, or None."""
    import subprocess  # lazy: as above

    own = ("AUTOCHRON_CHILD", "PYTHONSTARTUP", "PYTHONINSPECT")
    environment = {name: value for name, value in unpatched.environ.items() if name not in own}
    command = [sys.executable, "-c", _RUN.format(path=sys.path, shape=shape)]
    what = f"{'functions' if shape in _FUNCTIONS else 'calls'} of the shape `{shape}`"
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{what} are not woven on this Python: their probe did not end ({type(error).__name__})"
    if ended.returncode == 0:
        return None
    if ended.returncode < 0:
        return f"{what} are not woven on this Python: it crashed in their probe (signal {-ended.returncode})"
    said = (ended.stdout.strip() or ended.stderr.strip() or "nothing").splitlines()[-1]
    return f"{what} are not woven on this Python: in their probe {said[:200]}"


_FUNCTIONS = SHAPES[:4]


def _notice(known: dict[str, str]) -> str:
    """Return what is said once for each build of the interpreter."""
    import bytecode  # lazy: as above

    newest, running = (".".join(map(str, version)) for version in (VERIFIED[-1], VERSION))
    text = (
        f"autochron: Python {running} is newer than this autochron, which is verified up to {newest}. It weaves by the "
        f"bytecode package {bytecode.__version__}, which is slower, and {len(SHAPES) - len(known)} of {len(SHAPES)} probes "
        "of this build hold (portable-weaving)\n"
    )
    return text + "".join(f"  {reason}\n" for reason in known.values())
