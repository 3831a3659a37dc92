"""Classes of data that a model fills in by a tool call: which tools they are, and which are not."""

import dataclasses
from typing import TypedDict

import pydantic
import pytest

from autochron.finding.output_classes import output_tools
from autochron.project import Project
from autochron.recording.call_facts import DeclaredTool


class Harbour(pydantic.BaseModel):
    name: str
    berths: int = pydantic.Field(alias="places")

    @pydantic.field_validator("name")
    @classmethod
    def check_name(cls, name):
        return name

    @pydantic.model_validator(mode="after")
    def check_all(self):
        return self


@dataclasses.dataclass
class Ferry:
    name: str
    seats: int = 0

    def __post_init__(self):
        self.seats += 1


class Crossing(TypedDict):
    start: str
    end: str


class Ticket(pydantic.BaseModel):
    """A tool that is a class: what it does is a method."""

    number: int

    def run(self):
        return self.number


class Whistle(pydantic.BaseModel):
    tone: str

    def __call__(self):
        return self.tone


Made = pydantic.create_model("Made", tone=(str, ...))


class Plain:
    def __init__(self, name):
        self.name = name


@pytest.fixture
def project(request):
    folder = str(request.path.parent)
    return Project((folder,), folder)


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("Harbour", {"name", "berths"}, True),
        ("Harbour", {"name", "places"}, True),
        ("Harbour", {"name"}, False),
        ("Ferry", {"name", "seats"}, True),
        ("Crossing", {"start", "end"}, True),
        ("Ticket", {"number"}, False),
        ("Whistle", {"tone"}, False),
        ("Plain", {"name"}, False),
        ("Made", {"tone"}, False),  # as frameworks make one of a tool's parameters
        ("harbour", {"name", "berths"}, False),
        ("Harbour", None, False),
    ],
)
def test_a_class_of_data_with_the_declared_fields_is_no_tool_that_runs(project, name, parameters, expected):
    fields = None if parameters is None else frozenset(parameters)
    tool = DeclaredTool(name, fields, frozenset())
    assert output_tools([tool], project) == ({name} if expected else set())


def test_a_class_of_a_library_is_no_form_of_an_answer(tmp_path):
    tool = DeclaredTool("Ferry", frozenset({"name", "seats"}), frozenset())
    assert output_tools([tool], Project((str(tmp_path),), str(tmp_path))) == set()
