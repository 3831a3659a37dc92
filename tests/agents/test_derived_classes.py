"""`define = "tools:Base+.act"` means the method of a class and of all that derive from it, wherever they stand."""

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


def crossed(said):
    line = said.splitlines()[1].strip()
    return sorted(line.split(", ")) if "×" in line else []


def test_what_derives_from_a_class_is_recorded_and_served(tmp_path):
    lay_out(tmp_path, "tools:Base+.act")
    for _ in range(2):  # the second time from what is kept of the first
        ran = autochron(tmp_path, "run", "agent.py")
        assert crossed(ran.said) == ALL, ran.said
    again = autochron(tmp_path, "replay", "last")
    assert (again.status, again.text) == (0, ran.text), again.said


def test_what_no_more_derives_from_it_is_left(tmp_path):
    lay_out(tmp_path, "tools:Base+.act")
    assert crossed(autochron(tmp_path, "run", "agent.py").said) == ALL
    (tmp_path / "tools.py").write_text(TOOLS.replace("class Sub(Base)", "class Sub"))
    left = ["Base.act ×2", "Both.act ×1", "Own.act ×1"]
    assert crossed(autochron(tmp_path, "run", "agent.py").said) == left


def test_a_glob_and_exclude_are_of_the_methods(tmp_path):
    lay_out(tmp_path, "tools:Base+.*", 'exclude = ["Sub.act", "Deep.*"]\n')
    ran = autochron(tmp_path, "run", "agent.py")
    expected = ["Base.act ×2", "Both.act ×1", "Own.act ×1", "Sub.other ×1", "make.<locals>.Local.act ×1"]
    assert crossed(ran.said) == expected, ran.said


def test_rules_shows_them(tmp_path):
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
    ("define", "said"),
    [
        ("tools:Base+", "names no method of the classes that derive from `Base`; write `Base+.*`"),
        ("tools:*+.act", "has a `*` before its `+`"),
        ("*:Base+.act", "has a `*` before its `+`"),
        ("tools:Base+.act+.more", "holds `act+`"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path, define, said):
    lay_out(tmp_path, define)
    ran = autochron(tmp_path, "run", "agent.py")
    assert ran.status == 2
    assert said in ran.said
    assert "autochron.toml:6" in ran.said


def test_a_class_that_has_gone_is_told(tmp_path):
    lay_out(tmp_path, "tools:Gone+.act")
    assert (
        "tools:Gone+.act: autochron.toml:3: it fits no definition"
        in autochron(tmp_path, "run", "agent.py").said
    )
