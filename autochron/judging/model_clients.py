"""Who is asked: an OpenAI-compatible endpoint, or any model of pydantic-ai. Runs in the judge's own process.

A speaker begins a conversation and gives what says something in it. The two packages are optional, and slow to import, so
each is imported when a model asks for it.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any, Protocol

from msgspec import Struct

from autochron.errors import JudgeError, JudgeSetupError
from autochron.judging.question import SYSTEM
from autochron.judging.verdict import SCHEMA, JudgeReply, Say
from autochron.redaction.redactor import Redactor

OPENAI, PYDANTIC_AI = "openai:", "pydantic-ai:"
_KEY = "OPENAI_API_KEY"
_PATIENCE = 120.0
"""Seconds that one request may take; the SDK tries twice more."""

_REFUSED = (400, 422)
_WORDS = {"response_format": ("response_format", "json_schema"), "temperature": ("temperature",)}
"""How an endpoint names what it doesn't take."""


class JudgeRequest(Struct, frozen=True):
    """What the judge's process is asked: one line of JSON."""

    model: str
    prompt: str
    base_url: str | None = None
    placeholders: tuple[str, ...] = ()
    """The variables that were taken out of its environment because they held a replay's placeholder."""


class Speaker(Protocol):
    """One model."""

    sdk: str

    @property
    def sampling(self) -> dict[str, Any]:
        """Return the sampling parameters that the model took."""

    def begin(self) -> Say:
        """Begin a conversation."""


def speaker_for(asking: JudgeRequest) -> Speaker:
    """Find who is asked; JudgeSetupError where the name means nothing, or a package or a key is missing."""
    if asking.model.startswith(OPENAI):
        return ChatCompletions(asking)
    return PydanticAI(asking)


class ChatCompletions:
    """An endpoint that speaks OpenAI's chat completions.

    It is asked for JSON by schema and at temperature 0. Some endpoints and models take neither and refuse the request: then
    it is asked without what the refusal names, or without one after the other where it names none.
    """

    def __init__(self, asking: JudgeRequest) -> None:
        try:
            import openai
        except ImportError as error:
            raise JudgeSetupError(
                f"{asking.model} needs the package openai ({error}); pip install 'autochron[judge]'"
            ) from error
        if not os.environ.get(_KEY):
            raise JudgeSetupError(_missing(_KEY, asking))
        self._asking = asking
        self._name = asking.model.removeprefix(OPENAI)
        self._openai = openai
        self._client = openai.OpenAI(base_url=asking.base_url, timeout=_PATIENCE)
        self._options: dict[str, Any] = {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True},
            },
            "temperature": 0,
        }
        self.sdk = f"openai {openai.__version__}"

    @property
    def sampling(self) -> dict[str, Any]:
        """Return the temperature, where it was taken."""
        return {name: value for name, value in self._options.items() if name == "temperature"}

    def begin(self) -> Say:
        """Begin a conversation."""
        messages: list[dict[str, str]] = [{"role": "system", "content": SYSTEM}]

        def say(prompt: str) -> JudgeReply:
            messages.append({"role": "user", "content": prompt})
            completion = self._complete(messages)
            text = (completion.choices[0].message.content or "") if completion.choices else ""
            messages.append({"role": "assistant", "content": text})
            counted = {} if completion.usage is None else completion.usage.model_dump()
            return JudgeReply(text, {key: count for key, count in counted.items() if isinstance(count, int)})

        return say

    def _complete(self, messages: list[dict[str, str]]) -> Any:
        options, first = dict(self._options), None
        while True:
            try:
                completion = self._client.chat.completions.create(
                    model=self._name,
                    messages=messages,  # type: ignore[arg-type]  # by role, which the SDK has a type each for
                    **options,
                )
            except self._openai.OpenAIError as error:
                first = first or error
                unwanted = _unwanted(error, options)
                if unwanted is None:
                    raise self._explained(first) from error
                del options[unwanted]
            else:
                self._options = options
                return completion

    def _explained(self, error: Exception) -> JudgeError:
        said = " ".join(str(error).split())
        place = Redactor().mask_url(str(self._client.base_url).rstrip("/"))
        if getattr(error, "status_code", None) in {401, 403}:
            return JudgeSetupError(f"{place} refuses the key in {_KEY} for {self._name}: {said}; set another")
        if getattr(error, "status_code", None) == 404:
            return JudgeSetupError(
                f"{place} has no model {self._name}: {said}; name another, or another base_url"
            )
        return JudgeError(f"{self._asking.model} at {place} didn't answer: {said}; try again later")


class PydanticAI:
    """A model by its name in pydantic-ai. It is asked for JSON in words, which every provider takes."""

    def __init__(self, asking: JudgeRequest) -> None:
        try:
            import pydantic_ai
        except ImportError as error:
            raise JudgeSetupError(
                f"{asking.model} needs the package pydantic-ai ({error}); pip install pydantic-ai"
            ) from error
        if asking.base_url is not None:
            raise JudgeSetupError(
                f"base_url is for openai: models, and {asking.model} has it from its provider's environment; leave it out"
            )
        self._asking = asking
        self._settings: Any = {"temperature": 0.0, "timeout": _PATIENCE}
        try:
            name = asking.model.removeprefix(PYDANTIC_AI)
            self._agent = pydantic_ai.Agent(name, system_prompt=SYSTEM)
        except Exception as error:  # of pydantic-ai, or of the provider's SDK that it constructs
            raise JudgeSetupError(f"{asking.model} can't be asked: {_said(error)}{_hint(asking)}") from error
        self.sdk = f"pydantic-ai {_version()}"

    @property
    def sampling(self) -> dict[str, Any]:
        """Return the temperature, where it was taken."""
        return {name: value for name, value in self._settings.items() if name == "temperature"}

    def begin(self) -> Say:
        """Begin a conversation."""
        history: list[Any] = []

        def say(prompt: str) -> JudgeReply:
            result = self._run(prompt, history)
            history[:] = result.all_messages()
            usage = result.usage() if callable(result.usage) else result.usage
            counted = {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")}
            return JudgeReply(str(result.output), {name: count for name, count in counted.items() if count})

        return say

    def _run(self, prompt: str, history: list[Any]) -> Any:
        while True:
            try:
                return self._agent.run_sync(prompt, message_history=history, model_settings=self._settings)
            except Exception as error:
                if getattr(error, "status_code", None) in _REFUSED and "temperature" in self._settings:
                    del self._settings["temperature"]
                    continue
                raise JudgeError(
                    f"{self._asking.model} didn't answer: {_said(error)}; try again later"
                ) from error


def _unwanted(error: Exception, options: dict[str, Any]) -> str | None:
    """Name what an endpoint may have refused; None where that is no reason, or nothing is left."""
    if getattr(error, "status_code", None) not in _REFUSED:
        return None
    said = str(error).lower()
    named = (name for name in options if any(word in said for word in _WORDS[name]))
    return next(named, next(iter(options), None))


def _version() -> str:
    try:
        return version("pydantic-ai-slim")
    except Exception:  # another distribution of the same package
        return "?"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _missing(name: str, asking: JudgeRequest) -> str:
    if name in asking.placeholders:
        return f"{name} holds no more than a replay's placeholder, so {asking.model} has no key; set it to a real one"
    return f"{name} isn't set, so {asking.model} has no key; set it (an endpoint that wants none takes any value)"


def _hint(asking: JudgeRequest) -> str:
    if not asking.placeholders:
        return ""
    return f" (taken for unset, as they hold a replay's placeholder: {', '.join(asking.placeholders)})"
