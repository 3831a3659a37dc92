"""Masking a body with the help of the one before gives the same result as masking it from scratch, whatever changed."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.redaction.redactor import Redactor

KEYS = """users password token logprob name key value items messages content credentials $tuple $bytes bytes headers role a
max_tokens x-api-key $opaque arguments text args""".split()
TEXTS = [
    *("hi", "hunter2", "password", "token", "x-api-key", "secret", "password=Hunter22", "", "\\", 'a\\"b'),
    *("},{", "[{", '"},{"', "é},{é", "user https://u:pw@h/x?api_key=abc", "Bearer abcdefghijklmnopqrstuv"),
    *('{"password":"hunter2"}', '[{"name":"token","value":"s3cr3t"},{"a":1}]'),
    '{"a":[{"token":"t"},{"b":"\\"},{"}]}',
    "sk-proj-" + "abcdefghij0123456789ABCDEFGHIJ",
    "-----BEGIN RSA PRIVATE " + "KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
]


class ValueMaker:
    """Generates JSON values, and copies of them with one or two changes."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def value(self, depth: int) -> Any:
        chance = self.chance
        kind = chance.random()
        if depth <= 0 or kind < 0.35:
            plain = [1, None, True, 2.5, [], {}]
            return chance.choice(TEXTS) if chance.random() < 0.8 else chance.choice(plain)
        if kind < 0.7:
            makers = [
                self.object if chance.random() < 0.8 else self.value for _ in range(chance.randint(0, 4))
            ]
            return [make(depth - 1) for make in makers]
        if kind < 0.76:
            return [[chance.choice(TEXTS), chance.choice(TEXTS)] for _ in range(chance.randint(1, 3))]
        return self.object(depth - 1)

    def object(self, depth: int) -> Any:
        chance = self.chance
        kind = chance.random()
        if kind < 0.1:
            return {"name": chance.choice(TEXTS), "value": chance.choice(TEXTS)}
        if kind < 0.14:
            return {"$dict": [[chance.choice(TEXTS), self.value(depth - 1)] for _ in range(2)]}
        return {chance.choice(KEYS): self.value(depth) for _ in range(chance.randint(0, 3))}

    def changed(self, value: Any) -> Any:
        value = copy.deepcopy(value)
        for _ in range(self.chance.randint(1, 2)):
            node = self.chance.choice(list(_nodes(value)))
            if isinstance(node, dict):
                items = self._changed_items(list(node.items()))
                node.clear()
                node.update(items)
            elif not node or self.chance.random() < 0.6:
                node.insert(self.chance.choice([0, len(node)]), self.object(2))
            else:
                node.pop(self.chance.randrange(len(node)))
        return value

    def _changed_items(self, items: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        chance = self.chance
        at = chance.randrange(len(items) + 1)
        if at == len(items):
            return [*items, (chance.choice(KEYS), self.value(2))]
        key, member = items[at]
        new = [[], [(chance.choice(KEYS), member)], [(key, self.value(2))]][chance.randrange(3)]
        return [*items[:at], *new, *items[at + 1 :]]


def _nodes(value: Any) -> Any:
    yield value
    for member in value.values() if isinstance(value, dict) else value:
        if isinstance(member, dict | list):
            yield from _nodes(member)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
@pytest.mark.slow
def test_incremental_masking_of_changing_bodies_equals_full_masking(seed: int) -> None:
    maker = ValueMaker(random.Random(seed))
    redactor = Redactor()
    messages = [maker.object(3) for _ in range(maker.chance.randint(0, 5))]
    value: Any = {"messages": messages, maker.chance.choice(KEYS): maker.value(4)}
    for _ in range(6):
        body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        assert redactor.mask_input("key", body) == Redactor().mask(body)
        value = maker.changed(value)
