"""The model's replies: from the step of the script that fits, else random."""

import json
import random
from dataclasses import dataclass

from autochron.provider import generators
from autochron.provider.conversation import Conversation, Tool
from autochron.provider.script import Call, Step

_EPOCH = 1_780_000_000
_YEAR = 31_536_000
_ASKS_FOR_TOOLS = 0.7
_SAYS_NOTHING = 0.05


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the model, before it is written in a wire form.

    Attributes:
        text: the text; None for a reply of tool calls only.
        calls: the tool calls.
        token: a random part for its id.
        created: a random time of creation, in seconds since the epoch.
    """

    text: str | None
    calls: tuple[Call, ...]
    token: str
    created: int

    @property
    def tokens(self) -> int:
        """The estimated size of the reply in tokens."""
        return 1 + len(self.text or "") // 4 + sum(len(call.arguments) // 4 + 4 for call in self.calls)


def make(conversation: Conversation, step: Step | None, rng: random.Random) -> Reply:
    """Make the reply to a request.

    Args:
        conversation: the request.
        step: the step of the script that fits; None for a random reply.
        rng: the source of randomness.
    """
    name, created = generators.token(rng), _EPOCH + rng.randrange(_YEAR)
    text, calls = _draw_reply(conversation, rng) if step is None else _fill_step(step, conversation.user, rng)
    return Reply(text, calls, name, created)


def _fill_step(step: Step, user: str, rng: random.Random) -> tuple[str | None, tuple[Call, ...]]:
    text = None if step.text is None else generators.fill(step.text, user, rng)
    calls = (Call(call.name, generators.fill_json(call.arguments, user, rng)) for call in step.calls)
    return text, tuple(calls)


def _draw_reply(conversation: Conversation, rng: random.Random) -> tuple[str | None, tuple[Call, ...]]:
    tools = _choose_tools(conversation, rng)
    if tools:
        calls = tuple(Call(tool.name, json.dumps(generators.instance(tool.schema, rng))) for tool in tools)
        return generators.sentence(rng) if rng.random() < 0.5 else None, calls
    if conversation.schema is not None:
        return json.dumps(generators.instance(conversation.schema, rng)), ()
    return "" if rng.random() < _SAYS_NOTHING else generators.sentence(rng), ()


def _choose_tools(conversation: Conversation, rng: random.Random) -> tuple[Tool, ...]:
    """Choose the tools to call. After a tool's result there are none unless one is required, so that agent loops end."""
    tools, choice = conversation.tools, conversation.choice
    if not tools or choice == "none":
        return ()
    chosen = tuple(tool for tool in tools if tool.name == choice)
    if chosen:
        return chosen[:1]
    if choice == "required" or (conversation.ends_with_user and rng.random() < _ASKS_FOR_TOOLS):
        return tuple(rng.choices(tools, k=rng.randint(1, 3) if conversation.parallel else 1))
    return ()
