"""The objects that a framework passes to a tool beside the model's arguments are no input."""

import datetime as dt
import json
from collections.abc import Callable
from typing import Optional

import pytest
from pydantic import BaseModel

from autochron.finding.contexts import Selection, select
from autochron.model import ContextRule, Pack, Rules
from autochron.project import Project
from autochron.recording.call_facts import DeclaredTool

PACK = Pack(
    "pytest",
    ("_pytest",),
    "pytest",
    (),
    (),
    (),
    (),
    contexts=(ContextRule("_pytest.config:Config", ("state.data",)),),
)
RULES = Rules(packs=(PACK,))


class Own(BaseModel):
    """A context of the project itself."""


def plain(city, days=3):
    return city, days


def with_context(context: pytest.Config, city):
    return context, city


def by_text(city, context: "pytest.Config | None" = None, *rest, **more):
    return city, context, rest, more


def optional(city, context: Optional[pytest.Config] = None):  # noqa: UP045 - an annotation of its time
    return city, context


def of_another(context: pytest.Session, city):
    return context, city


def only(context: pytest.Config):
    return context


def only_another(context: pytest.Session):
    return context


def with_own(context: Own, city: str, when: dt.date, then: Callable[[], None]):
    return context, city, when, then


def unknown(context: "Missing", city):  # noqa: F821 - what the annotation of a tool may be at run time
    return context, city


class Desk:
    def close(self, city, context: pytest.Config):
        return self, city, context


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (plain, Selection()),
        (with_context, Selection(("city",), ("city", "context.state.data"))),
        (by_text, Selection(("city", "rest", "more"), ("city", "rest", "more", "context.state.data"))),
        (optional, Selection(("city",), ("city", "context.state.data"))),
        (of_another, Selection(("city",))),
        (only, Selection(("context.__class__.__name__",), ("context.state.data",))),
        (only_another, Selection(("context.__class__.__name__",))),
        (with_own, Selection()),
        (unknown, Selection()),
        (Desk.close, Selection(("city",), ("self", "city", "context.state.data"))),
    ],
)
def test_parameters_of_a_librarys_class_are_no_input(request, function, expected):
    folder = str(request.path.parent)
    tool = DeclaredTool("look", frozenset({"city"}), frozenset({"city"}))
    assert select(function, tool, Project((folder,), folder), RULES) == expected


def test_the_receiver_of_a_librarys_tool_is_left_alone(tmp_path):
    tool = DeclaredTool("look", frozenset({"city"}), frozenset({"city"}))
    project = Project((str(tmp_path),), str(tmp_path))
    changes = ("city", "context.state.data")
    assert select(Desk.close, tool, project, RULES) == Selection(("city",), changes)
    assert select(plain, tool, project, RULES) == Selection(("city",), ("city",))


def test_what_the_model_is_asked_for_is_input(request):
    folder = str(request.path.parent)
    tool = DeclaredTool("look", frozenset({"city", "context"}), frozenset())
    assert select(with_context, tool, Project((folder,), folder), RULES) == Selection()


def test_of_a_function_of_a_library_only_what_the_model_says_is_input():
    declared = DeclaredTool("dumps", frozenset({"obj", "other"}), frozenset({"obj"}))
    assert select(json.dumps, declared, Project(("/x",), "/x"), RULES) == Selection(("obj",), ("obj",))
    declared = DeclaredTool("dumps", frozenset({"other"}), frozenset())
    assert select(json.dumps, declared, Project(("/x",), "/x"), RULES) == Selection(("kw",), ("kw",))
