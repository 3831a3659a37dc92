"""Functions, methods, and other callables."""

import contextlib
import copy
import dataclasses
import functools
import gc
import inspect
import pickle
import signal
import sys
import traceback
import types
import warnings
import weakref


def plain():
    return "plain"


def documented(a: int, b: "str" = "b") -> tuple:
    """Return both."""
    return a, b


def every_kind(a, b=2, /, c=3, *rest, d, e=5, **more):
    return a, b, c, rest, d, e, more


def keywords_only(*, a, b=(1, 2)):
    return a, b


def cells(a, *rest, b=1, **more):
    def inner():
        nonlocal a
        a += 1
        return a, rest, b, more

    return inner


def returns_nothing():
    pass


def one_line(): return 1 if "".isspace() else 2  # fmt: skip


def counted(start):
    total = start

    def up(by=1):
        """Count up."""
        nonlocal total
        total += by
        return total

    def down():
        return up(-1)

    return up, down


TABLE = {function.__name__: function for function in (plain, documented, every_kind, cells)}
HELD = [functools.partial(documented, 1), every_kind, (plain,)]
calls = 0


def count_calls():
    global calls
    calls += 1
    return calls


class Base:
    """A base class."""

    registry = []

    def __init__(self, value=0):
        super().__init__()
        self.value = value

    def __init_subclass__(cls, **more):
        super().__init_subclass__()
        cls.registry.append((cls.__name__, more))

    def __call__(self, *args, **kwargs):
        return self.value, args, kwargs

    def __eq__(self, other):
        return isinstance(other, Base) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __len__(self):
        return self.value

    def __bool__(self):
        return True

    def __getitem__(self, key):
        return (self.value, key)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return f"no {name}"

    def __contains__(self, item):
        return item == self.value

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is KeyError

    def __repr__(self):
        return f"<{type(self).__name__} {self.value}>"

    @property
    def doubled(self):
        """Twice the value."""
        return self.value * 2

    @doubled.setter
    def doubled(self, value):
        self.value = value // 2

    @functools.cached_property
    def cached(self):
        return [self.value]

    @classmethod
    def make(cls, value):
        return cls(value)

    @staticmethod
    def static(a, b=1):
        return a, b

    def which(self):
        return __class__.__name__, type(self).__name__

    def __private(self):
        return "private"

    def private(self):
        return self.__private()


class Derived(Base, tag="x"):
    def __init__(self, value=0):
        super().__init__(value)
        self.derived = True

    def which(self):
        return ("Derived", super().which())

    @classmethod
    def make(cls, value):
        return super().make(value + 1)


class Custom(str):  # noqa: SLOT000 - as users write them
    def __new__(cls, value):
        made = super().__new__(cls, value.upper())
        made.original = value
        return made

    def __reduce__(self):
        return Custom, (self.original,)


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list = dataclasses.field(default_factory=list, compare=False)

    def __post_init__(self):
        self.sum = self.x + self.y

    def moved(self, dx=0):
        return dataclasses.replace(self, x=self.x + dx)


class Descriptor:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self.name, instance is None, owner.__name__


class Described:
    field = Descriptor()


def noisy(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return ["noisy", function(*args, **kwargs)]

    return wrapper


def parametrized(*tags):
    def decorate(function):
        function.tags = tags
        return function

    return decorate


@noisy
@parametrized("a", "b")
def decorated(a, b=2):
    """Decorated twice."""
    return a, b


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.singledispatch
def shape(value):
    return "other"


@shape.register
def _(value: int):
    return "int"


@shape.register(list)
def shape_of_list(value):
    return ["list", *map(shape, value)]


@contextlib.contextmanager
def managed(log):
    log.append("in")
    try:
        yield "managed"
    except KeyError as error:
        log.append(repr(error))
    finally:
        log.append("out")


def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


def deep(n, seen):
    seen[0] = n
    return deep(n + 1, seen)


def sees_its_frame(a, b=2):
    c = a + b
    frame = sys._getframe()
    back = sys._getframe(1)
    place = frame.f_code.co_name, frame.f_lineno, back.f_code.co_name, frame.f_back is back
    return place, sorted(frame.f_locals), sorted(locals()), sorted(vars()), dir(), frame.f_locals["c"]


def warns(message):
    warnings.warn(message, stacklevel=2)


def raises(kind, *args):
    raise kind(*args)


def raises_deeply(n):
    if n == 0:
        return 1 / n
    return raises_deeply(n - 1) + (1)


def chained(how):
    try:
        raises(KeyError, "first")
    except KeyError as error:
        if how == "cause":
            raise ValueError("second") from error
        if how == "none":
            raise ValueError("second") from None
        if how == "bare":
            raise
        raise ValueError("second")


def cleans_up(log, how):
    for item in range(3):
        try:
            if how == "return" and item == 1:
                return "returned"
            if how == "break" and item == 1:
                break
            if how == "raise" and item == 1:
                raise LookupError(item)
        finally:
            log.append(item)
            if how == "swallow" and item == 2:
                return "from finally"
    else:
        log.append("else")
    return "end"


def handles(action):
    try:
        action()
    except (ValueError, TypeError) as error:
        kept = sys.exception() is error
        return type(error).__name__, kept
    except Exception:
        return "exception"
    except BaseException:
        return "base"
    else:
        return "else"


def handles_groups(*errors):
    log = []
    try:
        if errors:
            raise ExceptionGroup("many", list(errors))
    except* ValueError as group:
        log.append(("value", [str(each) for each in group.exceptions]))
    except* (KeyError, TypeError) as group:
        log.append(("other", len(group.exceptions)))
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log


def uses_with(*names):
    log = []
    with managed(log) as first, contextlib.suppress(IndexError), Base(1) as base:
        log.append((first, base.value))
        for name in names:
            raise {"index": IndexError, "key": KeyError}[name](name)
    return log


def matches(value):
    match value:
        case {"kind": "a", **rest} if rest:
            return "mapping", rest
        case [first, *_, last]:
            return "sequence", first, last
        case Point(x=0, y=y):
            return "point", y
        case int(n) | (float() as n):
            return "number", n
        case None | True | "x":
            return "literal"
        case _:
            return "other"


def comprehends(rows, n=2):
    return (
        [[cell * n for cell in row if cell] for row in rows],
        {key: {value % 3 for value in range(key)} for key in range(n)},
        sum(x * y for x in range(n) for y in range(n)),
        [(lambda: i + n)() for i in range(n)],
        [last := item for item in range(n)],
        last,
    )


def star_calls(*args, **kwargs):
    return every_kind(*args, **{"d": 1, **kwargs}), [*args, *kwargs], {**kwargs}


def formats(value, width=10):
    return f"{value!r:>{width}}|{value:^10}|{value=}"


def deletes(a):
    b = a
    del a
    try:
        return a  # noqa: F821 - the case
    except UnboundLocalError as error:
        return str(error), b


def consumes(thing):
    reference = weakref.ref(thing)
    del thing
    return reference() is None


def passes_on(thing):
    return thing


def keeps_nothing(thing):
    return None


def interrupted(log):
    try:
        log.append("before")
        signal.raise_signal(signal.SIGINT)
        log.append("after")
    finally:
        log.append("finally")


def chain_compare(a, b, c):
    return a < b < c, a if b else c, (a and b) or c, not a


def asserts(value):
    assert value, f"no {value}"
    return value


def unpacks(pair):
    (a, *b), c = pair
    d = e = c
    return a, b, c, d, e


def loops(n):
    out = []
    while True:
        n -= 1
        if n % 2:
            continue
        if n < 0:
            break
        out.append(n)
    return out


class Thing:
    pass


class Mishap(Exception):
    pass


def caught(action, *args, **kwargs):
    try:
        return action(*args, **kwargs)
    except BaseException as error:
        return type(error).__name__, str(error)


# --- probes -----------------------------------------------------------------------------------------------------------


def probe_arguments():
    return [
        plain(), documented(1), documented(b=1, a=2), every_kind(1, d=4), every_kind(1, 2, 3, 4, 5, d=6, f=7, a=8),
        keywords_only(a=1), returns_nothing(), one_line(), star_calls(1, 2, e=3), star_calls(1),
    ]  # fmt: skip


def probe_wrong_arguments():
    return [
        caught(plain, 1), caught(documented), caught(documented, 1, c=2), caught(every_kind, a=1, d=2),
        caught(keywords_only, 1),
        caught(Base.make), caught(Derived.which), caught(Base().private, 1),
    ]  # fmt: skip


def probe_cells_and_closures():
    inner = cells(1, 2, b=3, c=4)
    up, down = counted(10)
    return (
        inner(),
        inner(),
        up(),
        up(5),
        down(),
        [cell.cell_contents for cell in inner.__closure__],
        up.__doc__,
    )


def probe_closure_vars():
    up, _ = counted(1)
    parts = inspect.getclosurevars(up), inspect.getclosurevars(factorial), inspect.getclosurevars(chained)
    return [
        (sorted(each.nonlocals), sorted(each.globals), sorted(each.builtins), sorted(each.unbound))
        for each in parts
    ]


def probe_globals():
    before = calls
    return [count_calls() - before, count_calls() - before, calls - before]


def probe_held_early():
    return [
        {name: function is globals()[name] for name, function in TABLE.items()},
        HELD[0](b=3), HELD[1](1, d=2), HELD[2][0](), HELD[1] is every_kind,
    ]  # fmt: skip


def probe_classes():
    base, derived = Base(3), Derived(3)
    base.doubled = 10
    return [
        base.value, base.doubled, base.cached is base.cached, derived.which(), Derived.make(1).value, Base.static(1),
        derived.static(2, b=3), Base.registry, base(1, a=2), base == Base(5), hash(base), len(base), bool(base), base["k"],
        base.missing, caught(getattr, base, "_missing"), 5 in base, repr(derived), base.private(), Base.which(derived),
        Described.field, Described().field, isinstance(derived, Base), Base.doubled.__doc__,
    ]  # fmt: skip


def probe_methods_are_equal():
    base = Base(1)
    return [
        base.which == base.which, base.which is base.which, hash(base.which) == hash(base.which), base.which.__self__ is base,
        base.which.__func__ is Base.which, Base.make == Base.make, Derived.make == Base.make, Base.static is Base.static,
        type(Base.__dict__["make"]).__name__, type(Base.__dict__["static"]).__name__, type(Base.which).__name__,
        type(Base.__dict__["doubled"]).__name__, plain == plain, plain in {plain, len},
    ]  # fmt: skip


def probe_new():
    made = Custom("abc")
    return made, made.original, type(made).__name__, pickle.loads(pickle.dumps(made)), copy.copy(made)


def probe_dataclass():
    point = Point(1, 2)
    return [
        repr(point), point.sum, repr(point.moved(dx=3)), Point(1) < Point(2), dataclasses.asdict(point),
        Point(1) == Point(1, tags=[1]),
        [field.name for field in dataclasses.fields(Point)], str(inspect.signature(Point)), copy.deepcopy(point) == point,
        pickle.loads(pickle.dumps(point)) == point,
    ]  # fmt: skip


def probe_decorated():
    fibonacci.cache_clear()
    return [
        decorated(1), decorated.__wrapped__(1), decorated.tags, decorated.__name__, decorated.__doc__, fibonacci(20),
        fibonacci.cache_info(), shape(1), shape("x"), shape([1, None]), sorted(str(each) for each in shape.registry),
        str(inspect.signature(decorated)), inspect.unwrap(decorated) is decorated.__wrapped__,
    ]  # fmt: skip


def probe_context_manager():
    log = []
    with managed(log) as value:
        log.append(value)
    with managed(log):
        raise KeyError("k")
    try:
        with managed(log):
            raise ValueError("v")
    except ValueError as error:
        log.append(repr(error))

    @managed(log)
    def inside():
        return "decorator"

    return log, inside(), uses_with(), uses_with("index"), uses_with("key")


def probe_recursion():
    return factorial(20), fibonacci(15)


def probe_recursion_depth():
    limit = sys.getrecursionlimit()
    seen = [0]
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        deep(0, seen)
    except RecursionError as error:
        told = str(error)
    finally:
        sys.setrecursionlimit(limit)
    return seen[0], told


def probe_own_frame():
    return sees_its_frame(1)


def probe_warning_location():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warns("one")
        warns("two")
    return [(str(each.message), each.filename, each.lineno) for each in told]


def probe_tracebacks():
    out = []
    for action in (
        lambda: raises(ValueError, 1), lambda: raises_deeply(4), lambda: chained("cause"), lambda: chained("none"),
        lambda: chained("bare"), lambda: chained("context"), lambda: Base.make(), lambda: decorated(1, c=2),
        lambda: raises(SystemExit, 3), lambda: raises(KeyboardInterrupt), lambda: asserts(0), lambda: plain(1),
        lambda: handles_groups(OSError(1), ValueError(2)), lambda: list(managed([]).gen.throw(ValueError)),
    ):  # fmt: skip
        try:
            action()
        except BaseException as error:
            out.append(traceback.format_exc())
            out.append(
                [
                    (each.name, each.lineno, each.colno, each.end_colno)
                    for each in traceback.extract_tb(error.__traceback__)
                ]
            )
    return out


def probe_exceptions_are_linked():
    out = []
    for how in ("cause", "none", "bare", "context"):
        try:
            chained(how)
        except Exception as error:
            out.append(
                (repr(error), repr(error.__cause__), repr(error.__context__), error.__suppress_context__)
            )
    try:
        raise OSError("outer")
    except OSError:
        try:
            raises(ValueError)
        except ValueError as error:
            out.append(repr(error.__context__))
            out.append(repr(sys.exception()))
        out.append((plain(), repr(sys.exception())))
    return out


def probe_cleanup():
    out = []
    for how in ("return", "break", "raise", "swallow", ""):
        log = []
        out.append((caught(cleans_up, log, how), log))
    return out


def probe_handlers():
    return [
        handles(lambda: None), handles(lambda: int("x")), handles(lambda: {}["k"]),
        handles(lambda: raises(KeyboardInterrupt)),
        handles(lambda: raises(GeneratorExit)), handles(lambda: raises(TypeError)), sys.exception(),
    ]  # fmt: skip


def probe_groups():
    return [
        handles_groups(), handles_groups(ValueError(1), ValueError(2), KeyError("k")), handles_groups(TypeError()),
        caught(handles_groups, ValueError(1), OSError(2)),
    ]  # fmt: skip


def probe_matching():
    values = {"kind": "a", "b": 1}, [1, 2, 3], Point(0, 5), 7, 1.5, None, "x", {"kind": "a"}, object
    return [matches(value) for value in values]


def probe_expressions():
    return [
        comprehends([[1, 0, 2], [3]]), formats("abc"), deletes(1), chain_compare(1, 2, 3), chain_compare(0, 0, ""),
        unpacks(((1, 2, 3), 4)), loops(9), asserts(1), caught(asserts, 0),
    ]  # fmt: skip


def probe_interrupted():
    log = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupted(log)
    except KeyboardInterrupt:
        log.append("interrupted")
        log.append(
            [
                each.name
                for each in traceback.extract_tb(sys.exception().__traceback__)
                if each.filename == __file__
            ]
        )
    finally:
        signal.signal(signal.SIGINT, before)
    return log


def probe_references_die_in_time():
    gc.disable()
    try:
        out = [consumes(Thing())]
        thing = Thing()
        reference = weakref.ref(thing)
        count = sys.getrefcount(thing)
        passes_on(thing)
        keeps_nothing(thing)
        out.append(sys.getrefcount(thing) - count)
        same = passes_on(thing)
        out.append(sys.getrefcount(thing) - count)
        del same, thing
        out.append(reference() is None)
        error = Mishap()
        reference = weakref.ref(error, lambda _: out.append("error is gone"))

        def throw():
            nonlocal error
            mine, error = error, None
            try:
                raise mine
            finally:
                del mine

        try:
            throw()
        except Mishap:
            out.append(reference() is not None)
        out.append(reference() is None)
        return out
    finally:
        gc.enable()


def probe_many_calls_leak_nothing():
    for _ in range(50):
        plain()
        every_kind(1, d=2)
        caught(raises, ValueError)
    thing = Thing()
    count = sys.getrefcount(thing)
    for _ in range(100):
        passes_on(thing)
        keeps_nothing(thing)
        caught(raises_deeply, thing)
        every_kind(thing, d=thing, e=thing, f=thing)
    return sys.getrefcount(thing) - count


def probe_pickle_and_copy():
    return [
        [pickle.loads(pickle.dumps(each)) is each for each in (plain, documented, Base.which, Base.static, decorated, Base)],
        copy.copy(plain) is plain, copy.deepcopy(every_kind) is every_kind, copy.deepcopy(TABLE) == TABLE,
        copy.deepcopy(HELD)[1] is every_kind, pickle.loads(pickle.dumps(Base(3).which))(), copy.deepcopy(Base(2)) == Base(2),
        pickle.dumps(HELD[0]),
    ]  # fmt: skip


def probe_made_from_code():
    again = types.FunctionType(documented.__code__, globals(), "again", documented.__defaults__)
    other = types.FunctionType(plain.__code__.replace(co_name="other"), {})
    return (
        again(1),
        again.__name__,
        other(),
        hash(plain.__code__) == hash(plain.__code__),
        plain.__code__ == plain.__code__,
    )


def probe_source():
    return [
        inspect.getsource(each)
        for each in (plain, every_kind, decorated, Base.which, Base, counted(1)[0], one_line)
    ]


def probe_attributes():
    plain.mark = 1
    try:
        return (
            vars(plain),
            documented.__annotations__,
            documented.__defaults__,
            keywords_only.__kwdefaults__,
            inspect.signature(documented) == inspect.signature(documented),
            inspect.get_annotations(documented),
        )
    finally:
        del plain.mark


def probe_called_from_c():
    return (
        sorted([3, 1, 2], key=passes_on),
        list(map(documented, [1, 2])),
        max(Base(1), Base(2), key=len).value,
    )
