"""Lines are identified by a hash, and found again by it."""

import os

from autochron.detect.line_hash import find_line, hash_of, line_hash


def test_the_hash_ignores_whitespace_around_the_line(tmp_path):
    path = tmp_path / "agent.py"
    path.write_text("import time\n\nif True:\n    now = time.time()\n")
    assert line_hash(str(path), 4) == hash_of("now = time.time()")
    assert len(line_hash(str(path), 4)) == 12


def test_a_missing_line_or_file_has_no_hash(tmp_path):
    path = tmp_path / "agent.py"
    path.write_text("x = 1\n")
    assert [line_hash(str(path), line) for line in (0, 7)] == ["", ""]
    assert line_hash(str(tmp_path / "gone.py"), 1) == ""


def test_the_nearest_line_with_the_hash_is_found(tmp_path):
    path = tmp_path / "agent.py"
    path.write_text("a = f()\nb = 1\na = f()\nc = 2\nd = 3\n")
    assert [find_line(str(path), line, hash_of("a = f()")) for line in (1, 2, 3, 9)] == [1, 1, 3, 3]
    assert find_line(str(path), 1, hash_of("gone")) is None


def test_a_file_that_changed_is_read_again(tmp_path):
    path = tmp_path / "agent.py"
    path.write_text("a = 1\n")
    before = line_hash(str(path), 1)
    path.write_text("a = 2\n")
    os.utime(path, ns=(1, 1))
    assert before != line_hash(str(path), 1) == hash_of("a = 2")


def test_lines_are_counted_and_decoded_as_python_does_it(tmp_path):
    path = tmp_path / "agent.py"
    path.write_bytes("# coding: latin-1\r\nx = 'é\x0c'\r\ny = 2\r\n".encode("latin-1"))
    assert line_hash(str(path), 2) == hash_of("x = 'é\x0c'")
    assert line_hash(str(path), 3) == hash_of("y = 2")
