"""Real modules are imported while the import hook is installed."""

import importlib
import importlib._bootstrap_external as external
import py_compile
import sys
import zipfile
import zipimport

import pytest

from autochron.weaving import heap, weave
from autochron.weaving.hook import Hook
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import is_woven
from tests.weaving import ways

TOOLS = """
import functools

def plain(a): return a

def deco(f):
    @functools.wraps(f)
    def wrapper(*args): return f(*args)
    return wrapper

@deco
def decorated(a): return a

def make():
    def inner(a): return a
    return inner

TOOLS = {f.__name__: f for f in (plain, decorated)}
CLOSURE = make()
SEEN = [plain(0)]
"""


class Planner:
    """A planner that selects every function of modules whose first name component is one of `roots`."""

    def __init__(self, *roots):
        self.roots = roots
        self.asked = []
        self.ran = []
        self.codes = {}

    def concerns(self, module, file):
        self.asked.append(module)
        return module.partition(".")[0] in self.roots

    def bindings(self, module, code):
        return ()

    def places(self, module, file, code):
        self.codes[module] = (file, code)
        return ways.all_places(code)

    def executed(self, module):
        self.ran.append(module.__name__)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture
def install():
    hooks = []

    def install(*roots):
        hook = Hook(Planner(*roots), Ledger())
        hooks.append(hook)
        hook.undo = hook.install()
        return hook

    yield install
    for hook in reversed(hooks):
        hook.uninstall()


def entered(*calls):
    handler = ways.Logging()
    with ways.handled_by(handler):
        for call in calls:
            call(1)
    return [name for event, name, *_ in handler.log if event == "enter"]


def test_functions_of_an_imported_module_are_woven_wherever_they_are_held(tree, install):
    (tree / "shop_a.py").write_text(TOOLS)
    hook = install("shop_a")
    import shop_a

    assert entered(shop_a.TOOLS["plain"], shop_a.TOOLS["decorated"], shop_a.CLOSURE) == [
        "plain", "deco.<locals>.wrapper", "decorated", "make.<locals>.inner",
    ]  # fmt: skip
    assert hook._planner.ran == ["shop_a"]
    assert {point.module for point in hook._ledger.points} == {"shop_a"}


def test_a_handler_sees_calls_during_the_import_of_a_module(tree, install):
    (tree / "shop_b.py").write_text(TOOLS)
    install("shop_b")
    handler = ways.Logging()
    with ways.handled_by(handler):
        import shop_b  # noqa: F401

    assert ("enter", "plain", (0,)) in handler.log


def test_a_module_that_is_loaded_from_the_bytecode_cache_is_woven(tree, install):
    (tree / "shop_c.py").write_text(TOOLS)
    install("shop_c")
    import shop_c

    assert is_woven(shop_c.plain.__code__)
    assert (tree / "__pycache__").is_dir()
    del sys.modules["shop_c"]
    reloaded = importlib.import_module("shop_c")
    assert is_woven(reloaded.plain.__code__)


def test_the_bytecode_cache_holds_the_unwoven_code(tree, install):
    (tree / "shop_d.py").write_text(TOOLS)
    hook = install("shop_d")
    import shop_d  # noqa: F401

    hook.uninstall()
    del sys.modules["shop_d"]
    reloaded = importlib.import_module("shop_d")

    assert not is_woven(reloaded.plain.__code__)


def test_modules_that_are_not_selected_keep_their_code(tree, install):
    (tree / "shop_e.py").write_text(TOOLS)
    (tree / "shop_e2.py").write_text(TOOLS)
    hook = install("shop_e")
    import shop_e2

    assert not is_woven(shop_e2.plain.__code__)
    assert "shop_e2" in hook._planner.asked
    assert hook._planner.codes == {}
    code = compile(TOOLS, "x", "exec")
    assert hook.weave("shop_e2", "x", code) is code
    assert hook.weave("shop_e", "x", compile("a = 1", "x", "exec")) is not None


def test_packages_and_their_submodules_are_woven(tree, install):
    (tree / "shop_f" / "deep").mkdir(parents=True)
    (tree / "shop_f" / "__init__.py").write_text("from .deep.tools import plain\n")
    (tree / "shop_f" / "deep" / "__init__.py").write_text("")
    (tree / "shop_f" / "deep" / "tools.py").write_text(TOOLS)
    hook = install("shop_f")
    import shop_f

    assert entered(shop_f.plain) == ["plain"]
    assert sorted(hook._planner.ran) == ["shop_f", "shop_f.deep", "shop_f.deep.tools"]


def test_a_module_without_source_is_woven(tree, install):
    (tree / "shop_g.py").write_text(TOOLS)
    py_compile.compile(str(tree / "shop_g.py"), cfile=str(tree / "shop_g.pyc"))
    (tree / "shop_g.py").unlink()
    install("shop_g")
    import shop_g

    assert isinstance(shop_g.__loader__, external.SourcelessFileLoader)
    assert entered(shop_g.plain) == ["plain"]


def test_a_zipped_module_is_woven(tree, install, monkeypatch):
    assert zipimport  # the hook patches it only if it is imported
    with zipfile.ZipFile(tree / "shop.zip", "w") as archive:
        archive.writestr("shop_h/__init__.py", "")
        archive.writestr("shop_h/tools.py", TOOLS)
    monkeypatch.syspath_prepend(str(tree / "shop.zip"))
    install("shop_h")
    tools = importlib.import_module("shop_h.tools")

    assert isinstance(tools.__loader__, zipimport.zipimporter)
    assert entered(tools.plain, tools.CLOSURE) == ["plain", "make.<locals>.inner"]


def test_a_module_that_was_imported_before_is_woven_in_place_and_restored(tree, install):
    (tree / "shop_i.py").write_text(TOOLS)
    import shop_i

    early, code = shop_i.plain, shop_i.plain.__code__
    hook = install("shop_i")
    hook.weave_imported("shop_i", shop_i)

    assert entered(early, shop_i.CLOSURE, shop_i.TOOLS["decorated"])[:2] == ["plain", "make.<locals>.inner"]
    assert early is shop_i.plain
    assert hook._planner.ran == ["shop_i"]
    hook.undo()
    assert early.__code__ is code


def test_several_modules_that_were_imported_before_are_woven_after_one_search_for_functions(
    tree, install, monkeypatch
):
    for name in ("shop_k", "shop_l"):
        (tree / f"{name}.py").write_text(TOOLS)
    import shop_k
    import shop_l

    searches, search = [], heap.exact_instances_of
    monkeypatch.setattr(heap, "exact_instances_of", lambda kind: searches.append(1) or search(kind))
    hook, functions = install("shop_k", "shop_l"), weave.Functions()
    for module in (shop_k, shop_l):
        hook.weave_imported(module.__name__, module, functions)

    assert searches == [1]
    assert entered(shop_k.plain, shop_l.CLOSURE) == ["plain", "make.<locals>.inner"]
    assert [code.co_filename for code in (shop_k.plain.__code__, shop_l.plain.__code__)] == [
        shop_k.__file__,
        shop_l.__file__,
    ]


def test_a_module_that_was_imported_before_and_is_not_selected_is_left_alone(tree, install):
    (tree / "shop_j.py").write_text(TOOLS)
    import shop_j

    hook = install("other")
    hook.weave_imported("shop_j", shop_j)

    assert not is_woven(shop_j.plain.__code__)
    assert hook._planner.ran == []


def test_uninstalling_restores_the_loaders():
    owners = [
        (external.SourceLoader, "get_code"),
        (external.SourcelessFileLoader, "get_code"),
        (external._LoaderBasics, "exec_module"),
        (external.ExtensionFileLoader, "exec_module"),
        (zipimport.zipimporter, "get_code"),
    ]
    before = [owner.__dict__[name] for owner, name in owners]
    hook = Hook(Planner("x"), Ledger())
    undo = hook.install()
    during = [owner.__dict__[name] for owner, name in owners]
    undo()

    assert all(patched is not original for patched, original in zip(during, before, strict=True))
    assert [function.__name__ for function in during] == [function.__name__ for function in before]
    assert all(
        owner.__dict__[name] is function for (owner, name), function in zip(owners, before, strict=True)
    )


def test_a_hook_that_someone_has_wrapped_since_stays_but_weaves_nothing(tree, monkeypatch):
    (tree / "shop_k.py").write_text(TOOLS)
    hook = Hook(Planner("shop_k"), Ledger())
    before = external.SourceLoader.get_code
    undo = hook.install()
    mine = external.SourceLoader.get_code

    def theirs(self, name):
        return mine(self, name)

    external.SourceLoader.get_code = theirs
    try:
        undo()
        assert external.SourceLoader.get_code is theirs
        import shop_k

        assert not is_woven(shop_k.plain.__code__)
    finally:
        external.SourceLoader.get_code = before


def test_two_hooks_stack_and_each_undoes_its_own(tree, install):
    (tree / "shop_l.py").write_text(TOOLS)
    (tree / "shop_m.py").write_text(TOOLS)
    first, second = install("shop_l"), install("shop_m")
    import shop_l

    second.uninstall()
    import shop_m

    assert is_woven(shop_l.plain.__code__)
    assert not is_woven(shop_m.plain.__code__)
    assert first._ledger.unwoven == ()


def test_errors_of_a_module_are_raised_unchanged(tree, install):
    (tree / "shop_n.py").write_text("def f(:\n")
    (tree / "shop_o.py").write_text("def f(): pass\n1 / 0\n")
    hook = install("shop_n", "shop_o")

    with pytest.raises(SyntaxError) as raised:
        import shop_n  # noqa: F401
    assert (raised.value.filename, raised.value.lineno) == (str(tree / "shop_n.py"), 1)
    with pytest.raises(ZeroDivisionError):
        import shop_o  # noqa: F401
    assert hook._planner.ran == []
