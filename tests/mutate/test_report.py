"""The text report of a mutation study."""

import io
import re

import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.model import (
    METHODS,
    Behaviour,
    Canary,
    Crosscheck,
    Input,
    Kind,
    MutantVerdict,
    MutationTarget,
    Result,
    Sensitivity,
    family_of,
)
from autochron.mutate.operators import operator_names
from autochron.mutate.report.tallies import (
    BEHAVIOUR_DESCRIPTIONS,
    METHOD_DESCRIPTIONS,
    KillCount,
    changed_lines,
    difference_lines,
    families,
    interval,
    is_equivalent,
    is_refuted,
    kinds,
    place,
    refusal,
    suspicious,
    tally,
)
from autochron.mutate.report.text import write_study
from tests.mutate.studies import complete_study, diff, empty, mutant, refund, study, verdicts, with_result

WHOLE = """\
mutants of the operators extended
incident      generated  same bytecode  duplicates  tried
refund               17              3           1     13
stale_quote2          2              2           0      0
sum                  19              5           1     13

killed, of those tried
incident                      full-stub      mocks    cut-point   full-output       widened
refund                       0/13 0.0 %  0/1 0.0 %  8/13 61.5 %  10/13 76.9 %  11/13 84.6 %
stale_quote2                          -          -            -             -             -
sum                          0/13 0.0 %  0/1 0.0 %  8/13 61.5 %  10/13 76.9 %  11/13 84.6 %
without 1 argued equivalent  0/12 0.0 %  0/1 0.0 %  8/12 66.7 %  10/12 83.3 %  11/12 91.7 %

killed, of those that do harm, by family
family      full-stub      mocks    cut-point  full-output      widened
comparison  0/1 0.0 %          -  1/1 100.0 %  1/1 100.0 %  1/1 100.0 %
arithmetic  0/1 0.0 %  0/1 0.0 %    0/1 0.0 %  1/1 100.0 %  1/1 100.0 %

killed, of all, by family
family      full-stub      mocks   cut-point  full-output      widened
comparison  0/9 0.0 %          -  8/9 88.9 %   8/9 88.9 %   8/9 88.9 %
arithmetic  0/1 0.0 %  0/1 0.0 %   0/1 0.0 %  1/1 100.0 %  1/1 100.0 %
string      0/2 0.0 %          -   0/2 0.0 %   1/2 50.0 %   1/2 50.0 %
other       0/1 0.0 %          -   0/1 0.0 %    0/1 0.0 %  1/1 100.0 %

how the killed ones ended
method       assertion  divergence  crash  exit  time-out  memory  signal  compile  output  survived  not tried
full-stub            0           0      0     0         0       0       0        0       0        13          0
mocks                0           0      0     0         0       0       0        0       0         1         12
cut-point            1           1      1     1         1       1       1        1       0         5          0
full-output          1           1      1     1         1       1       1        1       2         3          0
widened              1           1      1     1         1       1       1        1       3         2          0

which argument can change what the fix decides, the others as in the incident
incident  argument      tried  flips  decision       example
refund    amount_cents      9      4  can change     amount_cents = 4000
refund    order_id          3      0  never changes

escapes: 1 of 2 mutants that let through what the guard is there to prevent; cut-point kills 1
  refund/guarded.py:3  core/NumberReplacer  000000000010
    -LIMIT = 4000
    +LIMIT = 999999
    escape: it lets through what the guard is there to prevent
    issue_refund#1 .status: "blocked" with the fix, "paid" with the mutant
    what would kill it: assert that nothing was paid
canaries: 3 of 3 hold
plain cosmic-ray: 2 of 2 agree

2 survivors of widened:
  refund/guarded.py:9  core/ReplaceComparisonOperator_LtE_Lt  000000000013
    -    if amount_cents <= 0:
    +    if amount_cents < 0:
    same: no input that was tried tells it from the fix
    what would kill it: try amount_cents = 0
  refund/guarded.py:11  autochron/StringConstant  000000000014
    -"paid"
    +'paid'
    same: no input that was tried tells it from the fix
    equivalent: both quotes make the same string

autochron: 13 mutants of 2 incidents: full-stub kills 0 of 13 (0.0 %), mocks kills 0 of 1 (0.0 %), \
cut-point kills 8 of 13 (61.5 %), full-output kills 10 of 13 (76.9 %), widened kills 11 of 13 (84.6 %)
"""

OF_CUT_POINT = """\
5 survivors of cut-point:
  refund/guarded.py:3  core/NumberReplacer  000000000010
    -LIMIT = 4000
    +LIMIT = 999999
    escape: it lets through what the guard is there to prevent
    issue_refund#1 .status: "blocked" with the fix, "paid" with the mutant
    what would kill it: assert that nothing was paid
  refund/guarded.py:8  autochron/StringConstant  000000000011
    -        return {"status": "blocked", "note": "zu viel: 💶 und ü"}
    +        return {"status": "blocked", "note": "</script><!--"}
    output: on the recorded input it gives something else that the test does not look at
    issue_refund#1 .note: "zu viel: 💶 und ü" with the fix, "</script><!--" with the mutant
    what would kill it: assert the note, or don't give one
  refund/guarded.py:8  autochron/After  000000000012
    -        return {"status": "blocked", "note": "zu viel: 💶 und ü"}
    +        return {"status": "blocked", "note": "zu viel: 💶 und ü"} or {}
    other-input: it shows on other inputs only
    issue_refund#1 with amount_cents = 4001 (4000 in guarded.py:3, plus 1)
    what would kill it: replay with amount_cents = 4001
  refund/guarded.py:9  core/ReplaceComparisonOperator_LtE_Lt  000000000013
    -    if amount_cents <= 0:
    +    if amount_cents < 0:
    same: no input that was tried tells it from the fix
    what would kill it: try amount_cents = 0
  refund/guarded.py:11  autochron/StringConstant  000000000014
    -"paid"
    +'paid'
    same: no input that was tried tells it from the fix
    equivalent: both quotes make the same string
"""


def report_text(subject, **options):
    stream = io.StringIO()
    write_study(subject, stream, **options)
    return stream.getvalue()


def line_of(text, start):
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return line


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_complete_study():
    assert report_text(complete_study()) == WHOLE


def test_the_survivors_of_cut_point_are_listed_on_request():
    before, _, after = WHOLE.rpartition("\n\n")
    assert report_text(complete_study(), survivors=True) == f"{before}\n\n{OF_CUT_POINT}\n{after}"


def test_a_terminal_gets_the_same_text_in_colour(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    write_study(complete_study(), stream)
    assert "\x1b[1;31mescapes: 1 of 2" in stream.getvalue()
    assert re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()) == WHOLE


def test_quiet_prints_only_escapes_and_the_summary_without_colour(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    write_study(complete_study(), stream, quiet=True)
    assert stream.getvalue() == (
        line_of(WHOLE, "escapes:")
        + "\n  refund/guarded.py:3  core/NumberReplacer  000000000010\n\n"
        + line_of(WHOLE, "autochron:")
        + "\n"
    )


def test_an_ascii_stream_gets_ascii_characters():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write_study(study(of_two_guards()), stream)
    stream.flush()
    assert "3.7-74.4 %" in stream.buffer.getvalue().decode("ascii")


def test_a_study_without_escapes_says_so():
    safe = with_result(refund(), 16, is_unsafe=False)
    assert line_of(report_text(study(safe)), "escapes:") == (
        "escapes: 0 of 1 mutant that let through what the guard is there to prevent; cut-point kills 1"
    )
    assert "escapes: 0 of 0 mutants" in report_text(study(empty()), quiet=True)


def test_escapes_are_unknown_without_cut_point():
    without = study(refund(), methods=("full-stub", "widened"))
    assert line_of(report_text(without), "escapes:") == "escapes: not known, for cut-point was not tried"


def test_an_unsafe_mutant_that_was_not_tried_is_no_escape_and_is_counted():
    untried = with_result(refund(), 16, verdicts={"full-stub": MutantVerdict("passed")})
    assert line_of(report_text(study(untried)), "escapes:") == (
        "escapes: 0 of 2 mutants that let through what the guard is there to prevent; cut-point kills 1, 1 were not tried"
    )


def test_no_mutants_at_all():
    assert report_text(study(empty())) == (
        "mutants of the operators extended\n"
        "incident      generated  same bytecode  duplicates  tried\n"
        "stale_quote2          2              2           0      0\n"
        "sum                   2              2           0      0\n"
        "\n"
        "killed, of those tried\n"
        "incident      full-stub  mocks  cut-point  full-output  widened\n"
        "stale_quote2          -      -          -            -        -\n"
        "sum                   -      -          -            -        -\n"
        "\n"
        "how the killed ones ended\n"
        "method       assertion  divergence  crash  exit  time-out  memory  signal  compile  output  survived  not tried\n"
        "full-stub            0           0      0     0         0       0       0        0       0         0          0\n"
        "mocks                0           0      0     0         0       0       0        0       0         0          0\n"
        "cut-point            0           0      0     0         0       0       0        0       0         0          0\n"
        "full-output          0           0      0     0         0       0       0        0       0         0          0\n"
        "widened              0           0      0     0         0       0       0        0       0         0          0\n"
        "\n"
        "escapes: 0 of 0 mutants that let through what the guard is there to prevent; cut-point kills 0\n"
        "canaries: 1 of 1 hold\n"
        "plain cosmic-ray: no sample was run\n"
        "\n"
        "0 survivors of widened\n"
        "\n"
        "autochron: 0 mutants of 1 incident: none\n"
    )


def test_a_study_without_incidents():
    text = report_text(study(methods=()))
    assert text.splitlines()[-1] == "autochron: 0 mutants of 0 incidents: none"


def test_a_shard_says_that_it_is_a_part():
    assert report_text(study(refund(), shard=(2, 3))).splitlines()[0] == (
        "mutants of the operators extended, shard 2 of 3: a part of the study"
    )


def test_disagreements_with_plain_cosmic_ray_are_listed_even_with_quiet():
    sample = (
        Crosscheck("000000000000", ours=True, theirs=True),
        Crosscheck("000000000013", ours=False, theirs=True),
        Crosscheck("00000000beef", ours=True, theirs=False),
    )
    crosschecked = study(msgspec.structs.replace(refund(), agreement=sample))
    expected = (
        "plain cosmic-ray: 1 of 3 agree\n"
        "  refund/guarded.py:9  core/ReplaceComparisonOperator_LtE_Lt  000000000013: survived here, killed there\n"
        "  refund  00000000beef: killed here, survived there\n"
    )
    assert expected in report_text(crosschecked)
    assert expected in report_text(crosschecked, quiet=True)


def test_a_proof_that_a_verdict_refutes_is_reported_and_not_counted():
    refuted = study(with_result(refund(), 18, proof="an empty dict is never given"))
    assert (
        "argued equivalent, and yet it is told from the fix:"
        " refund/guarded.py:8  autochron/After  000000000012 (widened)\n"
    ) in report_text(refuted, quiet=True)
    assert "without 1 argued equivalent" in report_text(refuted)


@pytest.mark.parametrize(
    "more",
    [
        {"verdicts": {"widened": MutantVerdict("output", "", is_killed=True)}},
        {"inputs": (2,)},
        {"is_unsafe": True},
    ],
)
def test_a_kill_an_input_or_an_unsafe_result_refutes_a_proof(more):
    fields = {
        "mutant": mutant(1, 9, "<=", "<"),
        "verdicts": {"widened": MutantVerdict("passed")},
        "proof": "so",
    }
    assert (is_equivalent(Result(**fields)), is_refuted(Result(**fields))) == (True, False)
    assert (is_equivalent(Result(**fields | more)), is_refuted(Result(**fields | more))) == (False, True)


def test_a_kill_by_passing_has_its_own_column():
    # The fix fails under full-stub, so a mutant that passes differs from the fix and is killed.
    odd = {
        "full-stub": MutantVerdict("passed", "", is_killed=True),
        "cut-point": MutantVerdict("assertion", "as the fix"),
    }
    subject = study(
        with_result(refund(), 16, verdicts=odd, is_unsafe=False), methods=("full-stub", "cut-point")
    )
    lines = report_text(subject).splitlines()
    at = lines.index("how the killed ones ended")
    assert [" ".join(line.split()) for line in lines[at + 1 : at + 4]] == [
        "method passed assertion divergence crash exit time-out memory signal compile output survived not tried",
        "full-stub 1 0 0 0 0 0 0 0 0 0 12 0",
        "cut-point 0 1 1 1 1 1 1 1 1 0 5 0",
    ]


def test_without_widened_the_survivors_of_the_last_method_are_listed():
    subject = study(refund(), methods=("full-stub", "cut-point"))
    assert "5 survivors of cut-point:" in report_text(subject)
    assert report_text(subject, survivors=True) == report_text(subject)


def test_a_study_whose_canaries_do_not_hold_is_refused():
    assert refusal(complete_study()) is None
    bad = msgspec.structs.replace(
        refund(),
        canaries=(
            Canary("the fix", "cut-point", "passed", "passed"),
            Canary("a body that raises", "cut-point", "crash", "passed"),
        ),
    )
    assert refusal(study(bad)) == (
        "a canary doesn't hold, so the study says nothing: refund: a body that raises under cut-point:"
        " expected crash, got passed. Mend the test or the tool, and run the study again"
    )
    none = msgspec.structs.replace(empty(), canaries=())
    assert refusal(study(bad, none)) == (
        "2 canaries don't hold, so the study says nothing: refund: a body that raises under cut-point:"
        " expected crash, got passed; stale_quote2: none was tried. Mend the test or the tool, and run the study again"
    )
    with pytest.raises(UsageError, match=r"a canary doesn't hold.*\(usage\)"):
        report_text(study(bad))


def test_two_incidents_of_one_name_are_refused():
    assert refusal(study(refund(), refund())) == (
        "the study has 2 incidents of the name refund; merge them, or name them apart"
    )


def test_shares_are_those_of_the_paper():
    assert KillCount(51, 192).percent == pytest.approx(26.5625)
    assert KillCount(0, 0).percent is None


def results_of(guards):
    """Return results of guards, each given as how many of its mutants cut-point kills, and how many there are."""
    return [
        Result(
            mutant=mutant(number, 9, "<=", "<", incident=f"incident {guard}"),
            verdicts=verdicts("assertion" if number < killed_ones else "passed"),
        )
        for guard, (killed_ones, total) in enumerate(guards)
        for number in range(total)
    ]


def of_two_guards():
    return msgspec.structs.replace(refund(), results=tuple(results_of([(5, 10), (0, 10)])))


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        # All alike in a guard: the design effect is 20, so twenty mutants are worth one.
        ([(10, 10), (0, 10)], (5.46, 94.54)),
        # As unlike as independent mutants, or more: as many as there are.
        ([(5, 10), (6, 10), (4, 10), (5, 10)], (35.2, 64.8)),
        # None is killed, so nothing tells how alike those of a guard are.
        ([(0, 20)] * 12, (0.0, 24.25)),
    ],
)
def test_the_mutants_of_one_guard_are_a_cluster(guards, expected):
    assert interval(results_of(guards), "cut-point") == pytest.approx(expected, abs=0.01)


def test_one_guard_alone_has_no_interval():
    assert interval(results_of([(5, 10)]), "cut-point") is None
    assert interval([], "cut-point") is None
    assert "95 % interval" not in WHOLE


def test_the_sum_has_the_interval_of_all_guards():
    line = line_of(report_text(study(of_two_guards())), "95 % interval")
    assert re.findall(r"\S+ %", line)[-3:] == ["3.7–74.4 %"] * 3


def test_all_kinds_occur_and_all_methods_and_behaviours_have_descriptions():
    results = refund().results
    assert set(kinds(results, "cut-point")) == set(Kind.__args__)
    assert sum(kinds(results, "widened").values()) == tally(results, "widened").killed == 11
    assert set(METHOD_DESCRIPTIONS) == set(METHODS)
    assert set(BEHAVIOUR_DESCRIPTIONS) == set(Behaviour.__args__)


def with_inputs(values, *, is_accepted=True):
    """Return an incident with other inputs, which the fix accepts or not."""
    inputs = [
        Input(number=number, address="issue_refund#1", argument="cents", value=value, is_accepted=is_accepted)
        for number, value in enumerate(values)
    ]
    return msgspec.structs.replace(refund(), inputs=tuple(inputs))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("-1", "negative"), ("-0.5", "negative"), ("float('nan')", "no number"), ("float('inf')", "no number"),
        ("10000000000000", "huge"), ("''", "empty"), ("'  '", "empty"), ("[]", "empty"), ("{}", "empty"),
        ("b''", "empty"), ("None", "nothing"),
        ("0", ""), ("3990", ""), ("True", ""), ("'EUR'", ""), ("[1]", ""), ("Decimal('1')", ""),
    ],
)  # fmt: skip
def test_an_input_that_no_call_should_have_is_suspicious_if_the_fix_accepts_it(value, why):
    expected = [("cents", value, why)] if why else []
    found = suspicious(with_inputs([value, value]))
    assert [msgspec.structs.astuple(entry) for entry in found] == expected
    assert suspicious(with_inputs([value], is_accepted=False)) == ()


def test_suspicious_inputs_are_at_the_top_of_the_report():
    values = [str(-number) for number in range(1, 11)]
    for options in ({}, {"quiet": True}):
        first, *rest = report_text(study(with_inputs(values)), **options).splitlines()
        assert first == (
            "the fix of refund accepts what looks wrong; refuse it, or let a test say that it is right:"
        )
        assert rest[:9] == [*(f"  cents = -{number} (negative)" for number in range(1, 9)), "  and 2 more"]


def test_an_argument_that_changes_only_the_result_is_told_apart():
    """A clamp decides alike for each amount, and pays another one."""
    subject = with_inputs(["1", "2"])
    outcomes = ['{"returned":3}', '{"returned":1}', '{"returned":2}']
    recorded = msgspec.structs.replace(subject.inputs[0], number=2, argument="")
    inputs = [
        msgspec.structs.replace(each, outcome=outcome)
        for each, outcome in zip((recorded, *subject.inputs), outcomes, strict=True)
    ]
    subject = msgspec.structs.replace(
        subject, inputs=tuple(inputs), sensitivity=(Sensitivity("cents", 2, 0), Sensitivity("order", 1, 0))
    )
    rows = [
        line.split(maxsplit=4)[1:] for line in report_text(study(subject)).splitlines() if " never " in line
    ]
    assert rows == [
        ["cents", "2", "0", "never changes, but the result does"],
        ["order", "1", "0", "never changes"],
    ]


def test_a_place_in_the_project_around_an_incident_begins_there():
    mutated = mutant(1, 9, "<=", "<")
    outside = msgspec.structs.replace(mutated, target=MutationTarget("../../src/desk.py", "pay"))
    assert place("refund", Result(mutant=outside, verdicts={})) == f"src/desk.py:{outside.line}"
    assert (
        place("refund", Result(mutant=mutated, verdicts={})) == f"refund/{mutated.target.file}:{mutated.line}"
    )


def test_mutants_are_of_families():
    operators = ("core/NumberReplacer", "core/AddNot", "autochron/ActFirst", "core/RemoveDecorator")
    results = [
        Result(mutant=mutant(number, 9, "<=", "<", operator), verdicts={})
        for number, operator in enumerate(operators)
    ]
    assert {family: len(members) for family, members in families(results).items()} == {
        "agent": 1, "condition": 1, "arithmetic": 1, "other": 1,
    }  # fmt: skip
    assert [
        name for name in operator_names() if name.startswith("autochron/") and family_of(name) == "other"
    ] == []


def test_a_small_diff_shows_the_removed_and_added_lines():
    def lines_of(text, before="a", after="b"):
        change = msgspec.structs.replace(mutant(1, 9, "<=", "<"), before=before, after=after)
        return changed_lines(Result(mutant=change, verdicts={}, diff=text))

    assert lines_of("--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n same\n--- x\n+++ y\n") == ["--- x", "+++ y"]
    assert lines_of("--- a.py\n+++ a.py\n-old\n+new\n") == ["-old", "+new"]
    assert lines_of("", "one\ntwo", "") == ["-one", "-two"]
    assert lines_of("") == ["-a", "+b"]


def test_a_long_diff_is_shortened_and_control_characters_are_escaped():
    lines = "".join(f"-line {number}\n" for number in range(20))
    subject = study(with_result(refund(), 19, diff=f"@@ -1 +1 @@\n{lines}", hint="\x1b[2J clear"))
    text = report_text(subject)
    assert "    -line 11\n    … and 8 lines more\n" in text
    assert "    what would kill it: \\x1b[2J clear\n" in text


def test_the_first_differences_of_a_mutant_are_listed():
    incident = refund()
    change = incident.results[8].changes[0]
    result = Result(mutant=mutant(1, 9, "<=", "<"), verdicts={}, changes=(change,) * 3, inputs=(0, 2, 7))
    difference = 'issue_refund#1 .status: "blocked" with the fix, "paid" with the mutant'
    assert difference_lines(incident, result) == [
        difference, difference,
        "the recorded input of issue_refund#1",
        "issue_refund#1 with amount_cents = 4001 (4000 in guarded.py:3, plus 1)",
        "and 2 more",
    ]  # fmt: skip
    assert difference_lines(incident, Result(mutant=mutant(1, 9, "<=", "<"), verdicts={}, inputs=(7,))) == [
        "input 7"
    ]


def test_a_survivor_without_a_class_says_so():
    subject = study(with_result(refund(), 19, behaviour=None, diff=diff(9, "<=", "<"), hint=""))
    assert "    +    if amount_cents < 0:\n    class: not classed\n  refund" in report_text(subject)


def test_every_study_has_a_column_for_each_method():
    without_mocks = tuple(method for method in METHODS if method != "mocks")
    lines = report_text(study(empty(), methods=without_mocks)).splitlines()
    start = lines.index("killed, of those tried") + 1
    assert lines[start].split() == ["incident", *METHODS]
    assert lines[start + 3] == "mocks: none of the folders has a test without a trace"


def test_why_plain_cosmic_ray_was_not_asked_is_reported():
    left_out = msgspec.structs.replace(
        refund(), agreement=(), not_compared="its tests fail in a copy of /shop"
    )
    line = "plain cosmic-ray: not asked of refund: its tests fail in a copy of /shop\n"
    assert line in report_text(study(left_out))
    assert "no sample was run" not in report_text(study(left_out))
    assert line not in report_text(study(left_out), quiet=True)
