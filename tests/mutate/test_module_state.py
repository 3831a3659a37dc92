"""The state of a project's modules at a call, from which a written test starts."""

import importlib
import sys

import pytest

from autochron.mutate.server.module_state import computed_globals, import_root, state_at_call
from tests.cli.processes import write

FILES = {
    "shop/__init__.py": "",
    "shop/tools.py": """\
from . import stock
from .money import RATE, paid
import unread

LIMIT = 4
NAMES = ["a"]
count: int = 0
made = object()
table = dict(a=1)

def sell():
    return stock.LEFT
""",
    "shop/stock.py": 'LEFT = {"mug": 3}\nSAME = (1, 2)\n',
    "shop/money.py": "RATE = 7\npaid = []\n",
    "unread.py": "SEEN = set()\n",
    "apart.py": "SEEN = [1]\n",
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    write(tmp_path, FILES)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("apart")
    yield importlib.import_module("shop.tools")
    for name in [name for name in sys.modules if name.partition(".")[0] in {"shop", "apart", "unread"}]:
        del sys.modules[name]


def test_what_is_as_the_source_writes_it_is_left_out(shop, tmp_path):
    start = computed_globals(shop.sell, str(tmp_path))
    assert start == {"shop/tools.py": {"table": "{'a': 1}"}}
    assert state_at_call(shop.sell, str(tmp_path), start) == {}


def test_what_has_changed_is_there_by_the_file_that_assigns_it(shop, tmp_path):
    folder = tmp_path / "incidents" / "mug"
    folder.mkdir(parents=True)
    start = computed_globals(shop.sell, str(folder))
    shop.table["b"] = 2
    shop.count += 2
    shop.NAMES.append("b")
    shop.paid.append(("A1", 4.5))
    shop.stock.LEFT["mug"] = 0
    sys.modules["apart"].SEEN.append(2)  # the function's module does not import it
    sys.modules["unread"].SEEN.add(1)
    assert state_at_call(shop.sell, str(folder), start) == {
        "../../shop/tools.py": {"NAMES": "['a', 'b']", "count": "2", "table": "{'a': 1, 'b': 2}"},
        "../../shop/stock.py": {"LEFT": "{'mug': 0}"},
        "../../shop/money.py": {"paid": "[('A1', 4.5)]"},
        "../../unread.py": {"SEEN": "{1}"},
    }


def test_what_python_has_no_literal_for_is_left_out(shop, tmp_path):
    shop.NAMES.append(object())
    shop.stock.LEFT["mug"] = float("nan")
    shop.count = range(3)
    assert state_at_call(shop.sell, str(tmp_path), computed_globals(shop.sell, str(tmp_path))) == {}
    assert state_at_call(len, str(tmp_path), {}) == {}


def test_a_module_is_imported_from_the_folder_around_its_outermost_package(tmp_path):
    write(tmp_path, FILES)
    assert import_root(str(tmp_path / "shop" / "tools.py")) == str(tmp_path)
    assert import_root(str(tmp_path / "apart.py")) == str(tmp_path)
