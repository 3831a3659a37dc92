"""Loading rule files: the loaded rules, and the exact message of each refusal."""

import os
import subprocess
import sys

import pytest

from autochron import config
from autochron.errors import RuleError
from autochron.model import (
    BoundaryRule,
    Decorated,
    Define,
    Http,
    MetaPaths,
    Place,
    Target,
    TraceRule,
)
from autochron.rules.loading import load_rules
from autochron.rules.packs import pack_index

SHIPPED = ", ".join(f"`{name}`" for name in sorted(pack_index()))

SHIPPED = ", ".join(f"`{name}`" for name in sorted(pack_index()))
HEAD = "version = 1\n"
BOUNDARY = '[[boundary]]\nname = "a"\nkind = "tool"\n'


def load(tmp_path, text, name="autochron.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_rules(path)


def test_define_takes_a_list_of_patterns(tmp_path):
    text = f'{HEAD}{BOUNDARY}define = ["shop.tools:*", "shop.desk:Desk.*"]\nexclude = ["log"]\n'
    loaded = load(tmp_path, text)
    assert [(rule.id, rule.selector) for rule in loaded.boundaries] == [
        ("autochron.toml:2", Define("shop.tools", "*", ("log",))),
        ("autochron.toml:2", Define("shop.desk", "Desk.*", ("log",))),
    ]
    assert load(tmp_path, f'{HEAD}{BOUNDARY}define = ["a:*"]\n').digest == (
        load(tmp_path, f'{HEAD}{BOUNDARY}define = "a:*"\n').digest
    )


@pytest.mark.parametrize(
    ("line", "changes"),
    [("", None), ("changes = []\n", ()), ('changes = ["a.b", "c"]\n', ("a.b", "c"))],
)
def test_changes_are_loaded_as_none_or_as_the_named_paths(tmp_path, line, changes):
    text = f'version = 1\n[[boundary]]\nname = "n"\nkind = "tool"\ntarget = "a:b"\n{line}'
    assert [rule.changes for rule in load(tmp_path, text).boundaries] == [changes]


def test_a_file_with_every_key_is_loaded(tmp_path):
    (tmp_path / "src").mkdir()
    rules = load(
        tmp_path,
        """version = 1
packs = ["auto"]
project = ["src"]
disable = ["openai.images"]

[[boundary]]
name = "agent"
kind = "model"
target = ["openai._base_client:SyncAPIClient.request", "m:f"]
when = { "options.url" = ["*/a", "*/b"] }

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "shop.tools:*"
exclude = ["helper_*"]
capture = ["input.symbol"]
redact = ["input.card"]
volatile = ["input.at"]
codec = "value"
[boundary.meta]
model = "input.model"
sampling = ["request.temperature", "response.events.*.data[type=x].y"]
sdk = "shop"

[[boundary]]
name = "t"
kind = "router"
decorated = "shop.registry.tool"

[[boundary]]
name = "h"
kind = "model"
http = "POST */chat/completions"

[[trace]]
target = "app:handle"

""",
    )

    def place(line):
        return Place("autochron.toml", line)

    client = Target("openai._base_client", "SyncAPIClient.request")
    assert rules.boundaries == (
        *(
            BoundaryRule(
                id="autochron.toml:6",
                name="agent",
                kind="model",
                selector=selector,
                place=place(6),
                when=(("options.url", glob),),
            )
            for selector in (client, Target("m", "f"))
            for glob in ("*/a", "*/b")
        ),
        BoundaryRule(
            id="autochron.toml:12",
            name="{__name__}",
            kind="tool",
            selector=Define("shop.tools", "*", ("helper_*",)),
            place=place(12),
            capture=("input.symbol",),
            redact=("input.card",),
            volatile=("input.at",),
            codec="value",
            meta=MetaPaths(
                model=("input.model",),
                sampling=("request.temperature", "response.events.*.data[type=x].y"),
                sdk="shop",
            ),
        ),
        BoundaryRule(
            id="autochron.toml:26",
            name="t",
            kind="router",
            selector=Decorated("shop.registry.tool"),
            place=place(26),
        ),
        BoundaryRule(
            id="autochron.toml:31",
            name="h",
            kind="model",
            selector=Http("POST", "*/chat/completions"),
            place=place(31),
        ),
    )
    assert rules.traces == (TraceRule(Target("app", "handle"), place(36)),)
    assert (rules.auto, rules.packs, rules.disable) == (True, (), ("openai.images",))
    assert rules.project == (str(tmp_path / "src"),)
    assert (rules.root, rules.file) == (str(tmp_path), str(tmp_path / "autochron.toml"))
    assert len(rules.digest) == 64


def test_child_processes_are_recorded_by_default(tmp_path):
    assert load(tmp_path, HEAD).children is True
    assert load(tmp_path, f"{HEAD}children = false\n").children is False


AMBIENT = '[[boundary]]\nkind = "ambient"\n'
BAD = [
    ("", "1: the rule file has no `version`; write version = 1"),
    ("version = 2\n", "1: `version` is 2, and this release reads 1; update autochron"),
    ("version = 0\n", "1: `version` is 0; write version = 1"),
    ('version = "1"\n', "1: `version` must be an integer, and is a string"),
    ("version = true\n", "1: `version` must be an integer, and is a boolean"),
    ("version = \n", "1: Invalid value at column 11"),
    (
        "version = 1\nroot = a/b.py:43 # here\n",
        '2: Invalid value at column 8; text needs quotes: "a/b.py:43"',
    ),
    ("version = 1\npacks = [1,\n openai]\n", '3: Invalid value at column 2; text needs quotes: "openai"'),
    ("version = 1\nversion = 1\n", "2: Cannot overwrite a value at column 12"),
    (HEAD + "pakcs = []\n", "2: the rule file has no key `pakcs`; nearest is `packs`"),
    (HEAD + 'packs = "auto"\n', "2: `packs` must be an array of strings, and is a string"),
    (HEAD + 'packs = [\n "auto",\n 1]\n', "4: `packs` must hold strings only, and holds an integer"),
    (HEAD + 'packs = [\n "opanai",\n]\n', "3: there is no pack `opanai`; nearest is `openai`"),
    (HEAD + 'packs = ["zz"]\n', f"2: there is no pack `zz`; known are `auto`, {SHIPPED}"),
    (
        HEAD + 'disable = ["openai.image"]\n',
        "2: no pack in force has a rule `openai.image`; nearest is `openai.images`",
    ),
    (
        HEAD + 'packs = ["anthropic"]\ndisable = ["openai.images"]\n',
        (
            "3: no pack in force has a rule `openai.images`; known are `anthropic.messages`, "
            "`anthropic.count_tokens`, `anthropic.batches`, `anthropic.models`, `anthropic.files`, "
            "`anthropic.completions`, `anthropic`"
        ),
    ),
    (HEAD + 'children = "no"\n', "2: `children` must be a boolean, and is a string"),
    (HEAD + "chldren = false\n", "2: the rule file has no key `chldren`; nearest is `children`"),
    (HEAD + 'project = ["srcs"]\n', "2: `project` has `srcs`, which isn't there; nearest is `src`"),
    (
        HEAD + "boundary = 1\n",
        "2: `boundary` must be an array of tables, written [[boundary]], and is an integer",
    ),
    (HEAD + "[[boundary]]\nknd = 1\n", "3: [[boundary]] has no key `knd`; nearest is `kind`"),
    (
        HEAD + "[[boundary]]\n",
        "2: [[boundary]] has no selector; give one of `target`, `define`, `decorated`, `call`, `http`",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\ndefine = "a:*"\n',
        "6: [[boundary]] has two selectors, `target` and `define`; keep one",
    ),
    (
        HEAD + '[[boundary]]\nkind = "tool"\ntarget = "a:b"\n',
        '2: [[boundary]] has no `name`; give one, such as name = "{__name__}"',
    ),
    (
        HEAD + '[[boundary]]\nname = "x"\ntarget = "a:b"\n',
        "2: [[boundary]] has no `kind`; it is one of `model`, `tool`, `router`, `ambient`",
    ),
    (
        HEAD + '[[boundary]]\nname = "x"\nkind = "tol"\ntarget = "a:b"\n',
        "4: `kind` is `tol`; nearest is `tool`",
    ),
    (
        HEAD + '[[boundary]]\nname = "x"\nkind = "zzz"\ntarget = "a:b"\n',
        "4: `kind` is `zzz`; known are `model`, `tool`, `router`, `ambient`",
    ),
    (
        HEAD + '[[boundary]]\nname = 3\nkind = "tool"\ntarget = "a:b"\n',
        "3: `name` must be a string, and is an integer",
    ),
    (
        HEAD + BOUNDARY + 'target = "shop.tools.refund"\n',
        "5: `target` `shop.tools.refund` has no colon; write module:qualname, nearest is `shop.tools:refund`",
    ),
    (
        HEAD + BOUNDARY + 'target = "shop.Desk.refund"\n',
        "5: `target` `shop.Desk.refund` has no colon; write module:qualname, nearest is `shop:Desk.refund`",
    ),
    (HEAD + BOUNDARY + 'target = "refund"\n', "5: `target` `refund` is not of the form module:qualname"),
    (HEAD + BOUNDARY + 'target = "a:b:c"\n', "5: `target` `a:b:c` is not of the form module:qualname"),
    (HEAD + BOUNDARY + 'target = "a:*"\n', "5: `target` `a:*` holds `*`; a pattern is given with `define`"),
    (
        HEAD + BOUNDARY + 'target = "a-b:c"\n',
        "5: `target` `a-b:c` has `a-b` for a module; write module:qualname",
    ),
    (HEAD + BOUNDARY + "target = []\n", "5: `target` is empty; write module:qualname"),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nexclude = ["x"]\n',
        "6: `exclude` belongs to `define`, and this [[boundary]] has `target`",
    ),
    (
        HEAD + BOUNDARY + 'define = "shop.tools"\n',
        "5: `define` `shop.tools` is not of the form module glob:name glob, such as `shop.tools:*`",
    ),
    (
        HEAD + BOUNDARY + 'define = "s**:*"\n',
        (
            "5: `define` `s**:*` has a module glob that joins `**` to other text; "
            "it stands for whole components: `shop.**`"
        ),
    ),
    (
        HEAD + BOUNDARY + 'define = "a:[x]"\n',
        "5: `define` `a:[x]` has a name glob that holds `[x]`; only names and `*` may stand between the dots",
    ),
    (
        HEAD + BOUNDARY + 'define = "a..b:*"\n',
        "5: `define` `a..b:*` has a module glob that has an empty component",
    ),
    (HEAD + BOUNDARY + 'define = "a:*"\nexclude = [""]\n', "6: `exclude` `` is empty"),
    (
        HEAD + BOUNDARY + "define = []\n",
        "5: `define` is empty; write module glob:name glob, such as `shop.tools:*`",
    ),
    (
        HEAD + BOUNDARY + 'define = ["a:*", ""]\n',
        "5: `define` is empty; write module glob:name glob, such as `shop.tools:*`",
    ),
    (HEAD + BOUNDARY + 'define = ["a:*", 1]\n', "5: `define` must hold strings only, and holds an integer"),
    (
        HEAD + BOUNDARY + "define = 1\n",
        "5: `define` must be a string or an array of strings, and is an integer",
    ),
    (
        HEAD + BOUNDARY + 'decorated = "@shop.registry:tool()"\n',
        "5: `decorated` `@shop.registry:tool()` is not a dotted name; nearest is `shop.registry.tool`",
    ),
    (
        HEAD + BOUNDARY + 'http = "*/chat"\n',
        "5: `http` `*/chat` is not a method and a URL glob, such as `POST */chat/completions`",
    ),
    (
        HEAD + BOUNDARY + 'http = "post */chat"\n',
        "5: `http` `post */chat` has the method `post`; nearest is `POST`",
    ),
    (
        HEAD + BOUNDARY + 'http = "GET */a?b=1"\n',
        "5: `http` `GET */a?b=1` has a query; the URL is compared without it",
    ),
    (
        HEAD + BOUNDARY + 'http = "GET *"\nargument = "x"\n',
        "6: `argument` needs a call's arguments, which a rule with `http` doesn't have",
    ),
    (
        HEAD + BOUNDARY + 'call = "f(..."\n',
        "5: `call` `f(...` doesn't parse: '(' was never closed",
    ),
    (
        HEAD + BOUNDARY + 'call = "TOOLS[$tool]"\n',
        (
            "5: `call` `TOOLS[$tool]` is no call; nearest is `TOOLS[$tool](...)`: it is a pattern, and has parentheses; "
            "a bare name is for kind `ambient`"
        ),
    ),
    (
        HEAD + BOUNDARY + 'call = "locals()"\n',
        "5: `call` `locals()` is for `locals`, which looks at the frame that calls it, so it can't be woven",
    ),
    (
        HEAD + BOUNDARY + 'call = "$f(...)"\n',
        "5: `call` `$f(...)` names nothing that is called, so it would fit nearly every call; spell out a name",
    ),
    (
        HEAD + BOUNDARY + 'call = "f($a, $a)"\n',
        "5: `call` `f($a, $a)` binds `$a` twice; give one of them another name",
    ),
    (
        HEAD + BOUNDARY + 'call = "f(*$a)"\n',
        "5: `call` `f(*$a)` unpacks arguments; `...` stands for any of them",
    ),
    (
        HEAD + BOUNDARY + 'call = "f(...)"\nwithin = "a..b"\n',
        "6: `within` `a..b` has a module glob that has an empty component",
    ),
    (
        HEAD + '[[boundary]]\nkind = "tool"\nname = "{tol}"\ncall = "TOOLS[$tool](...)"\n',
        "4: `name` uses `{tol}`, which `TOOLS[$tool](...)` doesn't bind; nearest is `tool`; bind it with `$tol`",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nwithin = "x"\n',
        "6: `within` belongs to `call`, and this [[boundary]] has `target`",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nwhen = { "a..b" = "x" }\n',
        "6: `when` path `a..b` has an empty component",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\n[boundary.when]\nok = "x"\n"a.b*" = "x"\n',
        "8: `when` path `a.b*` holds `b*`; `*` stands alone between the dots",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nwhen = { a = 1 }\n',
        "6: `a` must be a string or an array of strings, and is an integer",
    ),
    (HEAD + BOUNDARY + 'target = "a:b"\nwhen = { a = [] }\n', "6: `when` has no glob for `a`"),
    (HEAD + BOUNDARY + 'target = "a:b"\nwhen = []\n', "6: `when` is empty"),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nwhen = [{ a = "x" }, {}]\n',
        "6: `when` has a table without a condition",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nwhen = [\n  { a = "x" },\n  { "a..b" = "x" },\n]\n',
        "8: `when` path `a..b` has an empty component",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nwhen = { a = "**" }\n',
        "6: `when` glob `**` holds `**`; `*` is any text already",
    ),
    (HEAD + BOUNDARY + 'target = "a:b"\nredact = ["x["]\n', "6: `redact` `x[` has brackets that don't pair"),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nvolatile = ["x[y]"]\n',
        "6: `volatile` `x[y]` holds `[y]`; a filter is `[key=value]`",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nchanges = ["x.*.y"]\n',
        "6: `changes` `x.*.y` must lead to one object: no `*`, no filter",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nmeta = { modl = "x" }\n',
        "6: meta has no key `modl`; nearest is `model`",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nmeta = { model = "model" }\n',
        "6: `model` `model` must start with one of `request.`, `response.`, `path.`, `input.`, `outcome.`, `item.`",
    ),
    (HEAD + BOUNDARY + 'target = "a:b"\ncodec = "htp"\n', "6: `codec` is `htp`; nearest is `http`"),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nobserve = "yes"\n',
        "6: `observe` must be a boolean, and is a string",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\noutcome = "result"\n',
        "6: `outcome` `result` is not of the form argument:name; nearest is `argument:result`",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\noutcome = "argument:a"\nobserve = true\n',
        "7: `observe` leaves everything as it is, and `outcome` replaces an argument; keep one",
    ),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nargument = "a.*"\n',
        "6: `argument` `a.*` is not the name of a parameter, or a path into one",
    ),
    (HEAD + BOUNDARY + 'target = "a:b"\nid = "x"\n', "6: [[boundary]] has no key `id`; nearest is `kind`"),
    (
        HEAD + BOUNDARY + 'target = "a:b"\nstate = ""\n',
        "6: `state` is empty; name the state that tools share",
    ),
    (
        HEAD + '[[ignore]]\nsite = "a.py:1"\nreason = "r"\n',
        "2: [[ignore]] has no `call`; write the call, such as `time.perf_counter()`, or a category, such as `clock`",
    ),
    (
        HEAD + '[[ignore]]\ncategory = "clok"\nsite = "a.py:1"\nreason = "r"\n',
        "3: `category` is `clok`; nearest is `clock`",
    ),
    (
        HEAD + '[[ignore]]\ncall = "a()"\nsite = "../a.py:1"\nreason = "r"\n',
        (
            "4: `site` `../a.py:1` names no file of the project; "
            "write it from the rules' root, with `/`, such as `shop/agent.py:31`"
        ),
    ),
    (
        HEAD + '[[ignore]]\ncall = "a()"\nsite = "a.py:1"\n',
        "2: [[ignore]] has no `reason`; say why the finding is accepted",
    ),
    (
        HEAD + '[[ignore]]\ncall = "a("\nsite = "a.py"\nreason = "r"\n',
        "3: `call` `a(` is not a call, such as `time.perf_counter()`",
    ),
    (
        HEAD + '[[ignore]]\ncall = "a()"\nsite = "a.py:x"\nreason = "r"\n',
        "4: `site` `a.py:x` is not of the form path:line",
    ),
    (HEAD + "[[trace]]\n", "2: [[trace]] has no `target`; write module:qualname"),
    (HEAD + 'ambient = ["clock", "uuids"]\n', "2: `ambient` has `uuids`; nearest is `uuid`"),
    (
        HEAD + 'ambient = ["files"]\n',
        (
            "2: `ambient` has `files`; known are `clock`, `random`, `uuid`; its values can't be recorded where they are asked"
            " for: make the call a boundary"
        ),
    ),
    (HEAD + 'ambient = "clock"\n', "2: `ambient` must be an array of strings, and is a string"),
    (
        HEAD + AMBIENT + 'site = "a.py:1"\n',
        "2: [[boundary]] has no `call`; write the call, such as `time.time`",
    ),
    (
        HEAD + AMBIENT + 'call = "time.time(...)"\nsite = "a.py:1"\n',
        "4: `call` `time.time(...)` is not a dotted name, such as `time.time`, which a `site` goes with",
    ),
    (
        HEAD + AMBIENT + 'call = "time.time"\nsite = "a.py"\n',
        "5: `site` `a.py` has no line; write path:line, or give the `hash` of the line",
    ),
    (
        HEAD + AMBIENT + 'call = "time.time"\nsite = "a.py:1"\nhash = "zz"\n',
        "6: `hash` `zz` is not 8 or more hexadecimal digits",
    ),
    (
        HEAD + AMBIENT + 'call = "time.time"\nsite = "a.py:1"\nname = "{model}"\n',
        "6: `name` `{model}` must be a plain name: a value has no arguments to take it from",
    ),
    (
        HEAD + AMBIENT + 'call = "time.time"\nsite = "a.py:1"\nwhen = { a = "b" }\n',
        "6: [[boundary]] has no key `when`; known are `name`, `kind`, `call`, `site`, `hash`",
    ),
]


def test_ambient_rules_are_loaded(tmp_path):
    text = (
        HEAD
        + 'ambient = ["uuid", "clock", "uuid"]\n'
        + AMBIENT
        + 'call = "time.time()"\nsite = "a.py:3"\n'
        + AMBIENT
        + 'call = "datetime.date.today"\nsite = "b.py"\nhash = "0123456789ab"\nname = "today"\n'
        # Without a site it is an ordinary boundary.
        + '[[boundary]]\nname = "now"\nkind = "ambient"\ncall = "time.time()"\n'
    )
    rules = load(tmp_path, text)
    assert rules.ambient == ("uuid", "clock")
    assert [(rule.call, rule.site, rule.hash, rule.name, str(rule.place)) for rule in rules.ambients] == [
        ("time.time", "a.py:3", None, None, "autochron.toml:3"),
        ("datetime.date.today", "b.py", "0123456789ab", "today", "autochron.toml:7"),
    ]
    assert [rule.name for rule in rules.boundaries] == ["now"]
    variants = [
        text.replace('"clock", ', ""),
        text.replace("a.py:3", "a.py:4"),
        text.replace('"today"', '"day"'),
        text.replace("0123456789ab", "0123456789ac"),
    ]
    assert len({rules.digest, *(load(tmp_path, variant).digest for variant in variants)}) == 5


def test_ignores_are_loaded(tmp_path):
    rules = load(
        tmp_path,
        HEAD
        + '[[ignore]]\ncall = "time.time()"\nsite = "a.py:3"\nhash = "0123456789ab"\nreason = "for the log"\n'
        + '[[ignore]]\ncategory = "env"\nsite = "a.py"\nreason = "settings"\n',
    )
    assert [(rule.call, rule.category, rule.site, rule.hash, rule.reason) for rule in rules.ignores] == [
        ("time.time()", None, "a.py:3", "0123456789ab", "for the log"),
        (None, "env", "a.py", None, "settings"),
    ]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_malformed_file_is_refused(tmp_path, text, message):
    (tmp_path / "src").mkdir()
    with pytest.raises(RuleError) as caught:
        load(tmp_path, text)
    assert str(caught.value) == f"autochron.toml:{message} (bad-rule)"


MAY_USE = "a name may use attributes, keys, {caller}, {model} and {closure.x}, never a call"
NAMES = [
    ("", '`name` is empty; give one, such as name = "{__name__}"'),
    (
        "{x()}",
        "`name` `{x()}` calls something in `{x()}`; " + MAY_USE,
    ),
    (
        "{a+b}",
        "`name` `{a+b}` has `+b` in `{a+b}`; " + MAY_USE,
    ),
    (
        "{}",
        "`name` `{}` has `{}`; " + MAY_USE,
    ),
    ("{a", "`name` `{a` has a `{` without its `}`"),
    ("a}", "`name` `a}` has a `}` without its `{`"),
    ("{__nam__}", "`name` `{__nam__}` has `{__nam__}`; nearest is `{__name__}`"),
    ("{closure}", "`name` `{closure}` has `{closure}` without a variable: write `{closure.x}`"),
    ("{model.x}", "`name` `{model.x}` looks into `{model}`, which is text"),
    ("{a.}", "`name` `{a.}` has an empty attribute in `{a.}`"),
    ("a b", "`name` `a b` holds ' '; an address is written name[1], so use `_`, `.` or `-`"),
    ("kind:tool", "`name` `kind:tool` starts as a plan does, with `kind:` or `after:`"),
]


@pytest.mark.parametrize(("name", "message"), NAMES)
def test_a_malformed_name_is_refused(tmp_path, name, message):
    with pytest.raises(RuleError) as caught:
        load(tmp_path, f"{HEAD}[[boundary]]\nkind = 'tool'\nname = '{name}'\ntarget = 'a:b'\n")
    assert str(caught.value) == f"autochron.toml:4: {message} (bad-rule)"


def test_an_unreadable_file_is_refused(tmp_path):
    with pytest.raises(RuleError) as caught:
        load_rules(tmp_path / "autochron.toml")
    assert (
        str(caught.value)
        == "autochron.toml can't be read (No such file or directory); name another rule file (bad-rule)"
    )
    (tmp_path / "autochron.toml").write_bytes(b"version = 1\n# \xff\n")
    with pytest.raises(RuleError) as caught:
        load_rules(tmp_path / "autochron.toml")
    assert str(caught.value) == "autochron.toml:2: not UTF-8 (bad-rule)"


def test_rules_are_loaded_from_a_table_of_pyproject(tmp_path):
    text = '[project]\nname = "x"\n\n[tool.autochron]\nversion = 1\n\n[[tool.autochron.boundary]]\n'
    text += BOUNDARY.partition("\n")[2] + 'target = "a:b"\n'
    rules = load(tmp_path, text, "pyproject.toml")
    assert [rule.id for rule in rules.boundaries] == ["pyproject.toml:7"]
    with pytest.raises(RuleError) as caught:
        load(tmp_path, text + "knd = 1\n", "pyproject.toml")
    assert (
        str(caught.value) == "pyproject.toml:11: [[boundary]] has no key `knd`; nearest is `kind` (bad-rule)"
    )
    with pytest.raises(RuleError) as caught:
        load(tmp_path, "[tool]\n", "pyproject.toml")
    assert (
        str(caught.value)
        == "pyproject.toml has no table [tool.autochron]; add one, or name another rule file (bad-rule)"
    )


def test_the_digest_depends_on_the_meaning_of_the_rules(tmp_path):
    digest = load(tmp_path, HEAD + BOUNDARY + 'target = "a:b"\n').digest
    assert (
        load(tmp_path, '# c\nversion=1\n\n[[boundary]]\ntarget="a:b"\nkind="tool"\nname="a" # d\n').digest
        == digest
    )
    assert load(tmp_path, HEAD + BOUNDARY + 'target = "a:c"\n').digest != digest
    assert load(tmp_path, HEAD + "packs = []\n" + BOUNDARY + 'target = "a:b"\n').digest != digest
    assert load_rules(None, root=tmp_path).digest != digest
    assert load_rules(None, root=tmp_path).digest == load_rules(None).digest


def test_a_rule_file_may_name_another_root(tmp_path):
    folder = tmp_path / "incidents" / "refund"
    folder.mkdir(parents=True)
    (folder.parent / "src").mkdir()
    (tmp_path / "src").mkdir()
    text = f'project = ["src"]\n{BOUNDARY}target = "a:b"\n'
    rules, copy = load(tmp_path, HEAD + text), load(folder, f'root = "../.."\n{HEAD}{text}')
    assert (
        (copy.root, copy.project) == (str(tmp_path), (str(tmp_path / "src"),)) == (rules.root, rules.project)
    )
    assert copy.digest == rules.digest
    assert copy.file == str(folder / "autochron.toml")
    assert load_rules(folder / "autochron.toml", root=folder.parent).root == str(folder.parent)


def test_a_missing_root_is_refused(tmp_path):
    with pytest.raises(RuleError) as caught:
        load(tmp_path, f'{HEAD}root = "nowhere"\n')
    assert str(caught.value) == (
        "autochron.toml:2: `root` is `nowhere`, and there is no such folder from here; name the project's (bad-rule)"
    )


def test_named_packs_are_loaded_at_once(tmp_path):
    rules = load(tmp_path, HEAD + 'packs = ["openai"]\ndisable = ["openai.chat"]\n')
    assert (rules.auto, [pack.name for pack in rules.packs]) == (False, ["openai"])
    assert "openai.chat" not in {rule.id for rule in rules.packs[0].boundaries}


def test_a_project_without_a_rule_file_gets_default_rules(tmp_path):
    rules = load_rules(None, root=tmp_path)
    assert (rules.boundaries, rules.packs, rules.auto, rules.root, rules.file) == (
        (),
        (),
        True,
        str(tmp_path),
        None,
    )


def test_the_nearest_rule_file_wins(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "autochron.toml").write_text(HEAD)
    assert config.find_rule_file(deep / "agent.py") == str(tmp_path / "autochron.toml")
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "autochron-user"\n')
    assert config.find_rule_file(deep) == str(tmp_path / "autochron.toml")
    for text in (
        "[tool.autochron]\nversion = 1\n",
        "[tool]\nautochron = {version = 1}\n",
        '[ tool . "autochron" ]\n',
        "[tool.autochron\n",
    ):
        (tmp_path / "a" / "pyproject.toml").write_text(text)
        assert config.find_rule_file(deep) == str(tmp_path / "a" / "pyproject.toml")
    (tmp_path / "a" / "autochron.toml").write_text(HEAD)
    assert config.find_rule_file(deep) == str(tmp_path / "a" / "autochron.toml")


def test_the_store_is_beside_the_rules(tmp_path):
    store = os.path.join(".autochron", "traces.db")
    assert config.default_store(tmp_path / "autochron.toml") == str(tmp_path / store)
    assert config.default_store(None, tmp_path) == str(tmp_path / store)
    assert config.default_store(None) == os.path.join(os.getcwd(), store)


def test_loading_default_rules_imports_no_toml_parser():
    code = (
        "import sys; import autochron.rules.loading as r; r.load_rules(None); "
        "print(sorted({'tomli', 'difflib', 'hashlib', 'libcst'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
