"""What a person reads of a mutation study."""

import io
import math
import re

import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.model import METHODS, Behaviour, Canary, Crosscheck, Kind, MutantVerdict, Result
from autochron.mutate.report.tallies import (
    BEHAVIOUR_DESCRIPTIONS,
    METHOD_DESCRIPTIONS,
    KillCount,
    changed_lines,
    difference_lines,
    is_equivalent,
    is_refuted,
    kinds,
    refusal,
    tally,
)
from autochron.mutate.report.text import write_study
from tests.mutate.studies import changed, diff, empty, mutant, refund, study, whole

WHOLE = """\
mutants of the operators extended
incident      generated  same bytecode  duplicates  tried
refund               17              3           1     13
stale_quote2          2              2           0      0
sum                  19              5           1     13

killed, of those tried
incident                      full-stub       mocks    cut-point   full-output       widened
refund                       0/13 0.0 %   0/1 0.0 %  8/13 61.5 %  10/13 76.9 %  11/13 84.6 %
95 % interval                0.0–22.8 %  0.0–79.3 %  35.5–82.3 %   49.7–91.8 %   57.8–95.7 %
stale_quote2                          -           -            -             -             -
95 % interval                         -           -            -             -             -
sum                          0/13 0.0 %   0/1 0.0 %  8/13 61.5 %  10/13 76.9 %  11/13 84.6 %
95 % interval                0.0–22.8 %  0.0–79.3 %  35.5–82.3 %   49.7–91.8 %   57.8–95.7 %
without 1 argued equivalent  0/12 0.0 %   0/1 0.0 %  8/12 66.7 %  10/12 83.3 %  11/12 91.7 %
95 % interval                0.0–24.2 %  0.0–79.3 %  39.1–86.2 %   55.2–95.3 %   64.6–98.5 %

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


def written(given, **options):
    stream = io.StringIO()
    write_study(given, stream, **options)
    return stream.getvalue()


def line_of(text, begin):
    (found,) = [line for line in text.splitlines() if line.startswith(begin)]
    return found


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_whole_study():
    assert written(whole()) == WHOLE


def test_the_survivors_of_cut_point_are_listed_where_they_are_asked_for():
    before, _, after = WHOLE.rpartition("\n\n")
    assert written(whole(), survivors=True) == f"{before}\n\n{OF_CUT_POINT}\n{after}"


def test_a_terminal_gets_the_same_text_in_colour(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    write_study(whole(), stream)
    assert "\x1b[1;31mescapes: 1 of 2" in stream.getvalue()
    assert re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()) == WHOLE


def test_quiet_says_how_it_came_out_and_nothing_in_colour(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    write_study(whole(), stream, quiet=True)
    assert stream.getvalue() == (
        line_of(WHOLE, "escapes:")
        + "\n  refund/guarded.py:3  core/NumberReplacer  000000000010\n\n"
        + line_of(WHOLE, "autochron:")
        + "\n"
    )


def test_an_ascii_stream_gets_what_it_can_write():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write_study(whole(), stream)
    stream.flush()
    assert "0.0-22.8 %" in stream.buffer.getvalue().decode("ascii")


def test_no_escape_is_said_in_so_many_words():
    safe = changed(refund(), 16, is_unsafe=False)
    assert line_of(written(study(safe)), "escapes:") == (
        "escapes: 0 of 1 mutant that let through what the guard is there to prevent; cut-point kills 1"
    )
    assert "escapes: 0 of 0 mutants" in written(study(empty()), quiet=True)


def test_escapes_are_not_known_without_cut_point():
    without = study(refund(), methods=("full-stub", "widened"))
    assert line_of(written(without), "escapes:") == "escapes: not known, for cut-point was not tried"


def test_an_unsafe_mutant_that_was_not_tried_is_no_escape_and_is_counted():
    untried = changed(refund(), 16, verdicts={"full-stub": MutantVerdict("passed")})
    assert line_of(written(study(untried)), "escapes:") == (
        "escapes: 0 of 2 mutants that let through what the guard is there to prevent; cut-point kills 1, 1 were not tried"
    )


def test_no_mutants_at_all():
    assert written(study(empty())) == (
        "mutants of the operators extended\n"
        "incident      generated  same bytecode  duplicates  tried\n"
        "stale_quote2          2              2           0      0\n"
        "sum                   2              2           0      0\n"
        "\n"
        "killed, of those tried\n"
        "incident       full-stub  mocks  cut-point  full-output  widened\n"
        "stale_quote2           -      -          -            -        -\n"
        "95 % interval          -      -          -            -        -\n"
        "sum                    -      -          -            -        -\n"
        "95 % interval          -      -          -            -        -\n"
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


def test_a_study_of_nothing():
    said = written(study(methods=()))
    assert said.splitlines()[-1] == "autochron: 0 mutants of 0 incidents: none"


def test_a_shard_says_that_it_is_a_part():
    assert written(study(refund(), shard=(2, 3))).splitlines()[0] == (
        "mutants of the operators extended, shard 2 of 3: a part of the study"
    )


def test_where_plain_cosmic_ray_disagrees_that_is_listed_even_quietly():
    sample = (
        Crosscheck("000000000000", ours=True, theirs=True),
        Crosscheck("000000000013", ours=False, theirs=True),
        Crosscheck("00000000beef", ours=True, theirs=False),
    )
    given = study(msgspec.structs.replace(refund(), agreement=sample))
    expected = (
        "plain cosmic-ray: 1 of 3 agree\n"
        "  refund/guarded.py:9  core/ReplaceComparisonOperator_LtE_Lt  000000000013: survived here, killed there\n"
        "  refund  00000000beef: killed here, survived there\n"
    )
    assert expected in written(given)
    assert expected in written(given, quiet=True)


def test_a_proof_that_a_verdict_refutes_is_told_and_not_counted():
    given = study(changed(refund(), 18, proof="an empty dict is never given"))
    assert (
        "argued equivalent, and yet it is told from the fix:"
        " refund/guarded.py:8  autochron/After  000000000012 (widened)\n"
    ) in written(given, quiet=True)
    assert "without 1 argued equivalent" in written(given)


@pytest.mark.parametrize(
    "more",
    [
        {"verdicts": {"widened": MutantVerdict("output", "", is_killed=True)}},
        {"inputs": (2,)},
        {"is_unsafe": True},
    ],
)
def test_what_refutes_a_proof(more):
    fields = {
        "mutant": mutant(1, 9, "<=", "<"),
        "verdicts": {"widened": MutantVerdict("passed")},
        "proof": "so",
    }
    assert (is_equivalent(Result(**fields)), is_refuted(Result(**fields))) == (True, False)
    assert (is_equivalent(Result(**fields | more)), is_refuted(Result(**fields | more))) == (False, True)


def test_a_kill_by_passing_has_a_column_of_its_own():
    # The fix fails under full-stub, and a mutant passes: that is told from the fix, too.
    odd = {
        "full-stub": MutantVerdict("passed", "", is_killed=True),
        "cut-point": MutantVerdict("assertion", "as the fix"),
    }
    given = study(changed(refund(), 16, verdicts=odd, is_unsafe=False), methods=("full-stub", "cut-point"))
    lines = written(given).splitlines()
    at = lines.index("how the killed ones ended")
    assert [" ".join(line.split()) for line in lines[at + 1 : at + 4]] == [
        "method passed assertion divergence crash exit time-out memory signal compile output survived not tried",
        "full-stub 1 0 0 0 0 0 0 0 0 0 12 0",
        "cut-point 0 1 1 1 1 1 1 1 1 0 5 0",
    ]


def test_without_widened_the_last_method_is_that_whose_survivors_are_listed():
    given = study(refund(), methods=("full-stub", "cut-point"))
    assert "5 survivors of cut-point:" in written(given)
    assert written(given, survivors=True) == written(given)


def test_canaries_that_do_not_hold():
    assert refusal(whole()) is None
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
        written(study(bad))


def test_two_incidents_of_one_name_get_no_report():
    assert refusal(study(refund(), refund())) == (
        "the study has 2 incidents of the name refund; merge them, or name them apart"
    )


def test_the_paper_s_numbers():
    assert KillCount(51, 192).percent == pytest.approx(26.5625)
    assert KillCount(51, 192).interval == pytest.approx((20.82, 33.22), abs=0.01)
    for end in KillCount(
        51, 192
    ).interval:  # where the share seen lies 1.96 deviations away, as Wilson's ends are defined
        share = end / 100
        assert abs(share - 51 / 192) == pytest.approx(
            1.959964 * math.sqrt(share * (1 - share) / 192), rel=1e-5
        )
    assert KillCount(0, 0).interval is None


def test_all_kinds_methods_and_behaviours_have_words():
    results = refund().results
    assert set(kinds(results, "cut-point")) == set(Kind.__args__)
    assert sum(kinds(results, "widened").values()) == tally(results, "widened").killed == 11
    assert set(METHOD_DESCRIPTIONS) == set(METHODS)
    assert set(BEHAVIOUR_DESCRIPTIONS) == set(Behaviour.__args__)


def test_a_small_diff_is_what_goes_and_what_comes():
    def shown(text, before="a", after="b"):
        change = msgspec.structs.replace(mutant(1, 9, "<=", "<"), before=before, after=after)
        return changed_lines(Result(mutant=change, verdicts={}, diff=text))

    assert shown("--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n same\n--- x\n+++ y\n") == ["--- x", "+++ y"]
    assert shown("--- a.py\n+++ a.py\n-old\n+new\n") == ["-old", "+new"]
    assert shown("", "one\ntwo", "") == ["-one", "-two"]
    assert shown("") == ["-a", "+b"]


def test_a_long_diff_is_cut_and_what_a_terminal_obeys_is_made_visible():
    lines = "".join(f"-line {number}\n" for number in range(20))
    given = study(changed(refund(), 19, diff=f"@@ -1 +1 @@\n{lines}", hint="\x1b[2J clear"))
    said = written(given)
    assert "    -line 11\n    … and 8 lines more\n" in said
    assert "    what would kill it: \\x1b[2J clear\n" in said


def test_where_a_mutant_differs_is_said_of_the_first_few():
    incident = refund()
    change = incident.results[8].changes[0]
    result = Result(mutant=mutant(1, 9, "<=", "<"), verdicts={}, changes=(change,) * 3, inputs=(0, 2, 7))
    said = 'issue_refund#1 .status: "blocked" with the fix, "paid" with the mutant'
    assert difference_lines(incident, result) == [
        said, said,
        "the recorded input of issue_refund#1",
        "issue_refund#1 with amount_cents = 4001 (4000 in guarded.py:3, plus 1)",
        "and 2 more",
    ]  # fmt: skip
    assert difference_lines(incident, Result(mutant=mutant(1, 9, "<=", "<"), verdicts={}, inputs=(7,))) == [
        "input 7"
    ]


def test_a_survivor_that_nobody_classed_says_so():
    given = study(changed(refund(), 19, behaviour=None, diff=diff(9, "<=", "<"), hint=""))
    assert "    +    if amount_cents < 0:\n    class: not classed\n  refund" in written(given)
