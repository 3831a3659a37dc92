"""`autochron judge`."""

from __future__ import annotations

import os
import sys

from autochron.cli.options import FLAG, VALUE, parse
from autochron.errors import UsageError
from autochron.judging.judgement import Judge, read_threshold
from autochron.judging.labels import read_labels
from autochron.judging.measuring import measure
from autochron.judging.settings import mode_in_force, read_mode

HELP = """\
usage: autochron judge LABELS.jsonl --model MODEL [--rubric TEXT|@FILE] [OPTION ...]

Have a model judge what people have labelled, and measure how far both agree. A line of the labels is
{"subject": ..., "label": true, false or a number from 0 to 1}, with a "rubric" of its own where --rubric isn't for it.
Judgements are kept, so a second run calls no model. 0: all were judged; 1: some got no verdict.

  --model MODEL      openai:NAME for an OpenAI-compatible endpoint, or pydantic-ai:PROVIDER:NAME
  --base-url URL     the endpoint; default OPENAI_BASE_URL
  --rubric TEXT      what a good subject is; @FILE reads it from a file
  --threshold SCORE  the least score that passes; default 0.5
  --record FILE      the trace file of the judgements; default LABELS.judged.jsonl beside the labels
  --mode MODE        replay (call no model), record (what is missing) or rewrite (all); default AUTOCHRON_JUDGE, or record
  --json             the result as JSON, with every disagreement
"""

_OPTIONS = {
    "--model": VALUE, "--base-url": VALUE, "--rubric": VALUE, "--threshold": VALUE, "--record": VALUE, "--mode": VALUE,
    "--json": FLAG, "--help": FLAG, "-h": FLAG,
}  # fmt: skip


def judge(arguments: list[str]) -> int:
    """Measure a judge against labels."""
    parsed = parse("judge", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    if len(parsed.rest) != 1:
        said = (
            "wants a file of labels"
            if not parsed.rest
            else f"takes one file of labels, not {len(parsed.rest)}"
        )
        raise UsageError(
            f"autochron judge {said}: autochron judge labels.jsonl --model openai:NAME --rubric TEXT"
        )
    given = parsed.values
    if "--model" not in given:
        raise UsageError("autochron judge wants --model, such as --model openai:gpt-5-mini")
    file = parsed.rest[0]
    threshold = _threshold(given.get("--threshold", "0.5"))
    labels = read_labels(file, _rubric(given.get("--rubric")))
    mode = read_mode(given["--mode"], "--mode") if "--mode" in given else mode_in_force("record")
    record = given.get("--record") or f"{os.path.splitext(file)[0]}.judged.jsonl"
    from autochron.report.judge import progress_on, write_measured  # lazy: after what may be refused

    with (
        Judge(given["--model"], record, base_url=given.get("--base-url"), mode=mode) as asked,
        progress_on(sys.stderr, len(labels)) as progress,
    ):
        measured = measure(asked, labels, threshold, progress)
    write_measured(measured, sys.stdout, as_json="--json" in parsed.flags)
    return 1 if measured.unjudged else 0


def _threshold(text: str) -> float:
    try:
        return read_threshold(float(text))
    except ValueError:
        raise UsageError(f"autochron judge: --threshold takes a number from 0 to 1, not {text}") from None


def _rubric(given: str | None) -> str | None:
    if given is None or not given.startswith("@"):
        return given
    try:
        with open(given[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"autochron judge: the rubric can't be read from {given[1:]} ({error}); give --rubric TEXT or @FILE"
        ) from error
