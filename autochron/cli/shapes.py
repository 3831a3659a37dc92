"""The keys of what each command writes with `--json`, with their meanings. The help and the documentation show them.

The keys stand in the order of the output. tests/cli/test_json_outputs.py compares them with what the commands write.
"""

from __future__ import annotations

from typing import TypeAlias

Shape: TypeAlias = tuple[tuple[str, str], ...]

RUN: Shape = (
    ("trace", "the trace's id"),
    ("store", "the URL of the store"),
    ("counts", "pairs of a boundary and how many of its crossings are in the store"),
    ("footer", "what was known at the end: status, findings, effects, versions and so on"),
    ("crossings", "how many there were, with those that were lost"),
    ("opaque", "what a replay can't rebuild"),
    ("by_type", "what is compared by its type only"),
    ("masked", "what was masked in outcomes"),
    ("requests", "how many calls have a trace of their own"),
    ("problems", "faults of autochron's own"),
    ("kept", "whether the trace is in the store"),
    ("stale", "ignores that don't apply any more"),
    ("failed", "the last crossing that raised, if the program ended with an error"),
)

REPLAY: Shape = (
    ("trace", "the trace's id"),
    ("same", "whether replay and record agree"),
    ("status", "the program's exit status"),
    ("crossings", "how many crossings the replay had"),
    ("complete", "whether the trace has an end to compare with"),
    ("live", "the addresses of the crossings that ran for real"),
    ("opened", "how many crossings ran their bodies without being live"),
    ("invented", "how many clock and random values without a record were made up"),
    ("recorded_status", "the exit status of the recorded run; null where it is not known"),
    ("divergences", "each with kind, severity, the crossing, and what differs"),
    ("problems", "faults of autochron's own"),
    ("findings", "calls outside every boundary that were not there when it was recorded"),
    ("evidence", "what was observed about live crossings besides their outcomes"),
    ("swallowed", "crashes in the project's code that the project caught itself"),
    ("uncaught", "the type of the exception that ended the program; null if none"),
    ("stopped", "whether that is an error of autochron"),
    ("broke", "the error if the program crashed; null if not"),
    ("sources", "the files of the project that were imported"),
    ("typed", "whether the trace has the types of inputs"),
    ("effects", "how many files and databases were changed on the scratch copy"),
    ("allowed", "how many programs, connections, signals and files were let be"),
)

CHECK: Shape = (
    ("version", "that of this form"),
    ("findings", "the calls that nothing covers: call, site, category and so on"),
    ("unread", "the files that don't parse"),
    ("stale", "ignores that don't apply any more"),
    ("files", "how many files were read"),
    ("lines", "how many lines they have"),
    ("harmless", "the findings whose value reaches nothing that a run shows"),
    ("accepted", "how many findings the baseline accepts"),
    ("gone", "how many findings of the baseline are there no more; null without one"),
    ("coverage", "covered, total and percent"),
)

IMPACT: Shape = (
    ("version", "that of this form"),
    ("trace", "the trace's id"),
    ("sites", "each with its call, category, effect (null: harmless) and the rule that would help"),
    ("replays", "how many replays were made"),
    ("problems", "what should be known of the result"),
    ("harmful", "how many sites have an effect"),
    ("fix", "with --fix: the file, how many rules were added, and what is left"),
)

JUDGE: Shape = (
    ("model", "the model"),
    ("record", "the file of the judgements"),
    ("threshold", "the least score that passes"),
    ("n", "how many labels have a verdict"),
    ("called", "for how many of them the model was called"),
    ("agreement", "the share of labels that agree; null without any"),
    ("interval", "its 95 % interval"),
    ("kappa", "Cohen's kappa"),
    ("confusion", "counts of good and bad labels that passed and failed"),
    ("numbers", "how many labels are numbers"),
    ("mean_absolute_error", "of these"),
    ("spearman", "Spearman's rho of these"),
    ("disagreements", "each with its line, label, score and reason"),
    ("unjudged", "the labels without a verdict: line and why"),
)

INIT: Shape = (
    ("rules", "the rule file"),
    ("written", "whether it was written; false if it was there already"),
    ("tools", "a list: name and places of each tool; is_certain is false where you have to choose"),
    ("packs", "by pack: the place that imports its library"),
    ("project", "the paths of your own code"),
    ("lacks", "the lines that the rules lack, if they were there already"),
    ("gitignore", "whether .autochron/ was added to .gitignore"),
    ("next", "the commands to go on with"),
)

RULES: Shape = (
    ("rule", "the rule"),
    (
        "fits",
        "what it fits: place, qualname; crossings in the latest trace by this rule (crossed) and by any (place_crossed)",
    ),
    ("remark", "why it fits nothing; null if it does"),
    ("is_installed", "false for a target in a library that is not installed"),
    ("place", "--explain: file and line"),
    ("what", "--explain: the call or the definition"),
    ("considered", "--explain: each rule, whether it fits, and why not"),
    ("crossed", "--explain: how often the latest trace crossed it; null without one"),
    ("group", "--suggest: blocking, found, harmful or rest"),
    ("table", "--suggest: the table as text"),
    ("reason", "--suggest: what is known of a tool"),
    ("sites", "--suggest: the calls that it covers"),
    ("is_certain", "--suggest: whether no other table could be meant"),
    ("written", "--suggest: whether it was written into the rules (--yes)"),
)

MUTATE: Shape = (
    ("digest", "of all that the results depend on"),
    ("incidents", "each with its results, mutant by mutant"),
    ("methods", "the ways of testing that are compared"),
    ("operators", "the set of operators"),
    ("shard", "which part of how many"),
    ("version", "that of this form"),
)

DOCTOR: Shape = (
    ("verdict", "ok, warning or problem: the gravest of the checks"),
    ("checks", "a list: name, verdict, found and remedy (empty where it is ok) of each"),
)
