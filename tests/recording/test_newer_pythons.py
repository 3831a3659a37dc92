"""What programs do on newer Pythons only: interpreters beside the main one, contexts of threads, lazy imports."""

import sys

import pytest

from tests.cli import processes

RULES = 'version = 1\n\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "lib:*"\n'
LIB = "import random\n\n\ndef add(a, b):\n    return a + b + random.random()\n\n\ndef double(n):\n    return 2 * n\n"


@pytest.fixture
def run(tmp_path):
    def run_agent(agent, **env):
        processes.write(tmp_path, {"lib.py": LIB, "agent.py": agent, "autochron.toml": RULES})
        recorded = processes.autochron(tmp_path, "run", "agent.py", env=env, fresh=True)
        assert recorded.status == 0, recorded.said
        replayed = processes.autochron(tmp_path, "replay", "last", env=env, fresh=True)
        assert (replayed.status, replayed.text) == (0, recorded.text), replayed.said
        assert "Traceback" not in recorded.said + replayed.said
        return recorded

    return run_agent


@pytest.mark.skipif(sys.version_info < (3, 14), reason="the pool is new in 3.14")
def test_a_pool_of_interpreters_works_and_is_told(run):
    recorded = run(
        "from concurrent.futures import InterpreterPoolExecutor\n"
        "import lib\n"
        "print(lib.add(1, 2))\n"
        "with InterpreterPoolExecutor(1) as pool:\n"
        "    print(pool.submit(lib.double, 21).result())\n"
    )
    assert recorded.text.endswith("42\n")
    assert "add ×1" in recorded.said
    assert "double" not in recorded.said
    assert "subinterpreters: what ran in other interpreters of this process is not recorded" in recorded.said


@pytest.mark.skipif(sys.version_info < (3, 14), reason="the module is new in 3.14")
def test_an_interpreter_that_is_made_by_hand_is_told(run):
    recorded = run(
        "from concurrent import interpreters\n"
        "import lib\n"
        "print(lib.add(1, 2))\n"
        "interpreter = interpreters.create()\n"
        "interpreter.exec('n = 1')\n"
        "interpreter.close()\n"
    )
    assert "(subinterpreter)" in recorded.said


def test_a_program_without_interpreters_is_told_nothing(run):
    assert "subinterpreter" not in run("import lib\nprint(lib.add(1, 2))\n").said


@pytest.mark.skipif(sys.version_info < (3, 14), reason="threads take a context since 3.14")
def test_a_thread_in_a_context_of_the_programs_has_its_own_lane_and_leaves_the_context_as_it_was(run):
    recorded = run(
        "import contextvars, threading\n"
        "import lib\n"
        "name = contextvars.ContextVar('name', default='none')\n"
        "context = contextvars.copy_context()\n"
        "context.run(name.set, 'given')\n"
        "before = len(context)\n"
        "found = []\n"
        "def work():\n"
        "    found.append((name.get(), lib.double(4)))\n"
        "for _ in range(2):\n"
        "    thread = threading.Thread(target=work, context=context)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "print(found, lib.double(1), context.run(lib.double, 2), context.run(name.get))\n"
    )
    assert recorded.text == "[('given', 8), ('given', 8)] 2 4 given\n"
    assert "double ×4" in recorded.said


@pytest.mark.skipif(sys.version_info < (3, 14), reason="the flag is new in 3.14")
@pytest.mark.parametrize("inherits", ["0", "1"])
def test_threads_that_inherit_a_context_have_their_own_lanes(run, inherits):
    recorded = run(
        "import concurrent.futures, sys, threading\n"
        "import lib\n"
        "threads = [threading.Thread(target=lib.double, args=(n,)) for n in range(3)]\n"
        "for thread in threads:\n"
        "    thread.start()\n"
        "for thread in threads:\n"
        "    thread.join()\n"
        "with concurrent.futures.ThreadPoolExecutor(2) as pool:\n"
        "    print(sys.flags.thread_inherit_context, list(pool.map(lib.double, range(3))))\n",
        PYTHON_THREAD_INHERIT_CONTEXT=inherits,
    )
    assert recorded.text == f"{inherits} [0, 2, 4]\n"
    assert "double ×6" in recorded.said


@pytest.mark.skipif(sys.version_info < (3, 15), reason="lazy imports are new in 3.15")
def test_a_module_that_is_imported_lazily_is_woven_where_it_is_first_used(run):
    recorded = run(
        "import sys\n"
        "lazy import lib\n"
        "lazy from lib import double\n"
        "print('lib' in sys.modules)\n"
        "print(lib.add(1, 2), double(3), 'lib' in sys.modules)\n"
    )
    assert recorded.text.startswith("False\n")
    assert recorded.text.endswith(" 6 True\n")
    assert "add ×1, double ×1" in recorded.said


@pytest.mark.skipif(sys.version_info < (3, 15), reason="the mode is new in 3.15")
def test_a_program_whose_imports_are_all_lazy_is_recorded(run):
    recorded = run(
        "import sys, lib, colorsys\n"
        "print(sys.get_lazy_imports(), 'lib' in sys.modules, 'colorsys' in sys.modules)\n"
        "print(lib.add(1, 2) > 0, 'lib' in sys.modules)\n",
        PYTHON_LAZY_IMPORTS="all",
    )
    assert recorded.text == "all False False\nTrue True\n"
    assert "add ×1" in recorded.said


@pytest.mark.skipif(sys.version_info < (3, 15), reason="filters are new in 3.15")
def test_a_filter_of_the_programs_hears_of_its_own_imports_only(run):
    recorded = run(
        "import sys\n"
        "def heard(importing, imported, names):\n"
        "    print(importing, imported)\n"
        "    return imported != 'lib'\n"
        "sys.set_lazy_imports_filter(heard)\n"
        "lazy import lib\n"
        "lazy import colorsys\n"
        "print('lib' in sys.modules, 'colorsys' in sys.modules, sys.get_lazy_imports_filter() is heard)\n"
        "print(lib.add(1, 2) > 0)\n"
        "sys.set_lazy_imports_filter(None)\n"
        "try:\n"
        "    sys.set_lazy_imports_filter(3)\n"
        "except (TypeError, ValueError) as error:\n"
        "    print(type(error).__name__, sys.get_lazy_imports_filter())\n"
    )
    assert recorded.text.splitlines()[:4] == ["__main__ lib", "__main__ colorsys", "True False True", "True"]
    assert recorded.text.endswith(" None\n")


def test_a_warning_of_the_compiler_is_given_as_often_as_without(tmp_path):
    agent = "import lib\nx = 5 is 1\nprint(lib.double(2))\n"
    rules = 'version = 1\n\n[[boundary]]\nname = "double"\nkind = "tool"\ncall = "lib.double($n)"\n'
    processes.write(tmp_path, {"lib.py": LIB, "agent.py": agent, "autochron.toml": rules})
    counts = [
        command.said.count("SyntaxWarning")
        for command in (
            processes.python(tmp_path, "agent.py", fresh=True),
            processes.autochron(tmp_path, "run", "agent.py", fresh=True),
            processes.autochron(tmp_path, "replay", "last", fresh=True),
        )
    ]
    assert counts == [1, 1, 1]
