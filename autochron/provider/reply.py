"""Decide what the model says: by the script where a step fits, by chance otherwise."""

import json
import random
from dataclasses import dataclass

from autochron.provider import chance
from autochron.provider.conversation import Conversation, Tool
from autochron.provider.script import Call, Step

_EPOCH = 1_780_000_000
_YEAR = 31_536_000
_ASKS_FOR_TOOLS = 0.7
_SAYS_NOTHING = 0.05


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says, in no form yet. `token` names it and `created` dates it: both are drawn."""

    text: str | None
    calls: tuple[Call, ...]
    token: str
    created: int

    @property
    def tokens(self) -> int:
        """Estimate the size of the answer."""
        return 1 + len(self.text or "") // 4 + sum(len(call.arguments) // 4 + 4 for call in self.calls)


def make(conversation: Conversation, step: Step | None, rng: random.Random) -> Reply:
    """Answer a request by a step of the script, or by the random model."""
    name, created = chance.token(rng), _EPOCH + rng.randrange(_YEAR)
    text, calls = _drawn(conversation, rng) if step is None else _scripted(step, conversation.user, rng)
    return Reply(text, calls, name, created)


def _scripted(step: Step, user: str, rng: random.Random) -> tuple[str | None, tuple[Call, ...]]:
    text = None if step.text is None else chance.fill(step.text, user, rng)
    calls = (Call(call.name, chance.fill_json(call.arguments, user, rng)) for call in step.calls)
    return text, tuple(calls)


def _drawn(conversation: Conversation, rng: random.Random) -> tuple[str | None, tuple[Call, ...]]:
    tools = _wanted(conversation, rng)
    if tools:
        calls = tuple(Call(tool.name, json.dumps(chance.instance(tool.schema, rng))) for tool in tools)
        return chance.sentence(rng) if rng.random() < 0.5 else None, calls
    if conversation.schema is not None:
        return json.dumps(chance.instance(conversation.schema, rng)), ()
    return "" if rng.random() < _SAYS_NOTHING else chance.sentence(rng), ()


def _wanted(conversation: Conversation, rng: random.Random) -> tuple[Tool, ...]:
    """Choose the tools to ask for: after a tool's result none unless required, so that loops end."""
    tools, choice = conversation.tools, conversation.choice
    if not tools or choice == "none":
        return ()
    named = tuple(tool for tool in tools if tool.name == choice)
    if named:
        return named[:1]
    if choice == "required" or (conversation.asked and rng.random() < _ASKS_FOR_TOOLS):
        return tuple(rng.choices(tools, k=rng.randint(1, 3) if conversation.parallel else 1))
    return ()
