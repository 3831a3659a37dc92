"""Small studies written by hand, with every kind of verdict, every behaviour and edge cases."""

import msgspec

from autochron.mutate.model import (
    Canary,
    Change,
    Crosscheck,
    Input,
    Mutant,
    MutantVerdict,
    MutationTarget,
    Result,
    Sensitivity,
    StudiedIncident,
    Study,
)

METHODS = ("full-stub", "mocks", "cut-point", "full-output", "widened")
GUARD = '''\
"""The fix: no more than was paid. </script><!-- <script> {{report}} "quoted" \\\\ """

LIMIT = 4000


def issue_refund(order_id, amount_cents):
    if amount_cents > LIMIT:
        return {"status": "blocked", "note": "zu viel: 💶 und ü"}
    if amount_cents <= 0:
        return {"status": "blocked"}
    return {"status": "paid"}
'''
TARGET = MutationTarget("guarded.py", "issue_refund")


def mutant(number, line, before, after, operator="core/NumberReplacer", source=GUARD, **more):
    """Return a mutant of the first occurrence of `before` in a line."""
    column = source.split("\n")[line - 1].index(before)
    fields = {
        "id": f"{number:012x}", "incident": "refund", "target": TARGET, "operator": operator, "occurrence": number,
        "line": line, "column": column, "end_line": line, "end_column": column + len(before),
        "before": before, "after": after,
    }  # fmt: skip
    return Mutant(**fields | more)


def diff(line, before, after):
    old = GUARD.split("\n")[line - 1]
    new = old.replace(before, after, 1)
    return f"--- guarded.py\n+++ guarded.py\n@@ -{line} +{line} @@\n-{old}\n+{new}\n"


def verdicts(cut_point, *, mocks=None, full_output=None, widened=None):
    """Return the methods' verdicts from kinds. A later method inherits an earlier one's kind; all but `passed` are kills."""
    full_output = full_output or cut_point
    kinds = {
        "full-stub": "passed", "mocks": mocks, "cut-point": cut_point, "full-output": full_output,
        "widened": widened or full_output,
    }  # fmt: skip
    return {
        method: MutantVerdict(kind, "" if kind == "passed" else f"{kind} it was", kind != "passed")
        for method, kind in kinds.items()
        if kind is not None
    }


def killed(number, kind, line=7, before=">", after="<", **more):
    fields = {"operator": "core/ReplaceComparisonOperator_Gt_Lt", **more}
    return Result(
        mutant=mutant(number, line, before, after, **fields),
        verdicts=verdicts(kind),
        diff=diff(line, before, after),
        is_unsafe=kind == "assertion",
    )


def refund():
    """Return an incident in which every kind and every behaviour occurs once."""
    kinds = ("assertion", "divergence", "crash", "exit", "time-out", "memory", "signal", "compile")
    results = [killed(number, kind) for number, kind in enumerate(kinds)]
    results += [
        Result(  # an escape: it survives cut-point, though the tool pays
            mutant=mutant(16, 3, "4000", "999999", at_import=True),
            verdicts=verdicts("passed", mocks="passed", full_output="output"),
            changes=(Change("issue_refund#1", ".status", '"blocked"', '"paid"'),),
            is_unsafe=True,
            behaviour="escape",
            diff=diff(3, "4000", "999999"),
            hint="assert that nothing was paid",
        ),
        Result(
            mutant=mutant(17, 8, '"zu viel: 💶 und ü"', '"</script><!--"', "autochron/StringConstant"),
            verdicts=verdicts("passed", full_output="output"),
            changes=(Change("issue_refund#1", ".note", '"zu viel: 💶 und ü"', '"</script><!--"'),),
            behaviour="output",
            diff=diff(8, '"zu viel: 💶 und ü"', '"</script><!--"'),
            hint="assert the note, or don't give one",
        ),
        Result(
            mutant=mutant(18, 8, "}", "} or {}", "autochron/After"),  # after a character of two UTF-16 units
            verdicts=verdicts("passed", widened="output"),
            inputs=(2,),
            behaviour="other-input",
            diff=diff(8, "}", "} or {}"),
            hint="replay with amount_cents = 4001",
        ),
        Result(
            mutant=mutant(19, 9, "<=", "<", "core/ReplaceComparisonOperator_LtE_Lt"),
            verdicts=verdicts("passed"),
            behaviour="same",
            diff=diff(9, "<=", "<"),
            hint="try amount_cents = 0",
        ),
        Result(
            mutant=mutant(20, 11, '"paid"', "'paid'", "autochron/StringConstant"),
            verdicts=verdicts("passed"),
            behaviour="same",
            proof="both quotes make the same string",
        ),
    ]
    return StudiedIncident(
        name="refund",
        targets=(TARGET,),
        sources={"guarded.py": GUARD},
        generated=17,
        same_bytecode=3,
        duplicates=1,
        has_twin=True,
        has_predicate=True,
        canaries=(
            Canary("the fix", "cut-point", "passed", "passed"),
            Canary("the unguarded tool", "cut-point", "assertion", "assertion"),
        ),
        inputs=(
            Input(number=0, address="issue_refund#1", arguments="('A1', 9000)", is_kept=True),
            Input(
                number=2,
                address="issue_refund#1",
                argument="amount_cents",
                value="4001",
                source="4000 in guarded.py:3, plus 1",
                arguments="('A1', 4001)",
                is_kept=True,
                flips=True,
            ),
        ),
        sensitivity=(
            Sensitivity("amount_cents", 9, 4, "amount_cents = 4000"),
            Sensitivity("order_id", 3, 0),
        ),
        results=tuple(results),
        agreement=(
            Crosscheck("000000000000", ours=True, theirs=True),
            Crosscheck("000000000013", ours=False, theirs=False),
        ),
    )


def empty():
    """Return an incident without mutants."""
    return StudiedIncident(
        name="stale_quote2",
        targets=(MutationTarget("guarded.py", "quote"),),
        sources={"guarded.py": "def quote(): ...\n"},
        generated=2,
        same_bytecode=2,
        duplicates=0,
        canaries=(Canary("the fix", "cut-point", "passed", "passed"),),
    )


def study(*incidents, **more):
    fields = {"operators": "extended", "digest": "d1" * 32, "methods": METHODS, "incidents": incidents}
    return Study(**fields | more)


def complete_study():
    return study(refund(), empty())


def with_result(incident, number, **more):
    """Return the incident with fields of one mutant's result replaced."""
    results = tuple(
        msgspec.structs.replace(result, **more) if result.mutant.occurrence == number else result
        for result in incident.results
    )
    return msgspec.structs.replace(incident, results=results)
