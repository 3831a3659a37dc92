"""`autochron check` on sources of unusual size, encoding and structure: each is read, or told in one line."""

import json
import sys

import pytest

from autochron.cli import main

READ = {
    "long.py": (b"import time\n" + b"x = 1\n" * 99_998 + b"print(time.time())\n", [(100_000, "time.time")]),
    "generated.py": (
        b"TABLE = {\n"
        + b"".join(b"    'k%d': (%d, 'v%d', [%d]),\n" % (n, n, n, n) for n in range(20_000))
        + b"}\nimport random\nprint(random.random())\n",
        [(20_004, "random.random")],
    ),
    "wide.py": (
        b"x = [" + b", ".join(b"%d" % n for n in range(100_000)) + b"]\nimport uuid\nprint(uuid.uuid4())\n",
        [(3, "uuid.uuid4")],
    ),
    "latin.py": (
        "# -*- coding: latin-1 -*-\nimport time\nname = 'café'\nprint(time.time())\n".encode("latin-1"),
        [(4, "time.time")],
    ),
    "mark.py": (b"\xef\xbb\xbfimport time\nprint(time.time())\n", [(2, "time.time")]),
    "returns.py": (b"import time\rprint(time.time())\r", [(2, "time.time")]),
    "first.py": (b"import second\nimport time\ndef now(): return time.time()\n", [(3, "time.time")]),
    "second.py": (b"import first\nfrom first import now\nprint(now())\n", []),
}
UNREAD = {
    "cookie.py": (b"# coding: nonsense\nimport time\n", 1, "unknown encoding: nonsense"),
    "nul.py": (b"import time\n\0\n", 1, "null bytes"),
    "utf16.py": ("import time\n".encode("utf-16"), 1, ""),
    "wrong.py": (b"import time\nname = '\xe9'\n", 2, "utf-8" if sys.version_info < (3, 14) else "Non-UTF-8"),
    "deep.py": (b"x = " + b"(" * 3_000 + b"1" + b")" * 3_000 + b"\n", 1, ""),
}


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["check", *arguments])
        return ended.value.code, capsys.readouterr()

    return run


def test_sources_of_any_size_and_encoding_are_read(checked, tmp_path):
    for name, (source, _) in READ.items():
        (tmp_path / name).write_bytes(source)
    status, captured = checked("--format", "json", ".")
    report = json.loads(captured.out)
    found = {name: [] for name in READ}
    for finding in report["findings"]:
        found[finding["site"]["file"]].append((finding["site"]["line"], finding["call"]))
    assert (status, report["unread"]) == (1, [])
    assert found == {name: expected for name, (_, expected) in READ.items()}


@pytest.mark.parametrize(("name", "expected"), UNREAD.items(), ids=UNREAD)
def test_a_source_that_does_not_parse_is_told_in_one_line(name, expected, checked, tmp_path):
    source, line, about = expected
    (tmp_path / name).write_bytes(source)
    status, captured = checked(".")
    told = [text for text in (captured.out + captured.err).splitlines() if text.startswith(name)]
    assert status == 2
    assert len(told) == 1
    assert told[0].startswith(f"{name}:{line} ")
    assert about in told[0]
    assert "(unread-file)" in told[0]
