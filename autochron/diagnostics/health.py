"""The checks of `autochron doctor`: what an installation and a project are like, each with a verdict and a remedy.

A check never raises: if it fails itself, that is its verdict. So each imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autochron._runtime.unpatched import os
from autochron.errors import AutochronError

Verdict: TypeAlias = Literal["ok", "warning", "problem"]

_LARGE = 200 << 20
"""Bytes of a store from which on it is not read as a whole."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of a check.

    Attributes:
        name: what was checked, in a word or two.
        verdict: `problem` if something does not work, `warning` if something may not.
        found: what was found.
        remedy: what to do; empty where it is ok.
    """

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckedPlaces:
    """What is checked.

    Attributes:
        rules: the rule file; None where there is none.
        store: the path or URL of the store.
    """

    rules: str | None
    store: str


HealthProbe: TypeAlias = Callable[[CheckedPlaces], Iterator[HealthCheck]]


def health_checks(places: CheckedPlaces) -> list[HealthCheck]:
    """Run all checks, in the order in which they are shown."""
    return [check for name, probe in _PROBES.items() for check in _probed(name, probe, places)]


def gravest(checks: list[HealthCheck]) -> Verdict:
    """Return the gravest verdict of some checks."""
    verdicts = {check.verdict for check in checks}
    return "problem" if "problem" in verdicts else "warning" if "warning" in verdicts else "ok"


def _probed(name: str, probe: HealthProbe, places: CheckedPlaces) -> Iterator[HealthCheck]:
    """Yield the checks of a probe; if it raises, a problem that says so."""
    try:
        yield from probe(places)
    except AutochronError as error:
        yield HealthCheck(name, "problem", error.message, "correct what the message names")
    except Exception as error:
        found = f"the check failed: {type(error).__name__}: {error}"
        yield HealthCheck(name, "problem", found, "if the message doesn't tell what is wrong, report it")


# --- Python and the installation ------------------------------------------------------------------------------------


def _interpreter(_: CheckedPlaces) -> Iterator[HealthCheck]:
    import sysconfig

    from autochron._runtime.instruction_set import VERIFIED, VERSION

    version = ".".join(map(str, sys.version_info[:3]))
    has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    build = "debug build" if hasattr(sys, "gettotalrefcount") else "release build"
    found = f"{sys.implementation.name} {version}, {build} {'with' if has_gil else 'without'} the GIL, {sys.executable}"
    if not has_gil:
        yield HealthCheck("interpreter", "problem", found, "use the usual build of Python, which has the GIL")
    elif VERSION not in VERIFIED:
        last = ".".join(map(str, VERIFIED[-1]))
        remedy = f"autochron is verified up to Python {last}; a newer autochron may know this one"
        yield HealthCheck("interpreter", "warning", found, remedy)
    else:
        yield HealthCheck("interpreter", "ok", found)


def _assembler(_: CheckedPlaces) -> Iterator[HealthCheck]:
    from autochron.weaving.assembler_choice import CHOSEN, IS_VERIFIED

    if CHOSEN == "own":
        yield HealthCheck("assembler", "ok", "our own, which is verified for this Python")
        return
    from importlib import metadata

    try:
        found = f"the portable one, of bytecode {metadata.version('bytecode')}"
    except metadata.PackageNotFoundError:
        remedy = "pip install bytecode, or use a Python that this autochron is verified for"
        yield HealthCheck("assembler", "problem", "the portable one, and bytecode is not installed", remedy)
        return
    if IS_VERIFIED:
        yield HealthCheck("assembler", "ok", f"{found}, because AUTOCHRON_ASSEMBLER says so")
    else:
        remedy = "see which shapes of code it refuses in the report of a run (portable-weaving)"
        yield HealthCheck("assembler", "warning", found, remedy)


def _installation(_: CheckedPlaces) -> Iterator[HealthCheck]:
    from importlib import metadata

    import autochron

    place = os.path.dirname(os.path.abspath(autochron.__file__))
    found = f"autochron {autochron.__version__} in {place}"
    try:
        installed = metadata.version("autochron")
    except metadata.PackageNotFoundError:
        remedy = "pip install autochron: on the search path alone, it has no plugin of pytest and sees no child process"
        yield HealthCheck("installation", "warning", f"{found}, which is not installed", remedy)
        return
    if installed == autochron.__version__:
        yield HealthCheck("installation", "ok", found)
    else:
        remedy = "install it again: another copy comes first on the search path, or the code is newer than its metadata"
        yield HealthCheck("installation", "warning", f"{found}, and {installed} is installed", remedy)


def _children(_: CheckedPlaces) -> Iterator[HealthCheck]:
    """Start a Python as a program would, and look whether the `.pth` file was read there."""
    import subprocess

    from autochron.crossing.processes import VARIABLE

    if sys.flags.no_site or sys.flags.isolated or sys.flags.ignore_environment:
        found = "this Python runs with -S, -I or -E, so children that it starts alike are not recorded"
        yield HealthCheck("child processes", "warning", found, "start Python without these options")
    question = "import sys; print('autochron.program.bootstrap' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", question],
        env={**os.environ, VARIABLE: "doctor"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.stdout.strip() == "True":
        yield HealthCheck("child processes", "ok", "autochron_children.pth is in force: they are recorded")
    else:
        found = "autochron_children.pth is not read, so processes that a program starts are not recorded"
        remedy = f"install autochron into the site-packages of {sys.executable}: pip install autochron"
        yield HealthCheck("child processes", "problem", found, remedy)


def _pytest(_: CheckedPlaces) -> Iterator[HealthCheck]:
    from importlib import metadata

    name = "pytest plugin"
    try:
        version = metadata.version("pytest")
    except metadata.PackageNotFoundError:
        yield HealthCheck(name, "ok", "pytest is not installed, so it is not needed")
        return
    points = metadata.entry_points(group="pytest11", name="autochron")
    options = os.environ.get("PYTEST_ADDOPTS", "")
    if not points:
        remedy = "pip install autochron, or run pytest with -p autochron.pytest_plugin"
        yield HealthCheck(name, "problem", f"pytest {version} does not know it", remedy)
    elif os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") and "autochron" not in options:
        found = f"pytest {version} loads no plugins by itself (PYTEST_DISABLE_PLUGIN_AUTOLOAD)"
        yield HealthCheck(name, "warning", found, "run pytest with -p autochron.pytest_plugin")
    elif "no:autochron" in options:
        found = f"pytest {version} is told not to load it (PYTEST_ADDOPTS)"
        yield HealthCheck(name, "warning", found, "take -p no:autochron out of PYTEST_ADDOPTS")
    else:
        next(iter(points)).load()  # an error in it is a verdict
        yield HealthCheck(name, "ok", f"pytest {version} loads it")


def _extras(_: CheckedPlaces) -> Iterator[HealthCheck]:
    import re
    from importlib import metadata

    try:
        requires = metadata.requires("autochron") or []
    except metadata.PackageNotFoundError:
        yield HealthCheck("extras", "ok", "not known, because autochron is not installed")
        return
    missing: dict[str, list[str]] = {}
    for line in requires:
        required = re.match(r"([\w.-]+).*;.*extra == ['\"]([\w-]+)['\"]", line)
        if required is None:
            continue
        lacks = missing.setdefault(required[2], [])
        try:
            metadata.version(required[1])
        except metadata.PackageNotFoundError:
            lacks.append(required[1])
    there = [name for name, lacks in missing.items() if not lacks]
    absent = [f"{name} (lacks {', '.join(lacks)})" for name, lacks in missing.items() if lacks]
    found = f"installed: {', '.join(there) or 'none'}"
    found += f"; not installed: {', '.join(absent)}" if absent else ""
    yield HealthCheck("extras", "ok", found)


# --- the project ----------------------------------------------------------------------------------------------------


def _rules(places: CheckedPlaces) -> Iterator[HealthCheck]:
    from autochron.rules.loading import load_rules

    if places.rules is None:
        found = "no rule file here or above, and none needed: tools are found by name, or a pack knows them"
        yield HealthCheck("rules", "ok", found)
        return
    try:
        rules = load_rules(places.rules)
    except AutochronError as error:
        yield HealthCheck("rules", "problem", error.message, "correct the line that the message names")
        return
    count = len(rules.boundaries)
    boundaries = f"{count} boundar{'y' if count == 1 else 'ies'}"
    packs = (
        "packs by import" if rules.auto else f"packs {', '.join(pack.name for pack in rules.packs) or 'none'}"
    )
    yield HealthCheck("rules", "ok", f"{places.rules}: {boundaries}, {packs}")


def _packs(places: CheckedPlaces) -> Iterator[HealthCheck]:
    """Yield a check for each pack whose library is installed."""
    from autochron.recording.versions import version_of
    from autochron.rules.loading import load_rules
    from autochron.rules.packs import load_pack, pack_index

    try:
        rules = load_rules(places.rules)
        in_force = set(pack_index()) if rules.auto else {pack.name for pack in rules.packs}
    except AutochronError:  # the check of the rules says so
        in_force = set(pack_index())
    none = True
    for name in sorted(in_force):
        pack = load_pack(name)
        version = version_of(pack.distribution)
        if version is None:
            continue
        none = False
        found = f"{pack.distribution} {version}, tried with {', '.join(pack.tested) or 'no version'}"
        if version.partition(".")[0] in {tested.partition(".")[0] for tested in pack.tested}:
            yield HealthCheck(f"pack {name}", "ok", found)
        else:
            remedy = "check that all calls are in the trace (untested-version)"
            yield HealthCheck(f"pack {name}", "warning", found, remedy)
    if none:
        yield HealthCheck("packs", "ok", "no library that they are for is installed")


def _store(places: CheckedPlaces) -> Iterator[HealthCheck]:
    from autochron.store import SQLITE, open_store

    url = places.store
    open_store(url, look=False)  # raises where it is none that we know
    path = url.removeprefix(SQLITE)
    if not os.path.exists(path):
        yield _place_of_new_store(path)
        return
    try:
        summaries = open_store(url).summaries()
        damage = _damage(path) if not path.endswith(".jsonl") else None
    except AutochronError as error:
        remedy = (
            "see the message; another --store, or AUTOCHRON's default one in another folder, works meanwhile"
        )
        yield HealthCheck("store", "problem", error.message, remedy)
        return
    size = os.path.getsize(path)
    found = f"{path}: {len(summaries)} trace{'' if len(summaries) == 1 else 's'}, {size / 1e6:,.1f} MB"
    folder = os.path.dirname(os.path.abspath(path))
    if damage is not None:
        remedy = "restore it from a copy, or save what `sqlite3 FILE .recover` still finds"
        yield HealthCheck("store", "problem", f"{found}; it is damaged: {damage}", remedy)
    elif not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        remedy = "make the file and its folder writable, or give another --store"
        yield HealthCheck("store", "problem", f"{found}; it can't be written", remedy)
    elif summaries and not all(summary.complete for summary in summaries):
        cut = sum(not summary.complete for summary in summaries)
        yield HealthCheck("store", "ok", f"{found}, {cut} of them cut off or still being recorded")
    else:
        yield HealthCheck("store", "ok", found)


def _place_of_new_store(path: str) -> HealthCheck:
    """Return the check of a store that is not there yet: whether it can be made."""
    from autochron.store.database import check

    check(path)  # raises where its folder can't be made
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if os.access(folder, os.W_OK):
        return HealthCheck("store", "ok", f"{path}: none yet; the first run makes it")
    remedy = f"make {folder} writable, or give another --store"
    return HealthCheck("store", "problem", f"{path}: none yet, and it can't be made", remedy)


def _damage(path: str) -> str | None:
    """Return what SQLite finds wrong with a file; None if nothing, or if it is too large to be read as a whole."""
    import sqlite3

    if os.path.getsize(path) > _LARGE:
        return None
    from autochron.store.database import connect_to_read

    connection = connect_to_read(path)
    try:
        (first, *_) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return str(error)
    finally:
        connection.close()
    text = first.decode() if isinstance(first, bytes) else str(first)
    return None if text == "ok" else " ".join(text.split())


# --- the user's files -----------------------------------------------------------------------------------------------


def _cache(_: CheckedPlaces) -> Iterator[HealthCheck]:
    from autochron import user_key
    from autochron.weaving.code_cache import default_folder

    folder = default_folder()
    name = "cache of woven code"
    if folder is None:
        why, remedy = _why_no_cache()
        yield HealthCheck(
            name, "warning", f"none: {why}", f"{remedy}: else each start weaves all modules anew"
        )
        return
    remedy = f"make {folder} your own with mode 0700, or name another folder in AUTOCHRON_CACHE"
    if os.path.islink(folder):
        yield HealthCheck(name, "problem", f"{folder} is a link, so it is not used", remedy)
        return
    if not os.path.isdir(folder):
        above = folder
        while above and not os.path.lexists(above) and os.path.dirname(above) != above:
            above = os.path.dirname(above)
        if os.path.isdir(above) and _can_write(above):
            yield HealthCheck(name, "ok", f"{folder}: none yet; the first run makes it")
        else:
            yield HealthCheck(name, "problem", f"{folder} can't be made: {above} can't be written", remedy)
        return
    try:
        os.close(user_key.open_own_folder(folder))
    except OSError as error:
        yield HealthCheck(name, "problem", f"{folder} is not used: {error.strerror or error}", remedy)
        return
    if _can_write(folder):
        yield HealthCheck(name, "ok", folder)
    else:
        yield HealthCheck(name, "problem", f"{folder} can't be written", remedy)


def _why_no_cache() -> tuple[str, str]:
    """Return why there is no cache of woven code, and what to do. A set AUTOCHRON_CACHE counts more than Python's options."""
    variable = "PYTHONDONTWRITEBYTECODE"
    if os.environ.get("AUTOCHRON_CACHE") == "":
        also = f" and {variable}" if os.environ.get(variable) else ""
        return "AUTOCHRON_CACHE is set, and empty", f"unset AUTOCHRON_CACHE{also}"
    if os.environ.get(variable):
        return f"{variable} is set", f"unset {variable}"
    return "Python runs with -B", "start Python without -B"


def _keys(_: CheckedPlaces) -> Iterator[HealthCheck]:
    from autochron.redaction import mask_key
    from autochron.user_key import key_file

    file = key_file()
    if file is None:
        remedy = "make ~/.config/autochron your own with mode 0700, and its user.key with mode 0600"
        yield HealthCheck("user key", "problem", "none can be read or made", remedy)
    else:
        yield HealthCheck("user key", "ok", file)
    try:
        key = mask_key.mask_key(create=False)
    except AutochronError as error:
        yield HealthCheck("mask key", "problem", error.message, "see the message")
        return
    place = mask_key.key_file()
    if os.environ.get(mask_key.VARIABLE):
        yield HealthCheck("mask key", "ok", f"from {mask_key.VARIABLE}")
    elif key is None and os.path.exists(place):
        yield HealthCheck("mask key", "problem", f"{place} can't be read", "make it readable for you alone")
    elif key is None:
        found = "none yet, and masking needs none; the first recording that masks something in an input"
        yield HealthCheck("mask key", "ok", f"{found} or in the program's output makes {place}")
    elif os.name == "posix" and os.stat(place).st_mode & 0o077:
        yield HealthCheck("mask key", "warning", f"others may read {place}", f"chmod 600 {place}")
    else:
        yield HealthCheck("mask key", "ok", place)


def _permissions(places: CheckedPlaces) -> Iterator[HealthCheck]:
    from autochron._runtime import unpatched

    folder = os.path.dirname(places.rules) if places.rules else os.getcwd()
    folders = {"folder of the rules": folder, "temporary folder": unpatched.temporary_folder()}
    closed = [f"{name} {place}" for name, place in folders.items() if not _can_write(place)]
    if closed:
        remedy = "make it writable; the temporary one is named by TMPDIR"
        yield HealthCheck("permissions", "problem", f"can't be written: {', '.join(closed)}", remedy)
    else:
        yield HealthCheck("permissions", "ok", f"can be written: {', '.join(folders.values())}")


def _can_write(folder: str) -> bool:
    """Return whether a file can be made in a folder, by making one: a file system may be read-only for everybody."""
    file = os.path.join(folder, f".autochron-doctor-{os.getpid()}")
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(file)
    except OSError:
        return False
    return True


_PROBES: dict[str, HealthProbe] = {
    "interpreter": _interpreter,
    "assembler": _assembler,
    "installation": _installation,
    "child processes": _children,
    "pytest plugin": _pytest,
    "extras": _extras,
    "rules": _rules,
    "packs": _packs,
    "store": _store,
    "permissions": _permissions,
    "cache of woven code": _cache,
    "keys": _keys,
}
"""By name, which is shown where a check fails itself: the checks, in order."""
