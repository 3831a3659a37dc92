"""The judge's process: it reads questions from standard input, one line of JSON each, and writes a line of JSON for each.

What the SDKs print goes to standard error, so that answers stand alone.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from autochron.errors import JudgeError
from autochron.judging.speakers import JudgeRequest, Speaker, speaker_for
from autochron.judging.verdict import ask


def main() -> None:
    """Answer until there are no more questions."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    speakers: dict[tuple[str, str | None], Speaker] = {}
    for line in sys.stdin.buffer:
        asking = msgspec.json.decode(line, type=JudgeRequest)
        answers.write(msgspec.json.encode(_answered(asking, speakers)) + b"\n")
        answers.flush()


def _answered(asking: JudgeRequest, speakers: dict[tuple[str, str | None], Speaker]) -> dict[str, Any]:
    try:
        key = (asking.model, asking.base_url)
        speaker = speakers.get(key) or speakers.setdefault(key, speaker_for(asking))
        verdict = ask(speaker.begin(), asking.prompt, asking.model)
    except JudgeError as error:
        return {"error": error.message, "slug": error.slug}
    return {
        "score": verdict.score,
        "reason": verdict.reason,
        "usage": verdict.usage,
        "sampling": speaker.sampling,
        "sdk": speaker.sdk,
    }


if __name__ == "__main__":
    main()
