"""Scripts: the model's answers step by step, for tests and demos that need certain answers.

    {"steps": [{"turn": 0, "when": "refund", "text": "One moment, {please|I am looking}.",
                "calls": [{"name": "look_up_order", "arguments": {"order_id": "{number}"}}]},
               {"fault": "429*1", "text": "{random}"}]}

The first step that fits a request answers it. If none fits, the answer is random. In texts and arguments `{random}` is
replaced by a few words, `{id}` by a new id, `{number}` by the first number in the last user message, and `{a|b}` by a or b.
`{"$int": "{number}00"}` makes such a text an integer.

`"refuses": ["temperature"]` beside the steps makes an endpoint that refuses requests with these members.
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
    """A tool call in a reply. `arguments` is the text on the wire, so it may be malformed on purpose."""

    name: str
    arguments: str = "{}"

    @classmethod
    def of(cls, name: str, /, **arguments: object) -> "Call":
        """Make a call with its arguments as JSON."""
        return cls(name, json.dumps(arguments))


@dataclass(frozen=True, slots=True)
class Step:
    """One answer and the requests that it fits.

    Attributes:
        when: substrings that must all occur in the last user message or the last tool results, in any case.
        turn: the number of assistant messages so far; None for any.
        text: the text of the answer; None for none.
        calls: the tool calls of the answer.
        fault: faults of the answer; see `faults`.
        latency: seconds; None for the provider's latency.
    """

    when: tuple[str, ...] = ()
    turn: int | None = None
    text: str | None = None
    calls: tuple[Call, ...] = ()
    fault: str = ""
    latency: float | None = None

    def __post_init__(self) -> None:
        """Raise ScriptError for an unknown fault now, not in the middle of a run."""
        faults.parse(self.fault)

    def fits(self, conversation: Conversation) -> bool:
        """Return whether this step fits a request."""
        text = f"{conversation.user}\n{conversation.tool_results}".lower()
        return self.turn in (None, conversation.turn) and all(part.lower() in text for part in self.when)


@dataclass(frozen=True, slots=True)
class Script:
    """The steps in order, of which the first that fits a request answers it.

    Attributes:
        steps: the steps.
        refuses: members of a request that the endpoint refuses with status 400.
    """

    steps: tuple[Step, ...] = ()
    refuses: tuple[str, ...] = ()

    def step_for(self, conversation: Conversation) -> Step | None:
        """Return the first step that fits a request; None if the answer is to be random."""
        return next((step for step in self.steps if step.fits(conversation)), None)

    @classmethod
    def load(cls, path: str | Path) -> "Script":
        """Read a script from a JSON or TOML file.

        Raises:
            ScriptError: the file can't be read or is invalid.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
            return cls.from_data(data)
        except (OSError, ValueError) as error:
            raise ScriptError(f"{path}: {error}") from error

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Script":
        """Make a script from decoded JSON or TOML.

        Raises:
            ScriptError: the data is invalid.
        """
        _check_keys(data, ("steps", "refuses"), "script")
        refuses = data.get("refuses", ())
        if isinstance(refuses, str):
            raise ScriptError(f"refuses must be a list of names, not {refuses!r} (provider-script)")
        return cls(tuple(_step(step) for step in data.get("steps", ())), tuple(map(str, refuses)))

    def to_data(self) -> dict[str, Any]:
        """Return the script as data that `from_data` reads."""
        return {"steps": [_step_data(step) for step in self.steps], "refuses": list(self.refuses)}


def _step(data: Mapping[str, Any]) -> Step:
    _check_keys(data, tuple(field.name for field in fields(Step)), "step")
    when = data.get("when", ())
    calls = tuple(_call(call) for call in data.get("calls", ()))
    return Step(**{**data, "when": (when,) if isinstance(when, str) else tuple(when), "calls": calls})


def _call(data: Mapping[str, Any]) -> Call:
    _check_keys(data, ("name", "arguments"), "call")
    if "name" not in data:
        raise ScriptError('a call has no name: add "name" (provider-script)')
    arguments = data.get("arguments", {})
    return Call(data["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))


def _step_data(step: Step) -> dict[str, Any]:
    calls = [{"name": call.name, "arguments": call.arguments} for call in step.calls]
    plain = {"turn": step.turn, "text": step.text, "fault": step.fault, "latency": step.latency}
    return {**plain, "when": list(step.when), "calls": calls}


def _check_keys(data: Mapping[str, Any], keys: tuple[str, ...], kind: str) -> None:
    if not isinstance(data, Mapping):
        raise ScriptError(f"a {kind} must be a table, not {data!r} (provider-script)")
    for key in data:
        if key not in keys:
            nearest = get_close_matches(str(key), keys, 1, 0)[0]
            raise ScriptError(f"unknown key {key!r} in a {kind}: did you mean {nearest!r}? (provider-script)")
