"""A script: what the model shall answer, step by step, where randomness alone would not tell the story.

    {"steps": [{"turn": 0, "when": "refund", "text": "One moment, {please|I am looking}.",
                "calls": [{"name": "look_up_order", "arguments": {"order_id": "{number}"}}]},
               {"fault": "429*1", "text": "{random}"}]}

The first step that fits answers; a request that no step fits goes to the random model. In texts and arguments
`{random}` becomes a few words, `{id}` a fresh id, `{number}` the first number in the last user message, and
`{a|b}` one of its sides. `{"$int": "{number}00"}` makes an integer of such a text.

`"refuses": ["temperature"]` beside the steps makes an endpoint that doesn't take these members of a request.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from autochron.provider import faults
from autochron.provider.conversation import Conversation
from autochron.provider.errors import ScriptError


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to ask for: `arguments` is the text on the wire, so it may be malformed on purpose."""

    name: str
    arguments: str = "{}"

    @classmethod
    def of(cls, name: str, /, **arguments: object) -> "Call":
        """Write the arguments as JSON."""
        return cls(name, json.dumps(arguments))


@dataclass(frozen=True, slots=True)
class Step:
    """One answer and when it is due.

    `when`: substrings of the last user message or of what the tools called last have given, all of them, in any
    case. `turn`: the number of assistant messages so far. Both empty: always. `fault`: see `faults`. `latency`:
    seconds, instead of the provider's.
    """

    when: tuple[str, ...] = ()
    turn: int | None = None
    text: str | None = None
    calls: tuple[Call, ...] = ()
    fault: str = ""
    latency: float | None = None

    def __post_init__(self) -> None:
        """Refuse a fault that is no fault now rather than in the middle of a run."""
        faults.parse(self.fault)

    def fits(self, conversation: Conversation) -> bool:
        """Return whether this step answers that request."""
        said = f"{conversation.user}\n{conversation.told}".lower()
        return self.turn in (None, conversation.turn) and all(part.lower() in said for part in self.when)


@dataclass(frozen=True, slots=True)
class Script:
    """The steps in order; the first that fits answers. `refuses`: members of a request that are answered with a 400."""

    steps: tuple[Step, ...] = ()
    refuses: tuple[str, ...] = ()

    def step_for(self, conversation: Conversation) -> Step | None:
        """Find the step that answers, or None to leave it to the random model."""
        return next((step for step in self.steps if step.fits(conversation)), None)

    @classmethod
    def load(cls, path: str | Path) -> "Script":
        """Read a JSON or TOML file; ScriptError says in one line what is wrong with it."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
            return cls.from_data(data)
        except (OSError, ValueError) as error:
            raise ScriptError(f"{path}: {error}") from error

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Script":
        """Build a script from what JSON or TOML gave."""
        _known(data, ("steps", "refuses"), "script")
        refuses = data.get("refuses", ())
        if isinstance(refuses, str):
            raise ScriptError(f"what a script refuses is a list, not {refuses!r} (provider-script)")
        return cls(tuple(_step(step) for step in data.get("steps", ())), tuple(map(str, refuses)))

    def to_data(self) -> dict[str, Any]:
        """Return what `from_data` reads."""
        return {"steps": [_step_data(step) for step in self.steps], "refuses": list(self.refuses)}


def _step(data: Mapping[str, Any]) -> Step:
    _known(data, tuple(field.name for field in fields(Step)), "step")
    when = data.get("when", ())
    calls = tuple(_call(call) for call in data.get("calls", ()))
    return Step(**{**data, "when": (when,) if isinstance(when, str) else tuple(when), "calls": calls})


def _call(data: Mapping[str, Any]) -> Call:
    _known(data, ("name", "arguments"), "call")
    if "name" not in data:
        raise ScriptError('a call has no name: add "name" (provider-script)')
    arguments = data.get("arguments", {})
    return Call(data["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))


def _step_data(step: Step) -> dict[str, Any]:
    calls = [{"name": call.name, "arguments": call.arguments} for call in step.calls]
    plain = {"turn": step.turn, "text": step.text, "fault": step.fault, "latency": step.latency}
    return {**plain, "when": list(step.when), "calls": calls}


def _known(data: Mapping[str, Any], keys: tuple[str, ...], what: str) -> None:
    if not isinstance(data, Mapping):
        raise ScriptError(f"a {what} must be a table, not {data!r} (provider-script)")
    for key in data:
        if key not in keys:
            nearest = get_close_matches(str(key), keys, 1, 0)[0]
            raise ScriptError(f"unknown key {key!r} in a {what}: did you mean {nearest!r}? (provider-script)")
