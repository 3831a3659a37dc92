"""The report at the end of a run: how many crossings are in the store, and where the store is."""

import io
import os

from autochron.model import Footer, RunSummary
from autochron.report.run import write_run
from autochron.rules.packs import load_pack
from tests.cli.processes import autochron, write

RULES = """
version = 1
packs = []
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "agent:step"
"""


def report_of(counts=(), **options):
    stream = io.StringIO()
    footer = Footer(lost=options.pop("lost", 0))
    write_run(RunSummary(trace="T", store="traces.db", footer=footer, counts=counts, **options), stream)
    return stream.getvalue()


def test_the_headline_counts_what_is_in_the_store():
    text = report_of(counts=(("step", 12),), crossings=100, lost=88)
    assert text.startswith("autochron: 12 of 100 crossings recorded in trace T (traces.db)\n  step ×12\n")
    assert "lost: 88 crossings could not be written" in text
    assert report_of(counts=(("step", 2),), crossings=2).startswith("autochron: 2 crossings recorded")


def test_masked_headers_of_requests_are_left_out_of_the_report():
    text = report_of(masked=("ask: a.request.headers.b", "ask: request.headers.b", "ask: content.key"))
    assert "headers" not in text
    assert "ask: content.key (masked)" in text


def test_the_path_of_the_store_is_relative_to_the_folder_where_the_run_began(tmp_path):
    source = 'import os\ndef step(): return 1\nstep()\nos.mkdir("deep")\nos.chdir("deep")\n'
    write(tmp_path, {"agent.py": source, "autochron.toml": RULES})
    ran = autochron(tmp_path, "run", "agent.py")
    assert f"({os.path.join('.autochron', 'traces.db')})" in ran.said


def test_output_before_an_exec_is_in_the_trace(tmp_path):
    source = """
import os, sys
def step(): return 3
if sys.argv[1:]:
    print("second")
else:
    print(step(), flush=True)
    os.execv(sys.executable, [sys.executable, "agent.py", "2"])
"""
    write(tmp_path, {"agent.py": source, "autochron.toml": RULES})
    assert autochron(tmp_path, "run", "agent.py").text.split() == ["3", "second"]
    replayed = autochron(tmp_path, "replay", "last")
    assert "autochron: the same" in replayed.said, replayed.said
    assert replayed.status == 0


def test_a_library_of_an_untested_major_version_is_reported(tmp_path):
    source = "import openai\nprint(openai.__version__)\n"
    files = {"agent.py": source, "autochron.toml": RULES.replace("packs = []", 'packs = ["auto"]')}
    tested = load_pack("openai").tested
    for version, is_named in (("99.1.0", True), (f"{tested[-1].partition('.')[0]}.999.0", False)):
        write(tmp_path, {**files, "openai/__init__.py": f'__version__ = "{version}"\n'})
        ran = autochron(tmp_path, "run", "agent.py")
        assert ran.text == f"{version}\n"
        reason = f"the pack was tested with {', '.join(tested)}; look whether all crossings are there"
        line = f"  openai {version}: {reason} (untested-version)"
        assert (line in ran.said.splitlines()) is is_named, ran.said
