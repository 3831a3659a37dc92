"""The desk behind the endpoints: it numbers the requests, counts them, and decides what each one gets.

All randomness of a request comes from the seed and the request's ordinal, so that one seed gives the same
answers to the same sequence of requests. What goes wrong is drawn apart from what is said: the same wording
comes with any rate limit.
"""

import hashlib
import json
import random
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autochron.provider import faults, plain, reply
from autochron.provider.conversation import BadRequestError, Conversation, Json
from autochron.provider.errors import ScriptError
from autochron.provider.faults import Fault
from autochron.provider.settings import Settings, Stats
from autochron.provider.wire import WireForm, error_body, error_headers

_OK = 200
_BAD_REQUEST, _TOO_MANY = 400, 429
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One request as it came in; header names are in lower case.

    `form` is the path of the form that it is in, and `parameters` what stands in its own path for those of the form.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    form: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send: a body or the events of a stream, after `latency` seconds, spoilt by `faults`.

    `latency` None: as the provider draws it.
    """

    status: int
    request_id: str
    body: Json = field(default_factory=dict)
    events: tuple[bytes, ...] = ()
    media: str = "application/json"
    latency: float | None = None
    faults: frozenset[str] = frozenset()
    retry_after_ms: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Past:
    turn: int
    user: str


class Desk:
    """The state of one provider: its counters, and what it remembers of responses that may be continued."""

    def __init__(self, settings: Settings, forms: Mapping[str, WireForm]) -> None:
        """Open with everything at zero; without a seed in the settings, one is drawn."""
        self._settings = settings
        self._forms = forms
        self.seed = secrets.randbits(32) if settings.seed is None else settings.seed
        self.reset()

    def reset(self) -> None:
        """Start over: the next request is the first one again."""
        self._ordinal = 0
        self._endpoints: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()
        self._past: dict[str, _Past] = {}

    def stats(self) -> Stats:
        """Sum up the requests so far."""
        endpoints, statuses = (tuple(sorted(counts.items())) for counts in (self._endpoints, self._statuses))
        return Stats(self._endpoints.total(), endpoints, statuses, self.seed)

    def plan(self, inquiry: Inquiry) -> Plan:
        """Decide what a request gets, and count it."""
        self._ordinal += 1
        self._endpoints[inquiry.path] += 1
        weather = random.Random(f"{self.seed}/{self._ordinal}/weather")
        rng = random.Random(f"{self.seed}/{self._ordinal}/reply")
        request_id = f"req_{weather.getrandbits(96):024x}"
        limited = weather.random() < self._settings.rate_limit
        latency = weather.uniform(*self._settings.latency)
        try:
            plan = self._answer(inquiry, request_id, rng)
        except (BadRequestError, ScriptError) as error:
            plan = _refusal(inquiry.path, request_id, _BAD_REQUEST, str(error))
        if limited and plan.status == _OK:
            plan = _refusal(inquiry.path, request_id, _TOO_MANY, "Rate limit reached", weather.randint(1, 20))
        self._statuses[next(iter(plan.faults & {"disconnect", "stall"}), str(plan.status))] += 1
        return replace(plan, latency=latency if plan.latency is None else plan.latency)

    def _answer(self, inquiry: Inquiry, request_id: str, rng: random.Random) -> Plan:
        header = faults.parse(inquiry.headers.get("x-loopback", ""))
        if inquiry.path == "/v1/files":
            body = plain.upload(inquiry.body, inquiry.headers.get("content-type", ""), rng)
            return self._spoilt(Plan(_OK, request_id, body), header, inquiry)
        request = _json(inquiry.body)
        if inquiry.path == "/v1/embeddings":
            return self._spoilt(Plan(_OK, request_id, plain.embeddings(request, rng)), header, inquiry)
        for name in self._settings.script.refuses:
            if name in request:
                raise BadRequestError(f"Unsupported parameter: '{name}' is not supported with this model.")
        form = self._forms[inquiry.form]
        request |= inquiry.parameters
        if form.stream is not None:
            request["stream"] = form.stream
        conversation = self._continued(form.read(request))
        step = self._settings.script.step_for(conversation)
        said = reply.make(conversation, step, rng)
        self._remember(said.token, conversation)
        if conversation.stream:
            plan = Plan(_OK, request_id, events=tuple(form.events(said, conversation, rng)), media=form.media)
        else:
            plan = Plan(_OK, request_id, form.whole(said, conversation, rng))
        if step is None:
            return self._spoilt(plan, header, inquiry)
        plan = replace(plan, latency=step.latency)
        return self._spoilt(plan, header or faults.parse(step.fault), inquiry)

    def _spoilt(self, plan: Plan, wanted: tuple[Fault, ...], inquiry: Inquiry) -> Plan:
        if not wanted:
            return plan
        hits = faults.of_attempt(wanted, self._attempt(inquiry))
        for fault in hits:
            if fault.status is not None:
                refusal = _refusal(inquiry.path, plan.request_id, fault.status, f"{fault.name} on request", 1)
                return replace(refusal, latency=plan.latency)
        return replace(plan, faults=frozenset(fault.name for fault in hits))

    def _attempt(self, inquiry: Inquiry) -> int:
        """Count earlier attempts of this request: as its SDK does, or by idempotency key, or by content."""
        counted = inquiry.headers.get("x-stainless-retry-count", "")
        if counted.isdecimal():
            return int(counted)
        digest = hashlib.sha256(inquiry.path.encode() + inquiry.body).hexdigest()
        key = inquiry.headers.get("idempotency-key", digest)
        self._attempts[key] += 1
        return self._attempts[key] - 1

    def _continued(self, conversation: Conversation) -> Conversation:
        """Add what is remembered of the response that this request continues (`previous_response_id`)."""
        before = conversation.request.get("previous_response_id")
        past = self._past.get(str(before).removeprefix("resp_"))
        if past is None:
            return conversation
        turn = conversation.turn + past.turn + 1
        return replace(conversation, turn=turn, user=conversation.user or past.user)

    def _remember(self, token: str, conversation: Conversation) -> None:
        self._past[token] = _Past(conversation.turn, conversation.user)
        if len(self._past) > _REMEMBERED:
            del self._past[next(iter(self._past))]


def _json(body: bytes) -> Json:
    try:
        request = json.loads(body)
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise BadRequestError("the body must be a JSON object")
    return request


def _refusal(
    path: str, request_id: str, status: int, message: str, retry_after_ms: int | None = None
) -> Plan:
    return Plan(
        status,
        request_id,
        error_body(path, status, message),
        retry_after_ms=retry_after_ms,
        headers=error_headers(path, status),
    )
