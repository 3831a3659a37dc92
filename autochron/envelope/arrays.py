"""Arrays and tables of numpy and pandas in an input: a digest of their content distinguishes them.

Neither library is imported for it. Arrays and tables are opaque if they hold arbitrary objects, or are too large to be
read at every call.
"""

from __future__ import annotations

import sys
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from collections.abc import Callable
from typing import Any, Final

from autochron.envelope import types as names

MAX_BYTES: Final = 64 * 1024 * 1024
MAX_CELLS: Final = 2_000_000
_FEW = 32
_PLAIN_CELLS = frozenset(
    {"string", "empty", "integer", "floating", "boolean", "decimal", "date", "datetime", "datetime64"}
)


def shape_of(cls: type) -> Callable[[Any], Any] | None:
    """Return a function that shows the instances of a class; None for a class of no such library."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and getattr(numpy, "ndarray", None) is cls:
        return _array
    if numpy is not None and cls.__module__ == "numpy" and issubclass(cls, numpy.generic):
        return _scalar
    if pandas is not None and cls in (getattr(pandas, "DataFrame", None), getattr(pandas, "Series", None)):
        return _table
    return None


def _opaque(value: Any) -> Any:
    return {"$opaque": names.label(type(value))}


def _digest(data: Any) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _array(value: Any) -> Any:
    if value.dtype.hasobject or value.nbytes > MAX_BYTES:
        return _opaque(value)
    form = {"$array": value.dtype.str, "shape": list(value.shape), "digest": _digest(value.tobytes())}
    if value.size <= _FEW and value.dtype.kind in "biuf":
        form["values"] = value.tolist()
    return form


def _scalar(value: Any) -> Any:
    if value.dtype.hasobject:
        return _opaque(value)
    return value.item() if value.dtype.kind in "biufU" else _array(value)


def _table(value: Any) -> Any:
    pandas = sys.modules["pandas"]
    if value.size > MAX_CELLS:
        return _opaque(value)
    columns = [value[name] for name in value] if value.ndim == 2 and value.columns.is_unique else [value]
    try:
        # Cells of any other type would be hashed by code of their own.
        for column in (*columns, value.index):
            kinds = (
                {str(column.dtype)} if getattr(column, "ndim", 1) == 1 else {str(d) for d in column.dtypes}
            )
            if "object" in kinds and pandas.api.types.infer_dtype(column, skipna=True) not in _PLAIN_CELLS:
                return _opaque(value)
        hashed = pandas.util.hash_pandas_object(value, index=True).to_numpy().tobytes()
    except (TypeError, ValueError, AttributeError):
        return _opaque(value)
    heads = list(value.columns) if value.ndim == 2 else [value.name]
    return {
        "$table": [head if type(head) in (str, int) else names.label(type(head)) for head in heads],
        "types": [str(dtype) for dtype in value.dtypes] if value.ndim == 2 else [str(value.dtype)],
        "rows": len(value),
        "digest": _digest(hashed),
    }
