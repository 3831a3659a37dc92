"""Decode bodies while watching, with a library whose hooks record that they ran."""

import glob
import sys
import types

import pytest
from hypothesis import HealthCheck, settings

from autochron.envelope import codec
from autochron.errors import CodecError
from autochron.store.tracefile import read_trace
from tests.security.watched import watched

RAN = []
"""Names of the library's hooks that ran."""


def library():
    """Return a module that looks like an installed library, with value types that have hooks."""
    source = """
import dataclasses, enum, msgspec, sys
from typing import NamedTuple
def ran(what): RAN.append(what)
def function(*args): ran("function")
class Plain:
    def __init__(self): ran("Plain")
class Deleted(dict):
    def __del__(self): ran("__del__")
@dataclasses.dataclass
class Record:
    a: int = 0
    def __post_init__(self): ran("__post_init__")
    def __setattr__(self, name, value): ran("__setattr__")
    def run(self): return "run"
    @property
    def shown(self): return "shown"
@dataclasses.dataclass
class Forgotten:
    a: int = 0
    def __del__(self): ran("__del__")
class Struct(msgspec.Struct):
    a: int = 0
    def __post_init__(self): ran("__post_init__")
class Level(enum.IntFlag):
    LOW = 1
    @classmethod
    def _missing_(cls, value): ran("_missing_"); return super()._missing_(value)
class Listed(list):
    def __init__(self, *args): ran("__init__")
    def append(self, item): ran("append")
class Failure(Exception):
    def __init__(self, *args): ran("__init__")
class Pair(NamedTuple):
    a: int
    def run(self): return "run"
"""
    module = types.ModuleType("installed_library")
    module.__file__ = "/usr/lib/python3/site-packages/installed_library.py"
    module.RAN = RAN
    sys.modules["installed_library"] = module
    exec(compile(source, module.__file__, "exec"), vars(module))
    return module


LIBRARY = library()
CALLED = []
"""Names of the project's functions that ran."""


def decoded(body):
    """Decode a body; return the watch, the value, and the error if it was refused."""
    RAN.clear()
    CALLED.clear()
    value = refusal = None
    with watched() as seen:
        try:
            value = codec.decode(body)
        except CodecError as error:
            refusal = error
    return seen, value, refusal


def fuzz(count):
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def warm():
    """Trigger lazy work before watching: read annotations, search for a missing time zone, import streams."""
    for path in glob.glob("incidents/*/trace.jsonl"):
        for reseal in (False, True):
            read_trace(path, reseal=reseal)
    for body in (b'{"$zone":"nowhere"}', b'[{"$channel":"send"},{"$tuple":null}]'):
        with pytest.raises(CodecError):
            codec.decode(body)
