"""The command `autochron judge`: its options, and the calls that do the work."""

from __future__ import annotations

import os
import sys
from itertools import count

from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.cli.option_values import as_written
from autochron.errors import UsageError
from autochron.judging.judgement import Judge, read_threshold
from autochron.judging.labels import read_labels
from autochron.judging.measuring import measure
from autochron.judging.settings import mode_in_force, read_mode


def judge(arguments: list[str]) -> int:
    """Run `autochron judge`: have a model judge labelled subjects, and measure how far it agrees with the labels.

    Returns:
        The exit status: 0 if all were judged, 1 if some got no verdict.

    Raises:
        UsageError: an option is wrong or missing.
        LabelsError: the file of labels can't be read.
        JudgeError: the model can't be asked.
    """
    options = parser().read(arguments)
    words = options.words
    if len(words) != 1:
        fact = "wants a file of labels" if not words else f"takes one file of labels, not {len(words)}"
        raise UsageError(
            f"autochron judge {fact}: autochron judge labels.jsonl --model openai:NAME --rubric TEXT"
        )
    if options.model is None:
        raise UsageError("autochron judge wants --model, such as --model openai:gpt-5-mini")
    file = words[0]
    labels = read_labels(file, _rubric(options.rubric))
    mode = mode_in_force("record") if options.mode is None else read_mode(options.mode, "--mode")
    record = options.record or f"{os.path.splitext(file)[0]}.judged.jsonl"
    from autochron.report.judge import write_measured  # lazy: not for a usage error
    from autochron.report.work_progress import WorkProgress

    with (
        Judge(options.model, record, base_url=options.base_url, mode=mode) as judging,
        WorkProgress("judging", "labels", quiet=options.quiet) as progress,
    ):
        done = count(1)
        measured = measure(judging, labels, options.threshold, lambda: progress.show(next(done), len(labels)))
    write_measured(measured, sys.stdout, as_json=options.json, whole=options.verbose)
    return 1 if measured.unjudged else 0


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "judge",
        "LABELS.jsonl --model MODEL [OPTION ...]",
        "Have a model judge what people have labelled, and measure how far both agree. A line of the labels is "
        '{"subject": ..., "label": true, false or a number from 0 to 1}, with a "rubric" of its own where --rubric '
        "isn't for it. Judgements are kept, so a second run calls no model.",
        examples=(
            (
                "autochron judge labels.jsonl --model openai:gpt-5-mini --rubric @rubric.txt",
                "what is missing is judged by the model",
            ),
            ("autochron judge labels.jsonl --model openai:gpt-5-mini --mode replay", "call no model"),
        ),
        shape=shapes.JUDGE,
    )
    parser.section("the model")
    parser.add_value(
        "--model", "MODEL", "openai:NAME for an OpenAI-compatible endpoint, or pydantic-ai:PROVIDER:NAME"
    )
    parser.add_value("--base-url", "URL", "the endpoint", unless_given="OPENAI_BASE_URL")
    parser.add_value(
        "--mode",
        "MODE",
        "replay: call no model; record: judge what is missing; rewrite: judge all anew",
        choices=("replay", "record", "rewrite"),
        unless_given="AUTOCHRON_JUDGE, or record",
        read=as_written,
    )
    parser.section("the judgement")
    parser.add_value("--rubric", "TEXT", "what a good subject is; @FILE reads it from a file")
    parser.add_value("--threshold", "SCORE", "the least score that passes", read=_threshold, default=0.5)
    parser.add_value(
        "--record",
        "FILE",
        "the trace file of the judgements",
        unless_given="LABELS.judged.jsonl beside the labels",
    )
    return parser


def _threshold(text: str, option: str) -> float:
    try:
        return read_threshold(float(text))
    except ValueError:
        raise UsageError(f"{option} takes a number from 0 to 1, not {text}") from None


def _rubric(text: str | None) -> str | None:
    if text is None or not text.startswith("@"):
        return text
    try:
        with open(text[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"autochron judge: the rubric can't be read from {text[1:]} ({error}); give --rubric TEXT or @FILE"
        ) from error
