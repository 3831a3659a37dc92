"""`define = "tools:Base+.act"` means the method of a class and of all classes that derive from it, in any module."""

import pytest

from tests.cli.processes import autochron

TOOLS = """
class Base:
    def act(self, value):
        return value + 1
    def _hidden(self):
        return 1
class Sub(Base):
    def act(self, value):
        return value + 2
    def other(self):
        return 3
class Typed(Base):
    pass
"""
MORE = """
import tools as t
from tools import Base as Renamed
class Deep(t.Sub):
    def act(self, value):
        return value + 5
class Mixin: pass
class Both(Mixin, Renamed):
    async def act(self, value):
        return value + 6
def make():
    class Local(Deep):
        def act(self, value):
            return value + 7
    return Local()
class Other:
    def act(self, value):
        return value
"""
AGENT = """
import asyncio, more
from tools import Base, Sub, Typed
class Own(Typed):
    def act(self, value):
        return super().act(value) + 8
print(Base().act(1), Sub().act(1), Sub().other(), more.Deep().act(1), more.make().act(1), more.Other().act(1), Own().act(1))
print(asyncio.run(more.Both().act(1)))
"""
ALL = ["Base.act ×2", "Both.act ×1", "Deep.act ×1", "Own.act ×1", "Sub.act ×1", "make.<locals>.Local.act ×1"]


def lay_out(folder, define, more=""):
    table = f'[[boundary]]\nname = "{{__qualname__}}"\nkind = "tool"\ndefine = "{define}"\n{more}'
    (folder / "autochron.toml").write_text(f"version = 1\npacks = []\n{table}")
    for name, source in (("tools", TOOLS), ("more", MORE), ("agent", AGENT)):
        (folder / f"{name}.py").write_text(source)


def crossings_in(report):
    line = report.splitlines()[1].strip()
    return sorted(line.split(", ")) if "×" in line else []


def test_methods_of_derived_classes_are_recorded_and_served(tmp_path):
    lay_out(tmp_path, "tools:Base+.act")
    for _ in range(2):  # the second run reads the code cache of the first
        recorded = autochron(tmp_path, "run", "agent.py")
        assert crossings_in(recorded.said) == ALL, recorded.said
    replayed = autochron(tmp_path, "replay", "last")
    assert (replayed.status, replayed.text) == (0, recorded.text), replayed.said


def test_a_class_that_no_longer_derives_is_not_woven(tmp_path):
    lay_out(tmp_path, "tools:Base+.act")
    assert crossings_in(autochron(tmp_path, "run", "agent.py").said) == ALL
    (tmp_path / "tools.py").write_text(TOOLS.replace("class Sub(Base)", "class Sub"))
    expected = ["Base.act ×2", "Both.act ×1", "Own.act ×1"]
    assert crossings_in(autochron(tmp_path, "run", "agent.py").said) == expected


def test_a_glob_and_exclude_apply_to_the_methods(tmp_path):
    lay_out(tmp_path, "tools:Base+.*", 'exclude = ["Sub.act", "Deep.*"]\n')
    recorded = autochron(tmp_path, "run", "agent.py")
    expected = ["Base.act ×2", "Both.act ×1", "Own.act ×1", "Sub.other ×1", "make.<locals>.Local.act ×1"]
    assert crossings_in(recorded.said) == expected, recorded.said


def test_the_rules_command_lists_the_methods(tmp_path):
    lay_out(tmp_path, "tools:Base+.act")
    shown = autochron(tmp_path, "rules").text
    assert [line.split()[-1] for line in shown.splitlines() if line.startswith("    ")] == [
        "Own.act",
        "Deep.act",
        "Both.act",
        "make.<locals>.Local.act",
        "Base.act",
        "Sub.act",
    ]


@pytest.mark.parametrize(
    ("define", "message"),
    [
        ("tools:Base+", "names no method of the classes that derive from `Base`; write `Base+.*`"),
        ("tools:*+.act", "has a `*` before its `+`"),
        ("*:Base+.act", "has a `*` before its `+`"),
        ("tools:Base+.act+.more", "holds `act+`"),
    ],
)
def test_an_invalid_define_is_refused_with_its_line(tmp_path, define, message):
    lay_out(tmp_path, define)
    refused = autochron(tmp_path, "run", "agent.py")
    assert refused.status == 2
    assert message in refused.said
    assert "autochron.toml:6" in refused.said


def test_a_missing_class_is_reported(tmp_path):
    lay_out(tmp_path, "tools:Gone+.act")
    assert (
        "tools:Gone+.act: autochron.toml:3: it fits no definition"
        in autochron(tmp_path, "run", "agent.py").said
    )
