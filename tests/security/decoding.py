"""Decode what a trace holds while it is watched, with a library whose hooks tell that they ran."""

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
"""What of the library below ran."""


def library():
    """Make a module as an installed library has it: value types with hooks."""
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
"""What of the project ran."""


def decoded(body):
    """Decode; give what ran, the value, and why it was refused."""
    RAN.clear()
    CALLED.clear()
    made = refused = None
    with watched() as seen:
        try:
            made = codec.decode(body)
        except CodecError as error:
            refused = error
    return seen, made, refused


def fuzz(count):
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def warm():
    """Have what is made once made: annotations are read, a zone that isn't there is looked for, streams are imported."""
    for path in glob.glob("incidents/*/trace.jsonl"):
        for reseal in (False, True):
            read_trace(path, reseal=reseal)
    for body in (b'{"$zone":"nowhere"}', b'[{"$channel":"send"},{"$tuple":null}]'):
        with pytest.raises(CodecError):
            codec.decode(body)
