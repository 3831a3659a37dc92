"""At each item, a replay gives an iterator object the attributes that it had in the recording."""

from tests.cli import processes
from tests.recording.woven import RULES

LIB = """
class Rows:
    def __init__(self): self.rows, self.at, self.kind = [1, 2, 3], 0, [0]
    def __iter__(self): return self
    def __next__(self):
        if self.rows is None: raise StopIteration
        self.at += 1
        item = self.rows[0]
        self.rows = self.rows[1:] or None
        self.kind = (0,) if self.at == 2 else [0] if self.at < 2 else None
        return item
def rows(): return Rows()
"""

AGENT = """
import lib
found = lib.rows()
print(found.rows, found.at, found.kind)
for item in found: print(item, found.rows, found.at, found.kind)
"""


def test_attributes_of_an_iterator_that_change_their_type_are_replayed(tmp_path):
    rules = RULES.replace("lib:**", "lib:rows")
    processes.write(tmp_path, {"lib.py": LIB, "agent.py": AGENT, "autochron.toml": rules})
    plain = processes.python(tmp_path, "agent.py")
    recorded = processes.autochron(tmp_path, "run", "agent.py")
    replayed = processes.autochron(tmp_path, "replay", "last")
    assert plain.text.splitlines()[-1] == "3 None 3 None"
    assert (recorded.status, recorded.text) == (0, plain.text)
    assert (replayed.status, replayed.text) == (0, plain.text), replayed.said
