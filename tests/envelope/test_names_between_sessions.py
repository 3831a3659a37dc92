"""The stored name of a class is determined anew in each session, because a module may be reloaded between sessions."""

import dataclasses
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import autochron
from autochron.model import Envelope, Returned, Rules
from autochron.store.memory import MemoryStore

NO_RULES = Rules(auto=False)


@dataclasses.dataclass
class Order:
    """A value that a tool returns."""

    number: int = 1


def _recorded(returned: Any) -> Envelope:
    tool: Callable[[], Any] = autochron.boundary("tool")(lambda: returned)
    with autochron.record("names", store=MemoryStore(), rules=NO_RULES) as recording:
        tool()
    [envelope] = recording.trace().envelopes
    return envelope


def _value(envelope: Envelope) -> bytes | None:
    assert isinstance(envelope.outcome, Returned)
    return envelope.outcome.value


def test_a_class_whose_name_means_another_class_is_opaque(monkeypatch: pytest.MonkeyPatch) -> None:
    order = Order()
    before = _recorded(order)
    monkeypatch.setattr(sys.modules[__name__], "Order", type("Order", (), {}))
    after = _recorded(order)
    monkeypatch.undo()
    restored = _recorded(order)
    assert before.opaque == ()
    assert len(after.opaque) == 1
    assert "test_names_between_sessions:Order" in after.opaque[0]
    assert (restored.opaque, _value(restored)) == ((), _value(before))


def test_the_name_of_a_main_module_class_follows_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    file = tmp_path / "shop" / "agent.py"
    file.parent.mkdir()
    main = types.ModuleType("__main__")
    main.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec("import dataclasses\n@dataclasses.dataclass\nclass Quote:\n    price: int = 2", vars(main))
    names = []
    for folder in (tmp_path, file.parent, tmp_path):
        monkeypatch.chdir(folder)
        names.append(_value(_recorded(main.Quote())))
    inner = b'{"$type":"@agent.py:Quote","price":2}'
    assert names == [inner.replace(b"agent", b"shop/agent"), inner, inner.replace(b"agent", b"shop/agent")]
    assert os.path.samefile(os.getcwd(), tmp_path)
