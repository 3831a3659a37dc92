"""Find the calls that write the time into what they make: archives that are compressed with gzip."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from autochron.detect.scan.abstract_values import Known, Value
from autochron.detect.scan.call_arguments import literal_of
from autochron.detect.scan.flow import last_name

_WRITERS = frozenset({"tarfile.open", "gzip.GzipFile", "gzip.open"})


def writes_time(node: ast.Call, called: Iterable[Value]) -> bool:
    """Return whether a call writes a file that begins with the time, as `tarfile.open(..., "w:gz")` does.

    Args:
        node: the call.
        called: what it may call.
    """
    if not any(isinstance(value, Known) and value.name in _WRITERS for value in called):
        return False
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    modes = [str(literal_of(each)) for each in (*node.args[1:2], given.get("mode"))]
    is_zipped = last_name(node.func) == "GzipFile" or any("gz" in mode for mode in modes)
    return is_zipped and "mtime" not in given and any(mode.startswith(("w", "x")) for mode in modes)
