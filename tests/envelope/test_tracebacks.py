"""Frames of libraries are kept by names that mean the same on every machine."""

import json
import os
import sys
import traceback

import msgspec
import pytest

from autochron.envelope import codec


def raised(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def frames_of(body):
    return [file for file, *_ in json.loads(body)["traceback"]]


def test_the_standard_library_is_named_without_its_folder():
    error = raised(lambda: json.loads("{"))
    body = codec.encode(error, sys._getframe()).body
    assert "{stdlib}/json/decoder.py" in frames_of(body)
    assert os.path.dirname(os.__file__).encode() not in body
    again = codec.decode(body)
    recorded = [each.filename for each in traceback.extract_tb(error.__traceback__)]
    assert [each.filename for each in traceback.extract_tb(again.__traceback__)] == recorded[
        -len(frames_of(body)) :
    ]


def test_a_package_is_named_without_its_folder_and_found_where_it_is_now():
    error = raised(lambda: pytest.importorskip("hypothesis").settings(max_examples=-1))
    body = codec.encode(error, sys._getframe()).body
    named = [file for file in frames_of(body) if file.startswith("{site-packages}/hypothesis/")]
    assert named
    assert os.path.dirname(msgspec.__file__).encode() not in body
    again = traceback.extract_tb(codec.decode(body).__traceback__)
    assert all(os.path.exists(each.filename) for each in again if "hypothesis" in each.filename)
