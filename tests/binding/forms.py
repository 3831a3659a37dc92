"""Call sites in every form: a program, a pattern, and the calls of the program that cross.

Each program is a module `agent` beside the modules `broker` and `deals`, and has a function `main()`. The expected crossings
are listed by name, in the order of their start.
"""

import sys
from typing import NamedTuple

BROKER = """
calls = []

class Client:
    kind = "live"

    def sell(self, symbol, qty=1):
        calls.append((symbol, qty))
        return f"{symbol}:{qty}"

    @classmethod
    def open(cls, name):
        return f"{cls.__name__}:{name}"

    @staticmethod
    def close(name):
        return f"closed {name}"

    async def later(self, symbol):
        return f"later {symbol}"

class Paper(Client):
    def sell(self, symbol, qty=1):
        return f"paper {super().sell(symbol, qty)}"

client = Client()

def sell(symbol, qty=1):
    return f"sold {symbol} {qty}"

def buy(symbol, /, qty=1, *, limit=None):
    return f"bought {symbol} {qty} {limit}"

def stream(n):
    for i in range(n):
        yield i

async def quote(symbol):
    return f"quote {symbol}"

def maker(name):
    def made(x):
        return f"{name} {x}"
    return made
"""

DEALS = """
from broker import sell
from broker import sell as hand_over
"""


class Form(NamedTuple):
    """A program, a pattern, and the expected crossings."""

    pattern: str
    crossed: str
    """The names of the expected crossings, separated by blanks."""
    source: str
    name: str = "{__name__}"
    within: str | None = None
    is_value: bool = True
    """Whether the results of the calls can be rebuilt."""


def inside(body: str) -> str:
    """Return a program whose `main()` has these lines."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"import broker\ndef main():\n{lines}\n"


INLINED = "" if sys.version_info >= (3, 12) else "x"
"""Where comprehensions are inlined, a metavariable can't be saved below one; the ledger then lists the call."""

T = 'TOOLS = {"a": lambda x: f"a{x}", "b": lambda x, y=0: f"b{x}{y}"}\n'

FORMS = {
    # --- names and imports ---
    "module attribute": Form("broker.sell(...)", "sell", inside("return broker.sell('A')")),
    "imported name": Form("broker.sell(...)", "sell", "from broker import sell\ndef main(): return sell('A')\n"),
    "alias": Form("broker.sell(...)", "sell", "from broker import sell as s\ndef main(): return s('A')\n"),
    "alias of a module": Form("broker.sell(...)", "sell", "import broker as b\ndef main(): return b.sell('A')\n"),
    "assigned alias": Form("broker.sell(...)", "sell", "import broker\ns = broker.sell\ndef main(): return s('A')\n"),
    "local import": Form("broker.sell(...)", "sell", "def main():\n    from broker import sell\n    return sell('A')\n"),
    "star import": Form("broker.sell(...)", "sell", "from broker import *\ndef main(): return sell('A')\n"),
    "handed on by another module": Form("broker.sell(...)", "sell", "from deals import sell\ndef main(): return sell('A')\n"),
    "handed on under another name": Form("broker.sell(...)", "sell", "import deals\ndef main(): return deals.sell('A')\n"),
    "in try": Form(
        "broker.sell(...)",
        "sell",
        "try:\n    from broker import sell\nexcept ImportError:\n    sell = None\ndef main(): return sell('A')\n",
    ),
    "own function": Form("f(...)", "f", "def f(x): return x\ndef main(): return f(1)\n"),
    "own function by its full name": Form("agent.f(...)", "f", "def f(x): return x\ndef main(): return f(1)\n"),
    "builtin": Form("sorted(...)", "sorted", "def main(): return sorted([2, 1])\n"),
    "class": Form("broker.Client(...)", "Client Client", inside("return type(broker.Client()).__name__"), is_value=False),
    "not a name that hides the module": Form(
        "broker.sell(...)", "", "import broker\nclass Fake:\n    def sell(self, x): return x\n"
        "def main(broker=Fake()): return broker.sell('A')\n"
    ),
    "not another module's function": Form(
        "broker.sell(...)", "", "class broker:\n    sell = str\nimport json as broker2\ndef sell(x): return x\n"
        "def main(): return sell('A')\n"
    ),
    "not the same name elsewhere": Form("deals.other.sell(...)", "", inside("return broker.sell('A')")),
    "not a comprehension's variable": Form(
        "broker.sell(...)", "", "import broker\nclass F:\n    def sell(self, x): return x\n"
        "def main(): return [broker.sell('A') for broker in [F()]]\n"
    ),
    "global declared inside": Form(
        "broker.sell(...)",
        "sell",
        "import broker\ndef set_up():\n    global s\n    s = broker.sell\ndef main():\n    set_up()\n    return s('A')\n",
    ),
    # --- receivers that only the run knows ---
    "method of a module's object": Form("broker.client.sell(...)", "sell", inside("return broker.client.sell('A')")),
    "method by its class": Form("broker.Client.sell(...)", "sell", inside("c = broker.Client()\nreturn c.sell('A')")),
    "method of an attribute": Form(
        "broker.Client.sell(...)",
        "sell",
        "import broker\nclass Agent:\n    def __init__(self): self.client = broker.Client()\n"
        "    def act(self): return self.client.sell('A', qty=2)\ndef main(): return Agent().act()\n",
    ),
    "method that overrides": Form("broker.Client.sell(...)", "sell", inside("p = broker.Paper()\nreturn p.sell('A')")),
    "classmethod": Form("broker.Client.open(...)", "open", inside("c = broker.Client\nreturn c.open('A')")),
    "staticmethod": Form("broker.Client.close(...)", "close", inside("c = broker.Client()\nreturn c.close('A')")),
    "not another class's method": Form(
        "broker.Client.sell(...)", "", "import broker\nclass C:\n    def sell(self, x): return x\ndef main(): return C().sell(1)\n"
    ),
    "one of two receivers": Form(
        "broker.Client.sell(...)",
        "sell",
        "import broker\nclass C:\n    def sell(self, x): return x\n"
        "def main(): return [each.sell('A') for each in (C(), broker.Client())]\n",
    ),
    "function in a variable": Form("broker.sell(...)", "sell", inside("sell = broker.sell\nreturn sell('A')")),
    "bound method in a variable": Form(
        "broker.Client.sell(...)", "sell", inside("sell = broker.Client().sell\nreturn sell('A')")
    ),
    # --- metavariables ---
    "key": Form("TOOLS[$tool](...)", "a b", T + "def main():\n    return [TOOLS[n](1) for n in ('a', 'b')]\n", "{tool}"),
    "key that is a constant": Form("TOOLS[$tool](...)", "a", T + "def main():\n    return TOOLS['a'](1)\n", "{tool}"),
    "key that is computed": Form(
        "TOOLS[$tool](...)", "b", T + "def main():\n    seen = []\n"
        "    def key():\n        seen.append(1)\n        return 'b'\n    return TOOLS[key()](1), seen\n", "{tool}"
    ),
    "key that branches": Form(
        "TOOLS[$tool](...)", "a b", T + "def main():\n    return [TOOLS['a' if n else 'b'](n) for n in (1, 0)]\n", "{tool}"
    ),
    "key of a subscript of a subscript": Form(
        "REG['tools'][$tool](...)", "a", T + "REG = {'tools': TOOLS}\ndef main():\n    k = 'a'\n    return REG['tools'][k](1)\n", "{tool}"
    ),
    "two keys": Form(
        "REG[$set][$tool](...)", "x.a", T + "REG = {'x': TOOLS}\ndef main():\n    s, k = 'x', 'a'\n    return REG[s][k](1)\n", "{set}.{tool}"
    ),
    "key before an attribute": Form(
        "AGENTS[$who].run(...)", "eve", "class A:\n    def run(self, x): return x\nAGENTS = {'eve': A()}\n"
        "def main():\n    w = 'eve'\n    return AGENTS[w].run(1)\n", "{who}"
    ),
    "key before a comprehension in a key": Form(
        "REG[$set][...](...)", INLINED, T + "REG = {'x': [TOOLS['a']]}\ndef main():\n    s = 'x'\n"
        "    return REG[s][[i for i in range(1)][0]](1)\n", "{set}"
    ),
    "unpacked arguments": Form("TOOLS[$tool](...)", "b", T + "def main():\n    k, a = 'b', {'x': 1, 'y': 2}\n    return TOOLS[k](**a)\n", "{tool}"),
    "method name": Form(
        "self.$method(...)", "up down", "class A:\n    def up(self): return 1\n    def down(self, n): return n\n"
        "    def act(self): return self.up(), self.down(2)\ndef main(): return A().act()\n", "{method}"
    ),
    "receiver": Form(
        "$who.run(...)", "eve bob", "class A:\n    def __init__(self, name): self.name = name\n    def run(self, x): return x\n"
        "def main(): return [a.run(1) for a in (A('eve'), A('bob'))]\n", "{who.name}"
    ),
    "receiver that is a call": Form(
        "$who.run(...)", "eve", "made = []\nclass A:\n    name = 'eve'\n    def __init__(self): made.append(1)\n"
        "    def run(self, x): return x\ndef main():\n    made.clear()\n    return A().run(1), made\n", "{who.name}"
    ),
    "receiver and key": Form(
        "$who.tools[$tool](...)", "eve.a", T + "class A:\n    name = 'eve'\n    tools = TOOLS\n"
        "def main():\n    a, k = A(), 'a'\n    return a.tools[k](1)\n", "{who.name}.{tool}"
    ),
    "first argument": Form("run($tool, ...)", "x y", "def run(tool, n): return tool, n\ndef main(): return run('x', 1), run('y', n=2)\n", "{tool}"),
    "keyword argument": Form("run(tool=$t, ...)", "x", "def run(n, tool): return tool, n\ndef main(): return run(1, tool='x')\n", "{t}"),
    "attribute of an imported module": Form(
        "broker.$action($symbol, ...)", "sell.A buy.B", inside("return broker.sell('A'), broker.buy('B', 2, limit=3)"), "{action}.{symbol}"
    ),
    "attribute of an imported module, by name": Form(
        "broker.$action(...)", "buy", "from broker import buy\ndef main(): return buy('B')\n", "{action}"
    ),
    # --- arguments ---
    "a literal argument": Form("run('live', ...)", "run", "def run(mode, n): return mode, n\ndef main(): return run('live', 1), run('dry', 2)\n"),
    "a literal keyword": Form("run(mode='live', ...)", "run", "def run(n, mode): return mode, n\ndef main(): return run(1, mode='live'), run(2, mode='dry')\n"),
    "no arguments": Form("run()", "run", "def run(n=0): return n\ndef main(): return run(), run(1)\n"),
    "exactly one argument": Form("run($x)", "run", "def run(n, m=0): return n, m\ndef main(): return run(1), run(1, 2), run(1, m=3)\n"),
    "star arguments": Form("f(...)", "f", "def f(*a, **k): return a, k\ndef main():\n    a, k = (1, 2), {'x': 3}\n    return f(*a, 4, **k, y=5)\n"),
    "keyword arguments": Form("f(...)", "f", "def f(x, *, y): return x, y\ndef main(): return f(1, y=2)\n"),
    "many arguments": Form("f(...)", "f", "def f(*a): return a\ndef main(): return f(" + ", ".join(map(str, range(300))) + ")\n"),
    # --- where calls stand ---
    "nested": Form("f(...)", "f f f", "def f(*a): return a\ndef main(): return f(f(1), f(2))\n"),
    "chained": Form("$x.add(...)", "add add add", "class B:\n    def __init__(self): self.n = []\n    def add(self, x):\n        self.n.append(x)\n        return self\n"
        "def main(): return B().add(1).add(2).add(3).n\n", is_value=False),
    "over lines": Form("broker.client.sell(...)", "sell", inside("return (broker\n    .client\n    .sell(\n        'A',\n        qty=2,\n    )\n)")),
    "behind wide characters": Form("f(...)", "f", "def f(x): return x\ndef main(): return 'äöü€𝄞', f('ß'), 'é'\n"),
    "await": Form("broker.quote(...)", "quote", "import asyncio, broker\nasync def go(): return await broker.quote('A')\ndef main(): return asyncio.run(go())\n"),
    "await of a method": Form("broker.Client.later(...)", "later", "import asyncio, broker\nasync def go():\n    c = broker.Client()\n    return await c.later('A')\ndef main(): return asyncio.run(go())\n"),
    "gather": Form("broker.quote(...)", "quote quote", "import asyncio, broker\nasync def go(): return await asyncio.gather(broker.quote('A'), broker.quote('B'))\ndef main(): return asyncio.run(go())\n"),
    "generator": Form("broker.stream(...)", "stream", inside("return list(broker.stream(3))")),
    "yield from": Form("broker.stream(...)", "stream", "import broker\ndef g():\n    yield from broker.stream(2)\ndef main(): return list(g())\n"),
    "f-string": Form("f(...)", "f f", "def f(x): return x\ndef main(): return f'{f(1)} and {f(2)!r:>5}'\n"),
    "lambda": Form("f(...)", "f", "def f(x): return x\ndef main(): return (lambda y: f(y))(1)\n"),
    "list comprehension": Form("f(...)", "f f", "def f(x): return x\ndef main(): return [f(i) for i in range(2)]\n"),
    "condition of a comprehension": Form("f(...)", "f f", "def f(x): return x\ndef main(): return {i for i in range(2) if f(i)}\n"),
    "iterable of a comprehension": Form("f(...)", "f", "def f(x): return [x]\ndef main(): return {i: i for i in f(1)}\n"),
    "generator expression": Form("f(...)", "f f", "def f(x): return x\ndef main(): return tuple(f(i) for i in range(2))\n"),
    "nested comprehension": Form("f(...)", "f f f f", "def f(x): return x\ndef main(): return [[f(i * j) for i in range(2)] for j in range(2)]\n"),
    "default of a parameter": Form("f(...)", "f", "def f(x): return x\ndef main():\n    def g(y=f(1)): return y\n    return g(), g()\n"),
    "class body": Form("f(...)", "f", "def f(x): return x\ndef main():\n    class C:\n        x = f(1)\n    return C.x\n"),
    "decorator with arguments": Form("deco(...)", "deco", "def deco(n):\n    return lambda g: (lambda x: (n, g(x)))\ndef main():\n    @deco(2)\n    def g(x): return x\n    return g(1)\n", is_value=False),
    "not a decorator without": Form("deco(...)", "", "def deco(g): return g\ndef main():\n    @deco\n    def g(x): return x\n    return g(1)\n"),
    "with": Form("opened(...)", "opened", "class opened:\n    def __init__(self, x): self.x = x\n    def __enter__(self): return self.x\n    def __exit__(self, *e): return True\n"
        "def main():\n    with opened(1) as x:\n        raise KeyError(x)\n    return x\n", is_value=False),
    "inside with": Form("f(...)", "f", "import contextlib\ndef f(x): return x\ndef main():\n    with contextlib.suppress(KeyError):\n        return f(1)\n"),
    "finally": Form("f(...)", "f f f", "def f(x): return x\ndef main():\n    out = []\n    for i in range(3):\n        try:\n            if i == 1: continue\n            if i == 2: break\n        finally:\n            out.append(f(i))\n    return out\n"),
    "except": Form("f(...)", "f", "def f(x): return x\ndef main():\n    try:\n        raise KeyError(1)\n    except KeyError as e:\n        return f(e.args[0])\n"),
    "raises into except": Form("f(...)", "f", "def f(x): raise KeyError(x)\ndef main():\n    try:\n        return f(1)\n    except KeyError as e:\n        return repr(e)\n"),
    "condition": Form("f(...)", "f f", "def f(x): return x\ndef main():\n    if f(0) or f(1): return 'yes'\n"),
    "while": Form("f(...)", "f f f", "def f(x): return x\ndef main():\n    n = 2\n    while f(n): n -= 1\n    return n\n"),
    "assert": Form("f(...)", "f f", "def f(x): return x\ndef main():\n    assert f(1)\n    try:\n        assert f(0), 'no'\n    except AssertionError as e:\n        return str(e)\n"),
    "walrus": Form("f(...)", "f", "def f(x): return x\ndef main(): return (y := f(1)) + y\n"),
    "augmented": Form("f(...)", "f", "def f(x): return x\ndef main():\n    n = 1\n    n += f(2)\n    return n\n"),
    "subscript of a result": Form("f(...)", "f", "def f(x): return [x]\ndef main(): return f(1)[0]\n"),
    "call of a result": Form("f(...)", "f", "def f(x): return lambda y: (x, y)\ndef main(): return f(1)(2)\n", is_value=False),
    "match": Form("f(...)", "f", "def f(x): return x\ndef main():\n    match f(1):\n        case 1: return 'one'\n"),
    "not a class pattern": Form("P(...)", "P", "class P:\n    __match_args__ = ('x',)\n    def __init__(self, x): self.x = x\n"
        "def main():\n    match P(1):\n        case P(x): return x\n", is_value=False),
    "closure": Form("f(...)", "f", "def outer():\n    def f(x): return x\n    def g(): return f(1)\n    return g\ndef main(): return outer()()\n"),
    "recursion": Form("f(...)", "f f f", "def f(n): return n if n == 0 else f(n - 1)\ndef main(): return f(2)\n"),
    "starred call in a list": Form("f(...)", "f", "def f(x): return [x, x]\ndef main(): return [*f(1), *[2]]\n"),
    "return in finally": Form("f(...)", "f", "def f(x): return x\ndef main():\n    try:\n        return f(1)\n    finally:\n        pass\n"),
    "deep in an expression": Form("f(...)", "f f", "def f(x): return x\ndef main(): return 1 + (2 * f(3) if f(1) else 0) ** 2\n"),
    "del and global": Form("f(...)", "f", "def f(x): return x\ndef main():\n    global z\n    z = f(1)\n    y = z\n    del z\n    return y\n"),
    "name mangled": Form("self.__hide(...)", "__hide", "class A:\n    def __hide(self): return 1\n    def act(self): return self.__hide()\ndef main(): return A().act()\n", "{__name__}"),
    "partial": Form("add(...)", "add", "import functools\ndef plus(a, b): return a + b\nadd = functools.partial(plus, 1)\ndef main(): return add(2)\n", "add"),
    "callable object": Form("tool(...)", "Tool", "class Tool:\n    def __call__(self, x): return x\ntool = Tool()\ndef main(): return tool(1)\n"),
    "made in a loop": Form("made(...)", "made made", "import broker\ndef main():\n    out = []\n    for n in 'ab':\n        made = broker.maker(n)\n        out.append(made(1))\n    return out\n"),
    "annotation in a class": Form("f(...)", "f", "def f(x): return x\ndef main():\n    class C:\n        y: f(1)\n    return C.__annotations__\n"),
    "dataclass with a call in an annotation": Form("f(...)", "f", "import dataclasses\ndef f(x): return int\ndef main():\n    @dataclasses.dataclass\n    class C:\n        y: f(1) | None = None\n    return repr(C())\n"),
    # --- within ---
    "within a function": Form("f(...)", "f", "def f(x): return x\ndef one(): return f(1)\ndef main(): return one(), f(2)\n", within="agent:one"),
    "within a class": Form("f(...)", "f f", "def f(x): return x\nclass A:\n    def one(self): return f(1)\n    def two(self): return f(2)\ndef main(): return A().one(), A().two(), f(3)\n", within="agent:A.*"),
    "not within another module": Form("f(...)", "", "def f(x): return x\ndef main(): return f(2)\n", within="other"),
}  # fmt: skip
if sys.version_info >= (3, 12):
    FORMS["type statement in a class"] = Form(
        "f(...)",
        "f",
        "def f(x): return x\ndef main():\n    class C:\n        type Y = f(1)\n    return C.Y.__value__\n",
    )
