"""The planner behind the endpoints: it numbers and counts the requests, and decides how each is answered.

All randomness of a request comes from the seed and the request's ordinal, so that one seed gives the same answers to the same
sequence of requests. Faults and answers are drawn from separate generators: the wording does not depend on the rate limit.
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
_MAX_EARLIER = 4096


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One request as it came in.

    Attributes:
        path: the path of the URL.
        headers: the headers, whose names are in lower case.
        body: the body.
        form: the path template of its wire form, such as `/model/{model}/converse`.
        parameters: the values in `path` of the template's parameters.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    form: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send in answer to one request.

    Attributes:
        status: the HTTP status.
        request_id: the id for the headers.
        body: the JSON body, if there are no events.
        events: the events of a stream.
        media: the content type.
        latency: seconds to wait first; None for a random latency.
        faults: names of the faults that spoil the answer; see `faults`.
        retry_after_ms: milliseconds for the header `retry-after-ms`; None for no such header.
        headers: more headers.
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
class _EarlierResponse:
    turn: int
    user: str


class RequestPlanner:
    """The state of one provider: its counters, and the earlier responses that a request may continue."""

    def __init__(self, settings: Settings, forms: Mapping[str, WireForm]) -> None:
        """Make a planner with all counters at zero. Without a seed in the settings, a random one is drawn."""
        self._settings = settings
        self._forms = forms
        self.seed = secrets.randbits(32) if settings.seed is None else settings.seed
        self.reset()

    def reset(self) -> None:
        """Set all counters to zero. The next request counts as the first one."""
        self._ordinal = 0
        self._endpoints: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()
        self._earlier: dict[str, _EarlierResponse] = {}

    def stats(self) -> Stats:
        """Return the counts of the requests so far."""
        endpoints, statuses = (tuple(sorted(counts.items())) for counts in (self._endpoints, self._statuses))
        return Stats(self._endpoints.total(), endpoints, statuses, self.seed)

    def plan(self, inquiry: Inquiry) -> Plan:
        """Count a request and plan its answer."""
        self._ordinal += 1
        self._endpoints[inquiry.path] += 1
        fault_rng = random.Random(f"{self.seed}/{self._ordinal}/weather")
        rng = random.Random(f"{self.seed}/{self._ordinal}/reply")
        request_id = f"req_{fault_rng.getrandbits(96):024x}"
        is_limited = fault_rng.random() < self._settings.rate_limit
        latency = fault_rng.uniform(*self._settings.latency)
        try:
            plan = self._answer(inquiry, request_id, rng)
        except (BadRequestError, ScriptError) as error:
            plan = _refusal(inquiry.path, request_id, _BAD_REQUEST, str(error))
        if is_limited and plan.status == _OK:
            plan = _refusal(
                inquiry.path, request_id, _TOO_MANY, "Rate limit reached", fault_rng.randint(1, 20)
            )
        self._statuses[next(iter(plan.faults & {"disconnect", "stall"}), str(plan.status))] += 1
        return replace(plan, latency=latency if plan.latency is None else plan.latency)

    def _answer(self, inquiry: Inquiry, request_id: str, rng: random.Random) -> Plan:
        header = faults.parse(inquiry.headers.get("x-loopback", ""))
        if inquiry.path == "/v1/files":
            body = plain.upload(inquiry.body, inquiry.headers.get("content-type", ""), rng)
            return self._with_faults(Plan(_OK, request_id, body), header, inquiry)
        request = _json(inquiry.body)
        if inquiry.path == "/v1/embeddings":
            return self._with_faults(Plan(_OK, request_id, plain.embeddings(request, rng)), header, inquiry)
        for name in self._settings.script.refuses:
            if name in request:
                raise BadRequestError(f"Unsupported parameter: '{name}' is not supported with this model.")
        form = self._forms[inquiry.form]
        request |= inquiry.parameters
        if form.stream is not None:
            request["stream"] = form.stream
        conversation = self._with_earlier(form.read(request))
        step = self._settings.script.step_for(conversation)
        answer = reply.make(conversation, step, rng)
        self._remember(answer.token, conversation)
        if conversation.stream:
            plan = Plan(
                _OK, request_id, events=tuple(form.events(answer, conversation, rng)), media=form.media
            )
        else:
            plan = Plan(_OK, request_id, form.body(answer, conversation, rng))
        if step is None:
            return self._with_faults(plan, header, inquiry)
        plan = replace(plan, latency=step.latency)
        return self._with_faults(plan, header or faults.parse(step.fault), inquiry)

    def _with_faults(self, plan: Plan, requested: tuple[Fault, ...], inquiry: Inquiry) -> Plan:
        if not requested:
            return plan
        hits = faults.of_attempt(requested, self._attempt(inquiry))
        for fault in hits:
            if fault.status is not None:
                refusal = _refusal(inquiry.path, plan.request_id, fault.status, f"{fault.name} on request", 1)
                return replace(refusal, latency=plan.latency)
        return replace(plan, faults=frozenset(fault.name for fault in hits))

    def _attempt(self, inquiry: Inquiry) -> int:
        """Return the number of earlier attempts of this request: the SDK's own count, or by idempotency key or content."""
        retry_count = inquiry.headers.get("x-stainless-retry-count", "")
        if retry_count.isdecimal():
            return int(retry_count)
        digest = hashlib.sha256(inquiry.path.encode() + inquiry.body).hexdigest()
        key = inquiry.headers.get("idempotency-key", digest)
        self._attempts[key] += 1
        return self._attempts[key] - 1

    def _with_earlier(self, conversation: Conversation) -> Conversation:
        """Return the conversation with turn and user of the response that it continues (`previous_response_id`)."""
        previous_id = conversation.request.get("previous_response_id")
        earlier = self._earlier.get(str(previous_id).removeprefix("resp_"))
        if earlier is None:
            return conversation
        turn = conversation.turn + earlier.turn + 1
        return replace(conversation, turn=turn, user=conversation.user or earlier.user)

    def _remember(self, token: str, conversation: Conversation) -> None:
        self._earlier[token] = _EarlierResponse(conversation.turn, conversation.user)
        if len(self._earlier) > _MAX_EARLIER:
            del self._earlier[next(iter(self._earlier))]


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
