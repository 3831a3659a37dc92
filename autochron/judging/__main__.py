"""The judge's process. It reads one request per line of standard input and writes one answer per line, both as JSON.

Whatever the SDKs print goes to standard error, so that only answers are on standard output.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from autochron.errors import JudgeError
from autochron.judging.model_clients import JudgeRequest, ModelClient, client_for
from autochron.judging.verdict import ask


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    clients: dict[tuple[str, str | None], ModelClient] = {}
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line, type=JudgeRequest)
        answers.write(msgspec.json.encode(_answered(request, clients)) + b"\n")
        answers.flush()


def _answered(request: JudgeRequest, clients: dict[tuple[str, str | None], ModelClient]) -> dict[str, Any]:
    try:
        key = (request.model, request.base_url)
        client = clients.get(key) or clients.setdefault(key, client_for(request))
        verdict = ask(client.begin(), request.prompt, request.model)
    except JudgeError as error:
        return {"error": error.message, "slug": error.slug}
    return {
        "score": verdict.score,
        "reason": verdict.reason,
        "usage": verdict.usage,
        "sampling": client.sampling,
        "sdk": client.sdk,
    }


if __name__ == "__main__":
    main()
