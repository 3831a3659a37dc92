"""Which loaded modules belong to a project, whatever was loaded before and whatever their classes do."""

import sys
from types import ModuleType

import pytest

from autochron.project import Project


class Loud(ModuleType):
    def __getattribute__(self, name):
        raise RuntimeError(name)


@pytest.fixture
def load(monkeypatch):
    def loaded(name, file, kind=ModuleType):
        module = kind(name)
        ModuleType.__getattribute__(module, "__dict__")["__file__"] = str(file)
        monkeypatch.setitem(sys.modules, name, module)
        return ModuleType.__getattribute__(module, "__dict__")

    return loaded


@pytest.fixture
def names(tmp_path):
    """Return the project's modules among some, as a session that begins now sees them."""

    def seen(*wanted):
        modules = Project((str(tmp_path / "shop"),), str(tmp_path)).loaded_modules()
        return {name: namespace for name, namespace in modules.items() if name in wanted}

    return seen


def test_a_module_of_another_folder_may_be_replaced_by_one_of_the_project(tmp_path, load, names):
    load("till", tmp_path / "other" / "till.py")
    assert names("till") == {}
    own = load("till", tmp_path / "shop" / "till.py")
    assert names("till")["till"] is own
    load("till", tmp_path / "other" / "till.py")
    assert names("till") == {}


def test_modules_of_libraries_are_no_modules_of_the_project(tmp_path, load, names):
    load("ledger", tmp_path / "shop" / "venv" / "lib" / "site-packages" / "ledger.py")
    assert [names("ledger", "json", "pytest") for _ in range(2)] == [{}, {}]


def test_a_module_that_gets_its_file_later_is_seen_then(tmp_path, load, names):
    namespace = load("late", "")
    del namespace["__file__"]
    assert names("late") == {}
    namespace["__file__"] = str(tmp_path / "shop" / "late.py")
    assert names("late")["late"] is namespace


def test_no_code_of_a_modules_class_runs(tmp_path, load, names):
    own = load("loud", tmp_path / "shop" / "loud.py", Loud)
    assert names("loud")["loud"] is own
