"""New rules replace others: modules that were woven on import or in place follow the new rules."""

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


def names_crossed(module, file):
    with autochron.record(store="memory:", rules=file) as recording:
        assert module.act("add", 1, 2) == 3
        assert module.pay(4) == 8
    return [envelope.name for envelope in recording.trace().envelopes]


@pytest.mark.parametrize("cached", [False, True], ids=["made", "kept"])
@pytest.mark.parametrize("first", [{"one": PAY}, {"one": ADD}, {"one": CALL, "two": PAY}], ids=str)
def test_a_module_that_was_woven_on_import_follows_the_current_rules(desk, first, cached):
    folder, name = desk
    before = rules(folder, name, **first)
    for _ in range(1 + cached):  # the second time from the cache of the first
        sys.modules.pop(name, None)
        with autochron.record(store="memory:", rules=before):
            module = importlib.import_module(name)
        assert (
            has_woven(module.pay.__code__) or has_woven(module.act.__code__) or has_woven(module.add.__code__)
        )
        activation.deactivate() if cached and _ == 0 else None
    assert names_crossed(module, rules(folder, name, other=PAY)) == ["other"]
    assert names_crossed(module, rules(folder, name, called=CALL, paid=PAY)) == ["called", "paid"]
    assert names_crossed(module, before) == {"one": ["one", "two"][: len(first)]}["one"]


def test_deactivating_restores_the_original_code(desk):
    folder, name = desk
    with autochron.record(store="memory:", rules=rules(folder, name, call=CALL, pay=PAY)):
        module = importlib.import_module(name)
    function = module.pay
    activation.deactivate()
    assert function is module.pay
    woven = [candidate for candidate in (module.pay, module.act, module.add) if has_woven(candidate.__code__)]
    assert (woven, module.act("add", 2, 2), module.idle()) == ([], 4, 2)


def test_a_module_whose_source_has_changed_keeps_its_imported_code(desk):
    folder, name = desk
    with autochron.record(store="memory:", rules=rules(folder, name, pay=PAY)):
        module = importlib.import_module(name)
    (folder / f"{name}.py").write_text(DESK.replace("cents * 2", "cents * 300"))
    activation.deactivate()
    assert module.pay(4) == 8
