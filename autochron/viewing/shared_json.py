"""JSON in which equal parts are written once.

The request of a conversation contains all messages before it, so a page with each request in full would grow with the square
of the turns. `SharedJson` keeps each large part in a table, and writes its number instead:

- `{"§": 12}` is the part number 12;
- `{"§+": [12, …]}` is the list number 12 with more items after it, written only in the table;
- `{"§cut": 4096}` is a part of 4,096 bytes that was left out, because the page is full;
- `{"§deep": "[[1]]"}` is the text of a part that lies too deep to be drawn;
- `{"§n": "1.0"}` is a number that JavaScript would write in another way, or not exactly;
- `{"§§": [[key, value], …]}` is an object that has one of these keys itself.

`static/data.js` reads this form.
"""

from __future__ import annotations

import re

from msgspec import DecodeError, Raw, json

_MARK = "§"
_SMALL = 48
"""Bytes up to which a part is written in its place."""
_SMALL_IF_FULL = 1_000
"""Bytes of a part above which a full page leaves it out."""
_LONG = 4
"""Items of a list from which the lists that continue it are looked for."""
_DEEPEST = 100
"""Levels below which a part is written as text: a decoder has a limit, and a person reads no deeper."""

_PLAIN = re.compile(r"(?!-0\Z)-?(?:0|[1-9]\d*)(?:\.(?!0{6})\d*[1-9])?")
"""A number that JavaScript writes as it is here, if it has few digits."""
_EXACT = 15
"""Digits up to which JavaScript keeps each decimal number."""
_UNSAFE = re.compile(rb"\xc2\xa7|\\u|\n|[\d.]{16}|\.\d*0(?!\d)|\.000000|\d[eE]|-0")
"""What a text that is written as it is may not have: our mark, an escape, a line feed, or a number that isn't plain."""

_as_object = json.Decoder(dict[str, Raw])
_as_list = json.Decoder(list[Raw])
_text = json.Encoder().encode


class SharedJson:
    """A table of JSON parts, each of which is written once.

    Attributes:
        parts: the JSON text of each part, by number.
        size: bytes of all parts.
        cut: the number of parts that were left out.
    """

    def __init__(self, limit: int) -> None:
        """Make an empty table. Above `limit` bytes it takes only small parts."""
        self.parts: list[str] = []
        self.size = 0
        self.cut = 0
        self._limit = limit
        self._numbers: dict[bytes, int] = {}
        self._lists: dict[bytes, tuple[int, list[bytes]]] = {}
        """By its first item: the number and the items of the latest list."""

    def write(self, body: bytes, depth: int = 0) -> str:
        """Return a JSON text as one in which large parts are numbers of this table.

        Raises:
            DecodeError: the text is no JSON.
        """
        if len(body) <= _SMALL and not _UNSAFE.search(body):
            return body.decode()
        number = self._numbers.get(body)
        if number is not None:
            return f'{{"{_MARK}":{number}}}'
        if self.size > self._limit and len(body) > _SMALL_IF_FULL:
            self.cut += 1
            return f'{{"{_MARK}cut":{len(body)}}}'
        text = self._written(body, depth)
        if len(text) <= _SMALL:
            return text
        return f'{{"{_MARK}":{self._keep(body, text)}}}'

    def _keep(self, body: bytes, text: str) -> int:
        number = self._numbers[body] = len(self.parts)
        self.parts.append(text)
        self.size += len(text)
        return number

    def _written(self, body: bytes, depth: int) -> str:
        start = body.lstrip()[:1]
        if start in (b"{", b"[") and depth >= _DEEPEST:
            return deep_text(body)
        if start == b"{":
            fields = _as_object.decode(body)
            pairs = [
                (_text(key).decode(), self.write(bytes(value), depth + 1)) for key, value in fields.items()
            ]
            if any(key.startswith(_MARK) for key in fields):
                inner = ",".join(f"[{key},{value}]" for key, value in pairs)
                return f'{{"{_MARK}{_MARK}":[{inner}]}}'
            return f"{{{','.join(f'{key}:{value}' for key, value in pairs)}}}"
        if start == b"[":
            return self._written_list([bytes(item) for item in _as_list.decode(body)], depth)
        if not depth:
            json.decode(body)  # the parts of a list or an object were checked with it
        return _written_scalar(body.strip().decode())

    def _written_list(self, items: list[bytes], depth: int) -> str:
        if len(items) < _LONG:
            return f"[{','.join(self.write(item, depth + 1) for item in items)}]"
        known = self._lists.get(items[0])
        number, shared = known if known is not None else (-1, [])
        if len(shared) >= _LONG and len(shared) < len(items) and items[: len(shared)] == shared:
            more = ",".join(self.write(item, depth + 1) for item in items[len(shared) :])
            text = f'{{"{_MARK}+":[{number},{more}]}}'
        else:
            text = f"[{','.join(self.write(item, depth + 1) for item in items)}]"
        body = b"[%b]" % b",".join(items)
        # A list is kept even where its text is short: the next one may continue it.
        number = self._numbers.get(body, -1)
        if number < 0:
            number = self._keep(body, text)
        self._lists[items[0]] = (number, items)
        return f'{{"{_MARK}":{number}}}'


def deep_text(body: bytes) -> str:
    """Return the form of a part that lies too deep to be drawn."""
    return f'{{"{_MARK}deep":{_text(body.decode("utf-8", "replace")).decode()}}}'


def _written_scalar(text: str) -> str:
    if text[:1] in "-0123456789":
        is_plain = _PLAIN.fullmatch(text) and sum(map(str.isdigit, text)) <= _EXACT
        return text if is_plain else f'{{"{_MARK}n":"{text}"}}'
    if "\\u" in text:  # as the characters themselves, so that a search finds them
        try:
            return _text(json.decode(text)).decode()
        except (DecodeError, UnicodeError):  # half a pair of surrogates
            return text
    return text


def written_or_text(shared: SharedJson, body: bytes) -> str:
    """Write a body; one that is no JSON becomes a string."""
    try:
        if len(body) <= _SMALL:
            json.decode(body)  # `write` takes a small text as it is
        return shared.write(body)
    except RecursionError:
        return deep_text(body)
    except (DecodeError, UnicodeDecodeError):
        return shared.write(_text(body.decode("utf-8", "replace")))
