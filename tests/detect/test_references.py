"""Counts of references to an object are the same in a watched program."""

import subprocess
import sys

PROGRAM = """
import gc, sys, weakref

class Thing:
    pass

def main():
    thing = Thing()
    kept = weakref.ref(thing)
    print(sys.getrefcount(thing), sys.getrefcount([]), sys.getrefcount(Thing()))
    print(gc.get_referrers(thing), gc.get_referrers([]))
    holder = [thing]
    print(gc.get_referrers(thing) == [holder], sys.getrefcount(thing))
    print(weakref.getweakrefcount(thing), weakref.getweakrefs(thing) == [kept])
    del thing
    holder.clear()
    print(kept())

main()
print("sqlite3" in sys.modules, "ctypes" in sys.modules)
"""


def test_a_watched_program_counts_the_same_references(tmp_path):
    (tmp_path / "agent.py").write_text(PROGRAM)
    plain, recorded = (
        subprocess.run([sys.executable, *words, "agent.py"], cwd=tmp_path, capture_output=True, text=True)
        for words in ([], ["-m", "autochron", "run", "--quiet"])
    )
    assert (recorded.returncode, recorded.stderr) == (0, "")
    assert recorded.stdout == plain.stdout
