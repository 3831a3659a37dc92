"""Look for the functions that may be a tool: those that the project keeps under the tool's name.

No code of the program runs: attributes are read from dictionaries.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import islice
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from autochron._runtime.bare import bases_of, class_attribute, dictionary_of, identity, space_of, text
from autochron._runtime.codeflags import CO_VARKEYWORDS, parameter_names
from autochron._runtime.frame_locals import locals_of
from autochron.finding.contexts import contexts_of
from autochron.finding.library_objects import as_identifier, attributes_of, closure_of, names_told
from autochron.finding.waiting_frames import frames_from
from autochron.project import Project
from autochron.recording.call_facts import DeclaredTool
from autochron.recording.declared_tools import names_of

_MOST_OBJECTS = 20_000
"""Objects that one search looks at, at most."""

_MOST_OF_LIBRARIES = 2_000
"""Objects of libraries that one search looks into, at most. An agent holds its tools, and its model's client as well."""

_MOST_FRAMES = 400
"""Frames that are searched at most, from the model call outward."""

_DEEPEST = 3
"""How many containers or objects deep a search goes from a variable, or from an object of a library."""

_MOST_HOPS = 3
"""Through how many objects of libraries a search goes: a team, an agent, a tool."""

_MOST_MEMBERS = 64
"""Members of one object that are taken at most."""

_NAMES = ("name", "tool_name", "__name__")
"""Attributes and keys by which objects of the project tell the name of their tool."""

_METHODS = (
    *("__call__", "run", "execute", "invoke", "call", "handle", "forward", "arun", "_run", "_arun", "acall"),
    *("ainvoke", "aexecute"),
)
"""Methods that run the tool that an object of the project is."""

_CONTAINERS = (list, tuple, deque)

_MACHINERY = frozenset(
    {
        *("_frozen_importlib", "_frozen_importlib_external", "_sitebuiltins", "_thread", "builtins"),
        *("autochron", "http", "httpcore", "httpx", "httpx2", "logging", "re", "ssl", "urllib"),
    }
)
"""Modules and packages whose objects hold no tool. Each module of a program refers to some of them, and so do our own frames
and the client of a model."""

_RECEIVERS = frozenset({"self", "cls"})

_Cached = type(functools.lru_cache(len))


def functions_named(tool: str, parameters: frozenset[str] | None, project: Project) -> list[FunctionType]:
    """Return the functions that the project keeps under the name of a tool now.

    Args:
        tool: the tool.
        parameters: the names of its parameters; None if they are unknown.
        project: the project.
    """
    search = DefinitionSearch([DeclaredTool(tool, parameters, frozenset())], project)
    return search.functions(None, project.loaded_modules()).get(tool, [])


class DefinitionSearch:
    """One search for the functions of some declared tools.

    Attributes:
        is_cut: whether the project has more objects than a search looks at.
    """

    def __init__(self, tools: Iterable[DeclaredTool], project: Project) -> None:
        """Make one.

        Args:
            tools: the tools.
            project: whose functions count.
        """
        self._project = project
        self._tools: dict[str, list[DeclaredTool]] = {}
        for tool in tools:
            for name in names_of(tool.name):
                self._tools.setdefault(name, []).append(tool)
        self._found: dict[str, dict[int, FunctionType]] = {}
        self._in_libraries: dict[str, dict[int, FunctionType]] = {}
        """The functions of libraries that an object names as a tool. They count where the project has none."""
        self._seen = {identity(builtins.__dict__)}
        self._of_libraries: deque[tuple[Any, int]] = deque()
        """Objects of libraries that are to be looked into, with the number of those on the way to them."""
        self._hops = 0
        self._modules: Mapping[str, Mapping[str, Any]] = {}
        """The namespaces of the project's modules, by name."""
        self._owned: dict[type, bool] = {}
        self._passed: dict[type, bool] = {}
        self.is_cut = False

    def functions(
        self, frame: FrameType | None, modules: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, list[FunctionType]]:
        """Return, by tool, the functions that the project keeps under its name.

        If the project has none of a tool, they are those of a library in an object that has its name: what the library itself
        made for the tool, such as a function that asks another agent.

        Args:
            frame: the frame of the model call. The variables of its callers are searched, too.
            modules: the namespaces of the project's modules, by name.
        """
        self._modules = modules
        for namespace in _namespaces(frame, modules.values(), self._project):
            self._look_up(namespace)
            self._look_at_module(namespace)
            self._look_at_all(list(namespace.values()), 0)  # a copy: another thread may change it
        self._look_into_libraries()  # also for tools with a function: a helper may have the tool's name
        found = self._in_libraries | self._found
        return {name: list(functions.values()) for name, functions in found.items()}

    def _look_up(self, namespace: Mapping[Any, Any]) -> None:
        """Take the entries of a dictionary that have the name of a tool."""
        if type(namespace) is not dict and issubclass(type(namespace), dict):
            namespace = dict(dict.items(namespace))  # type: ignore[arg-type]  # a subclass may have its own look-up
        for name, tools in self._tools.items():
            if name in namespace:
                for tool in tools:
                    self._take(tool, namespace[name], 0)

    def _look_at_module(self, namespace: Mapping[Any, Any]) -> None:
        """Take the functions that run the tool that a module is, by its own name."""
        name = namespace.get("__name__")
        for tool in self._tools.get(name.rpartition(".")[2], ()) if type(name) is str else ():
            for function in _METHODS:
                self._take(tool, namespace.get(function), 0)

    def _look_at(self, value: Any, kind: type, depth: int) -> None:
        """Search a value that has no tool's name: a container, an object or a class of the project."""
        if kind is type:  # the plain cases first
            if self._owns_class(value):
                self._look_at_class(value)
        elif kind is dict or issubclass(kind, dict):
            self._look_at_dictionary(value, depth)
        elif issubclass(kind, _CONTAINERS):
            self._look_at_all([*value] if kind in _CONTAINERS else (), depth + 1)
        elif issubclass(kind, type):
            if self._owns_class(value):
                self._look_at_class(value)
        elif self._owns_class(kind):
            self._look_at_object(value, depth)
        elif self._hops < _MOST_HOPS and not self._passes(kind):
            self._of_libraries.append((value, self._hops + 1))

    def _look_at_function(self, function: FunctionType) -> None:
        """Take a function that has the name of a tool, its own or one that a decorator left on it."""
        name, told = function.__name__, function.__dict__
        for known in dict.fromkeys((name, *names_told(told))) if told else (name,):
            for tool in self._tools.get(known, ()):
                self._take(tool, function, 0)

    def _look_at_class(self, cls: type) -> None:
        """Take the methods of a class of the project."""
        namespace = space_of(cls)
        for name, tools in self._tools.items():
            for tool in tools if name in namespace else ():
                self._take(tool, namespace[name], 0)
        for value in list(namespace.values()):
            if type(value) is FunctionType and value.__dict__:
                self._look_at_function(value)

    def _look_at_dictionary(self, value: dict[Any, Any], depth: int) -> None:
        entries = list(dict.items(value))  # a copy: another thread may change it
        tools = self._tools
        names: dict[str, Any] = {}
        for key, entry in entries:
            kind = type(key)
            if kind is str:
                for tool in tools.get(key, ()):
                    self._take(tool, entry, 0)
                if key in _NAMES:
                    names[key] = entry
            elif issubclass(kind, Enum):
                told = (dictionary_of(key) or {}).get("_value_")
                for tool in tools.get(told, ()) if type(told) is str else ():
                    self._take(tool, entry, 0)
        for tool in self._named(names) if names else ():
            for key, entry in entries:
                if type(key) is str:
                    self._take(tool, entry, depth=1)
        inner = [entry for _, entry in entries if type(entry) not in _PLAIN]
        if inner:
            self._look_at_all(inner, depth + 1)

    def _look_at_all(self, values: Iterable[Any], depth: int) -> None:
        """Search values that have no tool's name, each once."""
        tools, seen, is_deepest = self._tools, self._seen, depth >= _DEEPEST
        for value in values:
            kind = type(value)
            if kind is FunctionType:
                if value.__name__ in tools or value.__dict__:
                    self._look_at_function(value)
            elif kind not in _PLAIN and not is_deepest and (number := identity(value)) not in seen:
                if len(seen) > _MOST_OBJECTS:
                    self.is_cut = True
                    continue
                seen.add(number)
                self._look_at(value, kind, depth)

    def _look_at_object(self, value: Any, depth: int) -> None:
        attributes = dict(dict.items(dictionary_of(value) or {}))
        for base in bases_of(type(value)):
            if self._owns_class(base):
                self._look_at_class(base)
        told = {name: attributes.get(name, class_attribute(type(value), name)) for name in _NAMES[:2]}
        for tool in self._named(told):
            self._take(tool, value, 0)
        self._look_up(attributes)
        self._look_at_all(list(attributes.values()), depth + 1)

    def _look_into_libraries(self) -> None:
        """Search the objects of libraries that the project holds, the nearest first."""
        for _ in range(_MOST_OF_LIBRARIES):
            if not self._of_libraries:
                return
            value, self._hops = self._of_libraries.popleft()
            attributes = attributes_of(value)
            for tool in self._named(dict(enumerate(names_told(attributes)))):
                self._take_inside(tool, value)
            self._look_at_all(attributes.values(), 0)
        self.is_cut = self.is_cut or bool(self._of_libraries)

    def _named(self, names: Mapping[Any, Any]) -> list[DeclaredTool]:
        """Return the tools that a text among some attributes is the name of."""
        texts = {name for name in names.values() if type(name) is str}
        known = dict.fromkeys(name for text in texts for name in (text, as_identifier(text)))
        return [tool for name in known for tool in self._tools.get(name, ())]

    def _take(self, tool: DeclaredTool, value: Any, depth: int, *, exactly: bool | None = None) -> None:
        """Take the function that runs when a value is called; of an object, a method or an attribute that fits the tool."""
        function = _function_of(value)
        if function is not None:
            if not self._project.owns(function.__code__.co_filename):
                found = (
                    self._in_libraries
                    if depth == 1 and is_of_library(function, tool, self._project)
                    else None
                )
            else:
                is_fit = fits(function, tool, exactly=depth > 0 if exactly is None else exactly)
                found = self._found if is_fit else None
            if found is not None:
                found.setdefault(tool.name, {})[identity(function.__code__)] = function
            return
        kind = type(value)
        if depth > 1:
            return
        values: list[Any] = []
        if issubclass(kind, dict):
            values = list(dict.values(value))
        elif kind in _CONTAINERS:
            values = list(value)
        elif issubclass(kind, type) or self._owns_class(kind):
            owner = value if issubclass(kind, type) else kind
            for method in [class_attribute(owner, name) for name in _METHODS]:
                self._take(tool, method, depth + 1, exactly=False)
            values = [] if owner is value else list(dict.values(dictionary_of(value) or {}))
        elif depth == 0:  # what a library's decorator made of a function
            self._take_inside(tool, value)
        for inner in values[:_MOST_MEMBERS]:
            if type(inner) is not type:
                self._take(tool, inner, depth + 1)

    def _take_inside(self, tool: DeclaredTool, holder: Any, depth: int = 0) -> None:
        """Take the functions in an object of a library that has the name of a tool, and in the objects in it."""
        for attribute in list(attributes_of(holder).values())[:_MOST_MEMBERS]:
            kind, function = type(attribute), _function_of(attribute)
            if issubclass(kind, type) or (function is None and kind in _PLAIN):
                continue
            self._take(tool, attribute, 1)
            if function is not None:
                self._take_function_of_library(tool, function)
            elif depth == 0 and not issubclass(kind, (dict, *_CONTAINERS)) and not self._owns_class(kind):
                self._take_inside(tool, attribute, 1)

    def _take_function_of_library(self, tool: DeclaredTool, function: FunctionType) -> None:
        if self._project.owns(function.__code__.co_filename):
            return
        for inner in closure_of(function):  # it may wrap the project's function without a mark of that
            self._take(tool, inner, 1)
        if is_of_library(function, tool, self._project):
            self._in_libraries.setdefault(tool.name, {})[identity(function.__code__)] = function

    def _passes(self, kind: type) -> bool:
        """Return whether objects of a class are passed over: they hold no tool."""
        passes = self._passed.get(kind)
        if passes is None:
            passes = self._passed[kind] = text(kind, "__module__").partition(".")[0] in _MACHINERY
        return passes

    def _owns_class(self, kind: type) -> bool:
        is_owned = self._owned.get(kind)
        if is_owned is None:
            name = space_of(kind).get("__module__")
            is_owned = self._owned[kind] = type(name) is str and (
                name in self._modules or self._owns_module(name)
            )
        return is_owned

    def _owns_module(self, name: str) -> bool:
        module = sys.modules.get(name)
        file = None if module is None else module.__dict__.get("__file__")
        return type(file) is str and self._project.owns(file)


_PLAIN = frozenset(
    {
        str,
        int,
        float,
        bool,
        bytes,
        complex,
        type(None),
        ModuleType,
        MethodType,
        property,
        staticmethod,
        classmethod,
        BuiltinFunctionType,
        ModuleSpec,
        SourceFileLoader,
    }
)
"""Types of values that hold no tool, or are looked up by name only."""


def fits(function: FunctionType, tool: DeclaredTool, *, exactly: bool = False) -> bool:
    """Return whether a function can be called with the parameters that a tool declares.

    Args:
        function: the function.
        tool: the tool.
        exactly: whether it must have the same parameters. Else it may also take all arguments as one object.
    """
    code = function.__code__
    names, (variadic, _) = parameter_names(code)
    names = names[: code.co_argcount + code.co_kwonlyargcount]
    if names[:1] in (("self",), ("cls",)):
        names = names[1:]
    if code.co_flags & CO_VARKEYWORDS or (tool.parameters is not None and tool.parameters <= {*names}):
        return True
    if exactly:
        return False
    # A dictionary, a text or a model with all arguments, and perhaps a context.
    needed = len(names) - len(function.__defaults__ or ())
    return tool.parameters is None or variadic is not None or (len(names) >= 1 and needed <= 2)


def is_of_library(function: FunctionType, tool: DeclaredTool, project: Project) -> bool:
    """Return whether a function of an installed library has the parameters that a tool declares, each by its name.

    It may get objects of the library beside them. What needs more is none. Neither is what only passes arguments on, as
    `call(**kwargs)` does, unless a library made it for one tool: a nested function, which asks another agent.
    """
    module = function.__globals__.get("__name__")
    if type(module) is not str or module.partition(".")[0] in sys.stdlib_module_names:
        return False
    code = function.__code__
    if code.co_flags & CO_VARKEYWORDS and function.__closure__:
        return True
    declared = frozenset() if tool.parameters is None else tool.parameters
    contexts = contexts_of(function, declared, project)
    count = code.co_argcount + code.co_kwonlyargcount
    names = [name for name in parameter_names(code)[0][:count] if name not in _RECEIVERS]
    optional = code.co_kwonlyargcount + len(function.__defaults__ or ())
    needed = {*names[: len(names) - optional]} - contexts.keys()
    return tool.parameters is not None and needed <= declared <= {*names}


def _function_of(value: Any) -> FunctionType | None:
    """Return the function behind a callable, through what binds or decorates it; None if it is no such callable."""
    for _ in range(16):
        kind = type(value)
        if kind is FunctionType:
            inner = value.__dict__.get("__wrapped__") if value.__dict__ else None
            if inner is None:
                return value  # type: ignore[no-any-return]
            value = inner
        elif kind is MethodType:
            value = value.__func__
        elif issubclass(kind, functools.partial):
            value = functools.partial.func.__get__(value)
        elif kind in {staticmethod, classmethod}:
            value = value.__func__
        elif kind is _Cached:
            value = value.__wrapped__
        else:
            return None
    return None


def _namespaces(
    frame: FrameType | None, modules: Iterable[Mapping[str, Any]], project: Project
) -> Iterator[Mapping[str, Any]]:
    """Yield the variables of the project's frames, from one outward, and those of the project's modules."""
    seen: set[int] = set()
    owns = project.owns
    for running in islice(frames_from(frame), _MOST_FRAMES):
        if owns(running.f_code.co_filename) and identity(running) not in seen:
            seen.add(identity(running))
            if running.f_globals is not running.f_locals:
                yield locals_of(running)
            if identity(running.f_globals) not in seen:
                seen.add(identity(running.f_globals))
                yield running.f_globals
    for namespace in modules:
        if identity(namespace) not in seen:
            yield namespace
