"""Clients for the judge's models: an OpenAI-compatible endpoint, or any model of pydantic-ai. Runs in the judge's process.

A client begins a conversation and returns a function that sends a prompt in it. The two packages are optional and slow to
import, so each is imported when a model needs it.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any, Protocol

from msgspec import Struct

from autochron.errors import JudgeError, JudgeSetupError
from autochron.judging.question import SYSTEM
from autochron.judging.verdict import SCHEMA, JudgeReply, SendPrompt
from autochron.redaction.redactor import Redactor

OPENAI, PYDANTIC_AI = "openai:", "pydantic-ai:"
_KEY = "OPENAI_API_KEY"
_TIMEOUT = 120.0
"""Seconds that one request may take. The OpenAI SDK retries twice."""

_REFUSED = (400, 422)
_OPTION_WORDS = {"response_format": ("response_format", "json_schema"), "temperature": ("temperature",)}
"""Words in an endpoint's error message by which it names an option that it doesn't support."""


class JudgeRequest(Struct, frozen=True):
    """One request to the judge's process: one line of JSON."""

    model: str
    prompt: str
    base_url: str | None = None
    placeholders: tuple[str, ...] = ()
    """Environment variables that the process doesn't get, because they held a replay's placeholder."""


class ModelClient(Protocol):
    """A client of one model."""

    sdk: str
    """The SDK's name and version."""

    @property
    def sampling(self) -> dict[str, Any]:
        """The sampling parameters that the model accepted."""

    def begin(self) -> SendPrompt:
        """Begin a conversation."""


def client_for(request: JudgeRequest) -> ModelClient:
    """Return a client for the request's model.

    Raises:
        JudgeSetupError: the model's name is unknown, or a package or a key is missing.
    """
    if request.model.startswith(OPENAI):
        return ChatCompletions(request)
    return PydanticAI(request)


class ChatCompletions:
    """A client of an endpoint that implements OpenAI's chat completions.

    The request asks for JSON by schema, and for temperature 0. Some endpoints and models support neither and refuse it. Then
    the request is repeated without the option that the error message names, or without the next one if it names none.
    """

    def __init__(self, request: JudgeRequest) -> None:
        try:
            import openai
        except ImportError as error:
            raise JudgeSetupError(
                f"{request.model} needs the package openai ({error}); pip install 'autochron[judge]'"
            ) from error
        if not os.environ.get(_KEY):
            raise JudgeSetupError(_missing_key(_KEY, request))
        self._request = request
        self._name = request.model.removeprefix(OPENAI)
        self._openai = openai
        self._client = openai.OpenAI(base_url=request.base_url, timeout=_TIMEOUT)
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
        """The temperature, if the model accepted it."""
        return {name: value for name, value in self._options.items() if name == "temperature"}

    def begin(self) -> SendPrompt:
        """Begin a conversation."""
        messages: list[dict[str, str]] = [{"role": "system", "content": SYSTEM}]

        def send(prompt: str) -> JudgeReply:
            messages.append({"role": "user", "content": prompt})
            completion = self._complete(messages)
            text = (completion.choices[0].message.content or "") if completion.choices else ""
            messages.append({"role": "assistant", "content": text})
            usage = {} if completion.usage is None else completion.usage.model_dump()
            return JudgeReply(text, {name: count for name, count in usage.items() if isinstance(count, int)})

        return send

    def _complete(self, messages: list[dict[str, str]]) -> Any:
        options, first_error = dict(self._options), None
        while True:
            try:
                completion = self._client.chat.completions.create(
                    model=self._name,
                    messages=messages,  # type: ignore[arg-type]  # the SDK has a type for each role
                    **options,
                )
            except self._openai.OpenAIError as error:
                first_error = first_error or error
                refused = _refused_option(error, options)
                if refused is None:
                    raise self._explain(first_error) from error
                del options[refused]
            else:
                self._options = options
                return completion

    def _explain(self, error: Exception) -> JudgeError:
        message = " ".join(str(error).split())
        place = Redactor().mask_url(str(self._client.base_url).rstrip("/"))
        if getattr(error, "status_code", None) in {401, 403}:
            return JudgeSetupError(
                f"{place} refuses the key in {_KEY} for {self._name}: {message}; set another"
            )
        if getattr(error, "status_code", None) == 404:
            return JudgeSetupError(
                f"{place} has no model {self._name}: {message}; name another, or another base_url"
            )
        return JudgeError(f"{self._request.model} at {place} didn't answer: {message}; try again later")


class PydanticAI:
    """A client of a model by its name in pydantic-ai. Only the prompt asks for JSON, because every provider supports that."""

    def __init__(self, request: JudgeRequest) -> None:
        try:
            import pydantic_ai
        except ImportError as error:
            raise JudgeSetupError(
                f"{request.model} needs the package pydantic-ai ({error}); pip install pydantic-ai"
            ) from error
        if request.base_url is not None:
            raise JudgeSetupError(
                f"base_url is for openai: models, and {request.model} has it from its provider's environment; leave it out"
            )
        self._request = request
        self._settings: Any = {"temperature": 0.0, "timeout": _TIMEOUT}
        try:
            name = request.model.removeprefix(PYDANTIC_AI)
            self._agent = pydantic_ai.Agent(name, system_prompt=SYSTEM)
        except Exception as error:  # from pydantic-ai, or from the provider's SDK, which it constructs
            raise JudgeSetupError(
                f"{request.model} can't be asked: {_describe(error)}{_placeholder_hint(request)}"
            ) from error
        self.sdk = f"pydantic-ai {_version()}"

    @property
    def sampling(self) -> dict[str, Any]:
        """The temperature, if the model accepted it."""
        return {name: value for name, value in self._settings.items() if name == "temperature"}

    def begin(self) -> SendPrompt:
        """Begin a conversation."""
        history: list[Any] = []

        def send(prompt: str) -> JudgeReply:
            result = self._run(prompt, history)
            history[:] = result.all_messages()
            usage = result.usage() if callable(result.usage) else result.usage
            counts = {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")}
            return JudgeReply(str(result.output), {name: count for name, count in counts.items() if count})

        return send

    def _run(self, prompt: str, history: list[Any]) -> Any:
        while True:
            try:
                return self._agent.run_sync(prompt, message_history=history, model_settings=self._settings)
            except Exception as error:
                if getattr(error, "status_code", None) in _REFUSED and "temperature" in self._settings:
                    del self._settings["temperature"]
                    continue
                raise JudgeError(
                    f"{self._request.model} didn't answer: {_describe(error)}; try again later"
                ) from error


def _refused_option(error: Exception, options: dict[str, Any]) -> str | None:
    """Return the option that an endpoint may have refused; None if the error is no refusal or no option is left."""
    if getattr(error, "status_code", None) not in _REFUSED:
        return None
    message = str(error).lower()
    mentioned = (name for name in options if any(word in message for word in _OPTION_WORDS[name]))
    return next(mentioned, next(iter(options), None))


def _version() -> str:
    try:
        return version("pydantic-ai-slim")
    except Exception:  # the package was installed from another distribution
        return "?"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _missing_key(name: str, request: JudgeRequest) -> str:
    if name in request.placeholders:
        return f"{name} holds no more than a replay's placeholder, so {request.model} has no key; set it to a real one"
    return f"{name} isn't set, so {request.model} has no key; set it (an endpoint that wants none takes any value)"


def _placeholder_hint(request: JudgeRequest) -> str:
    if not request.placeholders:
        return ""
    return f" (taken for unset, as they hold a replay's placeholder: {', '.join(request.placeholders)})"
