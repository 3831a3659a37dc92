"""A recorded script replays as an imported module: types of `__main__` and of the module count as the same."""

import sys

import pytest

import autochron
from tests.cli.processes import autochron as command
from tests.cli.processes import write

SCRIPT = """
from dataclasses import dataclass

@dataclass
class Paid:
    cents: int

class Refused(Exception):
    pass

def pay(cents):
    if cents > 100:
        raise Refused(cents)
    return Paid(cents)

def parts(cents):
    yield Paid(cents)

def main():
    print(pay(5), *parts(3))
    try:
        pay(500)
    except Refused as error:
        print(error)

if __name__ == "__main__":
    main()
"""
RULES = 'version = 1\npacks = []\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ntarget = ["till:pay", "till:parts"]\n'


@pytest.fixture
def till(tmp_path, monkeypatch):
    write(tmp_path, {"till.py": SCRIPT, "autochron.toml": RULES})
    assert command(tmp_path, "run", "--name", "till", "till.py").status == 0
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("till", None)
    import till as imported

    yield imported
    del sys.modules["till"]


def test_results_of_live_crossings_are_the_same(till):
    with autochron.replay("till", live="kind:tool") as replay:
        till.main()
    assert [(crossing.address, crossing.live) for crossing in replay.crossings] == [
        ("pay[1]", True),
        ("parts[1]", True),
        ("pay[2]", True),
    ]
    assert replay.divergences == ()


def test_another_type_of_the_same_name_is_a_divergence(till, monkeypatch):
    def pay(cents):
        if cents > 100:
            raise LookupError(cents)
        return Paid(cents)

    class Paid(till.Paid):
        pass

    with (
        autochron.replay("till", live="kind:tool", swap={"till:pay": pay}, check=False) as replay,
        pytest.raises(LookupError),
    ):
        till.main()
    assert [divergence.address for divergence in replay.divergences if divergence.kind == "outcome"] == [
        "pay[1]",
        "pay[2]",
    ]
