"""Rules that take the place of others: what was woven as it was imported, or in place, goes by the new ones."""

import importlib
import itertools
import sys

import pytest

import autochron
from autochron.instrument import activation
from autochron.weaving.weave import has_woven

DESK = """
def add(a, b):
    return a + b

def pay(cents):
    def twice():
        return cents * 2
    return twice()

TOOLS = {"add": add}

def act(name, *args):
    return TOOLS[name](*args)

def idle():
    return pay(1)
"""
RULE = """[[boundary]]
name = "{name}"
kind = "tool"
{selector}
"""
_number = itertools.count()


@pytest.fixture
def desk(tmp_path, monkeypatch):
    name = f"desk_{next(_number)}"
    (tmp_path / f"{name}.py").write_text(DESK)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("AUTOCHRON_CACHE", str(tmp_path / "plans"))
    yield tmp_path, name
    activation.deactivate()
    sys.modules.pop(name, None)


def rules(folder, module, **selectors):
    text = "".join(RULE.format(name=name, selector=selector) for name, selector in selectors.items())
    file = folder / f"{'-'.join(selectors)}.toml"
    file.write_text("version = 1\npacks = []\n" + text.replace("MODULE", module))
    return file


PAY = 'define = "MODULE:pay"'
ADD = 'define = "MODULE:add"'
CALL = 'call = "TOOLS[$tool](...)"'


def crossed(module, file):
    with autochron.record(store="memory:", rules=file) as recording:
        assert module.act("add", 1, 2) == 3
        assert module.pay(4) == 8
    return [each.name for each in recording.trace().envelopes]


@pytest.mark.parametrize("kept", [False, True], ids=["made", "kept"])
@pytest.mark.parametrize("first", [{"one": PAY}, {"one": ADD}, {"one": CALL, "two": PAY}], ids=str)
def test_what_was_woven_as_it_was_imported_goes_by_the_rules_in_force(desk, first, kept):
    folder, name = desk
    before = rules(folder, name, **first)
    for _ in range(1 + kept):  # the second time from what is kept of the first
        sys.modules.pop(name, None)
        with autochron.record(store="memory:", rules=before):
            module = importlib.import_module(name)
        assert (
            has_woven(module.pay.__code__) or has_woven(module.act.__code__) or has_woven(module.add.__code__)
        )
        activation.deactivate() if kept and _ == 0 else None
    assert crossed(module, rules(folder, name, other=PAY)) == ["other"]
    assert crossed(module, rules(folder, name, called=CALL, paid=PAY)) == ["called", "paid"]
    assert crossed(module, before) == {"one": ["one", "two"][: len(first)]}["one"]


def test_without_rules_all_is_as_it_was(desk):
    folder, name = desk
    with autochron.record(store="memory:", rules=rules(folder, name, call=CALL, pay=PAY)):
        module = importlib.import_module(name)
    held = module.pay
    activation.deactivate()
    assert held is module.pay
    woven = [each for each in (module.pay, module.act, module.add) if has_woven(each.__code__)]
    assert (woven, module.act("add", 2, 2), module.idle()) == ([], 4, 2)


def test_a_source_that_was_changed_since_is_left_as_it_was_imported(desk):
    folder, name = desk
    with autochron.record(store="memory:", rules=rules(folder, name, pay=PAY)):
        module = importlib.import_module(name)
    (folder / f"{name}.py").write_text(DESK.replace("cents * 2", "cents * 300"))
    activation.deactivate()
    assert module.pay(4) == 8
