"""Tests that `--write-tests` writes start from what there was at the call, and change nothing of the project."""

import os

import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.model import MutationTarget, Receiver, StudiedIncident, Study
from autochron.mutate.report.edge_tests import write_tests
from tests.cli.processes import write
from tests.mutate.test_inputs import _input, pytest_summary, written

STORE = """\
class Store:
    opened = 0

    def __init__(self, most):
        self.most = most
        self.held = {"mug": 2}
        Store.opened += 1

    def reserve(self, sku, pieces):
        if self.held.get(sku, 0) + pieces > self.most:
            return {"status": "refused", "opened": self.opened}
        self.held[sku] = self.held.get(sku, 0) + pieces
        return {"status": "reserved", "held": self.held[sku]}

    @classmethod
    def largest(cls, pieces):
        return pieces <= 9
"""
BOOKS = """\
import json
from pathlib import Path

HERE = Path(__file__).parent

def pay(cents):
    books = json.loads(Path("books/main.json").read_text())
    if books["back"] + cents > books["paid"]:
        return {"status": "refused"}
    books["back"] += cents
    Path("books/main.json").write_text(json.dumps(books))
    (HERE / "log.txt").write_text("paid")
    return {"status": "paid", "left": books["paid"] - books["back"]}
"""


def study_of(file, function, source, *inputs, **more):
    target = MutationTarget(file, function)
    incident = StudiedIncident(
        name="shop",
        targets=(target,),
        sources={file: source},
        generated=1,
        same_bytecode=0,
        duplicates=0,
        inputs=tuple(
            msgspec.structs.replace(edge_input, address="call[1]", target=target) for edge_input in inputs
        ),
        **more,
    )
    return Study(operators="core", digest="0", methods=("cut-point",), incidents=(incident,))


def on(receiver, edge_input):
    return msgspec.structs.replace(edge_input, receiver=receiver)


def summaries_of(folder, file, text, changes):
    """Return the summary of the written tests for each change of a file."""
    summaries = []
    for old, new in changes:
        assert old in text
        (folder / file).write_text(text.replace(old, new))
        summaries.append(pytest_summary(folder))
    (folder / file).write_text(text)
    return summaries


def test_a_method_is_called_on_an_object_with_the_attributes_of_the_call(tmp_path):
    """The object is made without its `__init__`, which may do more than set attributes."""
    write(
        tmp_path, {"autochron.toml": "version = 1\n", "src/shop/__init__.py": "", "src/shop/store.py": STORE}
    )
    store = Receiver("self", "src/shop/store.py", "Store", {"most": "5", "held": "{'mug': 2}"})
    inputs = (
        on(store, _input(0, "{'sku': 'mug', 'pieces': 3}", '{"returned":{"status":"reserved","held":5}}')),
        on(store, _input(1, "{'sku': 'mug', 'pieces': 4}", '{"returned":{"status":"refused","opened":0}}')),
    )
    study = study_of("src/shop/store.py", "Store.reserve", STORE, *inputs)
    assert written(study, tmp_path, "tests/test_{incident}.py")[1] == []
    changes = (
        ("class Store", "class Store"),
        ("> self.most", ">= self.most"),
        ("+ pieces >", "+ pieces - 1 >"),
    )
    assert summaries_of(tmp_path, "src/shop/store.py", STORE, changes) == [
        "2 passed",
        "1 failed, 1 passed",
        "1 failed, 1 passed",
    ]


def test_a_class_method_is_called_on_its_class(tmp_path):
    (tmp_path / "store.py").write_text(STORE)
    inputs = [
        on(Receiver("cls", "store.py", "Store"), _input(number, f"{{'pieces': {pieces}}}", outcome))
        for number, (pieces, outcome) in enumerate(((9, '{"returned":true}'), (10, '{"returned":false}')))
    ]
    assert written(study_of("store.py", "Store.largest", STORE, *inputs), tmp_path)[1] == []
    changes = (("<= 9", "<= 9"), ("<= 9", "< 9"), ("<= 9", "<= 10"))
    summaries = ["2 passed", "1 failed, 1 passed", "1 failed, 1 passed"]
    assert summaries_of(tmp_path, "store.py", STORE, changes) == summaries


def test_files_are_as_they_were_at_the_call_and_the_projects_own_stay_as_they_are(tmp_path):
    write(
        tmp_path,
        {
            "autochron.toml": "version = 1\n",
            "desk.py": BOOKS,
            "books/main.json": '{"back": 0, "paid": 1}',
            ".env": "KEY=1\n",
        },
    )
    inputs = (
        _input(0, "{'cents': 30}", '{"returned":{"status":"paid","left":0}}'),
        _input(1, "{'cents': 31}", '{"returned":{"status":"refused"}}'),
    )
    files = {"call[1]": {"books/main.json": '{"back": 10, "paid": 40}'}}
    study = study_of("desk.py", "pay", BOOKS, *inputs, files=files)
    assert written(study, tmp_path, "tests/test_{incident}.py")[1] == []
    changes = (("import json", "import json"), ("cents >", "cents >="), ("> books", "> 1 + books"))
    assert summaries_of(tmp_path, "desk.py", BOOKS, changes) == [
        "2 passed",
        "1 failed, 1 passed",
        "1 failed, 1 passed",
    ]
    assert (tmp_path / "books/main.json").read_text() == '{"back": 0, "paid": 1}'
    assert not (tmp_path / "log.txt").exists()


def test_what_no_call_should_have_is_not_asked_for(tmp_path):
    """The function accepts a negative amount: a test that expects it would keep the fault."""
    (tmp_path / "desk.py").write_text("def pay(cents):\n    return 'paid' if cents < 5 else 'refused'\n")
    negative = msgspec.structs.replace(
        _input(0, "{'cents': -1}", '{"returned":"paid"}'), argument="cents", value="-1", is_accepted=True
    )
    study = study_of(
        "desk.py",
        "pay",
        "def pay(cents):\n    return 0\n",
        negative,
        _input(1, "{'cents': 5}", '{"returned":"refused"}'),
    )
    (path,), notes = written(study, tmp_path)
    assert notes == [
        f"{path}: pay accepts what no call should have, so a test must not ask for it: cents = -1 (negative)"
    ]
    assert pytest_summary(tmp_path) == "1 passed"


def test_a_project_that_is_too_large_gets_no_written_test(tmp_path):
    (tmp_path / "desk.py").write_text("def pay(cents):\n    return 'refused'\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "large").write_bytes(b"")
    os.truncate(tmp_path / "data" / "large", 60 << 20)
    study = study_of(
        "desk.py",
        "pay",
        "def pay(cents):\n    return 0\n",
        _input(0, "{'cents': 5}", '{"returned":"refused"}'),
    )
    notes = []
    with pytest.raises(UsageError, match="no input can be written"):
        write_tests(study, str(tmp_path / "test_shop.py"), {"shop": tmp_path}, notes.append)
    (note,) = notes
    assert note == (
        f"{tmp_path}/test_shop.py is not written: each case works on a copy of the project, and {tmp_path} holds more than"
        " 2,000 files or 50 MB"
    )


LOGGED = """\
from pathlib import Path

def pay(cents):
    with open(Path(__file__).parent / "data" / "log.txt", "a") as file:
        file.write("called")
    return "paid" if cents < 5 else "refused"
"""


def test_links_and_what_is_no_file_do_not_lead_out_of_the_copy(tmp_path):
    project = tmp_path / "project"
    write(project, {"autochron.toml": "version = 1\n", "desk.py": LOGGED, "real/log.txt": ""})
    (project / "data").symlink_to(project / "real")
    (project / "around").symlink_to(project)
    (project / "away").symlink_to(tmp_path)
    (project / "lock").symlink_to("host:1234")
    os.mkfifo(project / "fifo")
    inputs = (
        _input(0, "{'cents': 4}", '{"returned":"paid"}'),
        _input(1, "{'cents': 5}", '{"returned":"refused"}'),
    )
    assert written(study_of("desk.py", "pay", LOGGED, *inputs), project, "tests/test_{incident}.py")[1] == []
    (tmp_path / "link").symlink_to(project)
    (project / "tests" / "conftest.py").write_text("import sys\nsys.path.insert(0, 'LINK')\nimport desk\n")
    text = (project / "tests" / "conftest.py").read_text().replace("LINK", str(tmp_path / "link"))
    (project / "tests" / "conftest.py").write_text(text)
    assert pytest_summary(tmp_path / "link", "tests") == "2 passed"
    assert pytest_summary(project, "tests") == "2 passed"
    assert (project / "real" / "log.txt").read_text() == ""


def test_a_copy_is_removed_and_may_lie_in_the_project(tmp_path):
    (tmp_path / "desk.py").write_text(LOGGED)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "keep").touch()
    (tmp_path / "build").mkdir()
    study = study_of("desk.py", "pay", LOGGED, _input(0, "{'cents': 4}", '{"returned":"paid"}'))
    assert written(study, tmp_path, "tests/test_{incident}.py")[1] == []
    assert pytest_summary(tmp_path, "--basetemp=build/cases") == "1 passed"
    assert [*(tmp_path / "build").rglob("desk.py")] == []
    assert [*(tmp_path / "data").iterdir()] == [tmp_path / "data" / "keep"]
