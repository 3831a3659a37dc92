"""Paths of library frames are stored in a form that means the same on every machine."""

import json
import os
import sys
import traceback

import msgspec
import pytest

from autochron.envelope import codec
from autochron.envelope.tracebacks import with_traceback_frames


def error_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def frames_of(body):
    return [file for file, *_ in json.loads(body)["traceback"]]


def test_a_frame_of_the_standard_library_is_stored_without_its_folder():
    error = error_of(lambda: json.loads("{"))
    body = codec.encode(error, sys._getframe()).body
    assert "{stdlib}/json/decoder.py" in frames_of(body)
    assert os.path.dirname(os.__file__).encode() not in body
    restored = codec.decode(body)
    recorded = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert [frame.filename for frame in traceback.extract_tb(restored.__traceback__)] == recorded[
        -len(frames_of(body)) :
    ]


def test_a_frame_of_a_package_is_stored_without_its_folder_and_restored_with_the_current_one():
    error = error_of(lambda: pytest.importorskip("hypothesis").settings(max_examples=-1))
    body = codec.encode(error, sys._getframe()).body
    named = [file for file in frames_of(body) if file.startswith("{site-packages}/hypothesis/")]
    assert named
    assert os.path.dirname(msgspec.__file__).encode() not in body
    restored = traceback.extract_tb(codec.decode(body).__traceback__)
    assert all(os.path.exists(frame.filename) for frame in restored if "hypothesis" in frame.filename)


def test_a_frame_without_columns_is_shown_without_marks_below_its_line(tmp_path):
    file = tmp_path / "lib.py"
    file.write_text("def fail():\n    raise ValueError('no')\n")
    error = with_traceback_frames(ValueError("no"), [[str(file), 2, "fail"]])
    expected = f"  File \"{file}\", line 2, in fail\n    raise ValueError('no')\n"
    assert traceback.format_tb(error.__traceback__) == [expected]
