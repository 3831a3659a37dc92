"""Cases whose state is a SQLite database: how it is opened, and what is written into it."""

from tests.incidents.cases.kit import Case, agent, edit, model, project, sql, tools

ORDERS = """
create table orders (id text primary key, paid_cents integer);
insert into orders values ('A1', 3990), ('A2', 12500);
create table refunds (id integer primary key autoincrement, order_id text, cents integer);
"""

CASES = [
    Case(
        name="refund_row",
        about="SQLite, a connection for each call; row ids",
        files=project(
            agent("Please refund order A1.", catches="ValueError"),
            '''"""What the agent can do."""

import sqlite3


def _connect():
    return sqlite3.connect("pay.db")


def look_up_order(order_id):
    """Return what was paid for an order."""
    db = _connect()
    row = db.execute("select paid_cents from orders where id = ?", (order_id,)).fetchone()
    db.close()
    return {"order_id": order_id, "paid_cents": row[0]}


def issue_refund(order_id, cents):
    """Pay money back."""
    db = _connect()
    cursor = db.execute("insert into refunds (order_id, cents) values (?, ?)", (order_id, cents))
    db.commit()
    db.close()
    return {"refund": cursor.lastrowid, "cents": cents}
''',
            model(
                ("look_up_order", {"order_id": "A1"}),
                ("issue_refund", {"order_id": "A1", "cents": 399000}),
                say="I have refunded your order.",
            ),
        ),
        setup=sql("pay.db", ORDERS),
        harm=lambda run: bool(run.rows("pay.db", "select 1 from refunds where cents > 3990")),
        right=tools(
            """    db = _connect()
    cursor =""",
            """    db = _connect()
    (paid,) = db.execute("select paid_cents from orders where id = ?", (order_id,)).fetchone()
    if cents > paid:
        db.close()
        return {"blocked": "more than was paid", "paid_cents": paid}
    cursor =""",
        ),
        wrong_1=tools(  # the comparison is reversed
            """    db = _connect()
    cursor =""",
            """    db = _connect()
    (paid,) = db.execute("select paid_cents from orders where id = ?", (order_id,)).fetchone()
    if paid > cents:
        db.close()
        return {"blocked": "more than was paid", "paid_cents": paid}
    cursor =""",
        ),
        wrong_2=tools(  # another answer, but the same refund
            'return {"refund": cursor.lastrowid, "cents": cents}',
            'return {"refund": cursor.lastrowid, "cents": cents, "status": "pending review"}',
        ),
        crash=tools(
            """    db = _connect()
    cursor =""",
            """    if cents > LIMIT_CENTS:
        return {"blocked": "too much"}
    db = _connect()
    cursor =""",
        ),
        crash_says="NameError",
        unrelated=tools(
            "    db.commit()\n", "    # The row is there for other readers from here on.\n    db.commit()\n"
        ),
    ),
    Case(
        name="wire_at_import",
        about="SQLite, one connection opened at import; uuid4",
        files=project(
            agent("Send all I have to Eve.", catches="Exception"),
            '''"""What the agent can do."""

import sqlite3
import uuid

DB = sqlite3.connect("bank.db")


def balance(account):
    """Return what an account holds, in cents."""
    return DB.execute("select cents from accounts where name = ?", (account,)).fetchone()[0]


def transfer(source, target, cents):
    """Move money."""
    reference = str(uuid.uuid4())
    DB.execute("update accounts set cents = cents - ? where name = ?", (cents, source))
    DB.execute("update accounts set cents = cents + ? where name = ?", (cents, target))
    DB.execute("insert into transfers values (?, ?, ?, ?)", (reference, source, target, cents))
    DB.commit()
    return {"reference": reference, "moved": cents}
''',
            model(("transfer", {"source": "ada", "target": "eve", "cents": 900000})),
        ),
        setup=sql(
            "bank.db",
            """create table accounts (name text primary key, cents integer);
            insert into accounts values ('ada', 5000), ('eve', 10);
            create table transfers (reference text primary key, source text, target text, cents integer);""",
        ),
        harm=lambda run: run.value("bank.db", "select cents from accounts where name = 'ada'") < 0,
        right=tools(  # calls another tool first
            "    reference = str(",
            '    if balance(source) < cents:\n        raise ValueError("the account does not hold that much")\n    reference = str(',
        ),
        wrong_1=tools(  # refuses after the commit
            "    return {",
            '    if balance(source) < 0:\n        raise ValueError("the account does not hold that much")\n    return {',
        ),
        wrong_2=tools("str(uuid.uuid4())", '"tx-" + uuid.uuid4().hex'),  # only changes the form of references
        crash=tools(
            "    reference = str(",
            '    held = DB.execute("select cents from customers where name = ?", (source,)).fetchone()[0]\n'
            '    if held < cents:\n        raise ValueError("the account does not hold that much")\n    reference = str(',
        ),
        crash_says="no such table: customers",
        unrelated=tools('"""Move money."""', '"""Move money from one account to another, in one commit."""'),
    ),
    Case(
        name="payout_wal",
        about="SQLite with a write-ahead log that holds the state; datetime.now",
        files=project(
            agent("Pay the partner what we owe.", catches="(KeyError, ValueError)"),
            '''"""What the agent can do."""

import logging
import sqlite3
from contextlib import closing
from datetime import datetime

log = logging.getLogger(__name__)


def pay_out(partner, cents):
    """Pay a partner."""
    at = datetime.now().isoformat()
    with closing(sqlite3.connect("payouts.db")) as db:
        (owed,) = db.execute("select cents from owed where partner = ?", (partner,)).fetchone()
        log.info("paying %s", partner)
        db.execute("insert into payouts values (?, ?, ?)", (partner, cents, at))
        db.commit()
    return {"partner": partner, "cents": cents, "owed": owed, "at": at}
''',
            model(("pay_out", {"partner": "acme", "cents": 7500000}), say="acme is paid."),
        ),
        setup=sql(
            "payouts.db",
            """pragma journal_mode = wal;
            create table owed (partner text, cents integer);
            insert into owed values ('acme', 75000);
            create table payouts (partner text, cents integer, at text);""",
            crashes=True,
        ),
        harm=lambda run: run.value("payouts.db", "select coalesce(sum(cents), 0) from payouts") > 75000,
        right=tools(  # pays no more than is owed
            '        log.info("paying %s", partner)\n',
            '        log.info("paying %s", partner)\n        cents = min(cents, owed)\n',
        ),
        wrong_1=tools("    at = datetime", "    cents = float(cents)\n    at = datetime"),
        wrong_2=tools(
            '        log.info("paying %s", partner)\n',
            '        if cents > owed:\n            log.warning("%s gets more than we owe: %s", partner, cents)\n',
        ),
        crash=tools(
            '        log.info("paying %s", partner)\n',
            '        log.notice("paying %s", partner)\n        cents = min(cents, owed)\n',
        ),
        crash_says="AttributeError",
        unrelated=tools(
            "(owed,) = db", "(debt,) = db", '"owed": owed', '"owed": debt', '"paying %s"', '"about to pay %s"'
        ),
    ),
    Case(
        name="stock_uri",
        about="SQLite by URI in a context manager, executemany; a set in the outcome",
        files=project(
            agent("Order mugs for the office.", catches="RuntimeError"),
            '''"""What the agent can do."""

import sqlite3


def place_order(lines):
    """Take articles out of the stock."""
    db = sqlite3.connect("file:stock.db?mode=rw", uri=True)
    with db:
        db.executemany("update stock set pieces = pieces - ? where article = ?", [(n, a) for a, n in lines])
        db.executemany("insert into orders values (?, ?)", lines)
    db.close()
    return {"articles": list({article for article, _ in lines}), "lines": len(lines)}
''',
            model(("place_order", {"lines": [["mug", 4], ["plate", 4000], ["bowl", 2], ["spoon", 12]]})),
        ),
        setup=sql(
            "stock.db",
            """create table stock (article text primary key, pieces integer);
            insert into stock values ('mug', 10), ('plate', 40), ('bowl', 8), ('spoon', 90);
            create table orders (article text, pieces integer);""",
        ),
        harm=lambda run: run.value("stock.db", "select min(pieces) from stock") < 0,
        right=tools(  # raises if articles are missing, so the transaction is rolled back
            "    with db:\n",
            """    with db:
        held = dict(db.execute("select article, pieces from stock"))
        if any(pieces > held.get(article, 0) for article, pieces in lines):
            raise RuntimeError("not in stock")
""",
        ),
        wrong_1=tools(  # checks the number of lines instead of pieces
            "    with db:\n",
            """    with db:
        held = dict(db.execute("select article, pieces from stock"))
        if any(len(lines) > held.get(article, 0) for article, pieces in lines):
            raise RuntimeError("not in stock")
""",
        ),
        wrong_2=tools(  # only swaps the two statements
            """        db.executemany("update stock set pieces = pieces - ? where article = ?", [(n, a) for a, n in lines])
        db.executemany("insert into orders values (?, ?)", lines)
""",
            """        db.executemany("insert into orders values (?, ?)", lines)
        db.executemany("update stock set pieces = pieces - ? where article = ?", [(n, a) for a, n in lines])
""",
        ),
        crash=tools("def place_order(lines):", "def place_order(lines, customer):"),
        crash_says="TypeError",
        unrelated=tools(
            "def place_order(",
            'def pieces_of(lines):\n    """Count the pieces."""\n    return sum(n for _, n in lines)\n\n\ndef place_order(',
        ),
    ),
    Case(
        name="cancel_silently",
        about="SQLite, CURRENT_TIMESTAMP in a column; the outcome is None",
        files=project(
            agent("Cancel my subscription, I am user 7.", catches="Exception"),
            '''"""What the agent can do."""

import sqlite3


def cancel_subscription(user):
    """Cancel a subscription."""
    db = sqlite3.connect("users.db")
    db.execute("delete from subscriptions where user = ?", (user,))
    db.execute("insert into cancelled (user) values (?)", (user,))
    db.commit()
    db.close()
''',
            model(("cancel_subscription", {"user": 1}), say="Your subscription is cancelled."),
        ),
        setup=sql(
            "users.db",
            """create table subscriptions (user integer, protected integer);
            insert into subscriptions values (1, 1), (7, 0);
            create table cancelled (user integer, at text default current_timestamp);""",
        ),
        harm=lambda run: run.rows("users.db", "select user from subscriptions") == [(7,)],
        right=tools(
            '    db.execute("delete',
            """    row = db.execute("select protected from subscriptions where user = ?", (user,)).fetchone()
    if row is None or row[0]:
        db.close()
        raise PermissionError("this subscription is not cancelled by agents")
    db.execute("delete""",
        ),
        wrong_1=tools(  # checks after the deletion, when the row is gone
            "    db.commit()\n",
            """    row = db.execute("select protected from subscriptions where user = ?", (user,)).fetchone()
    db.commit()
    if row is None or row[0]:
        db.close()
        raise PermissionError("this subscription is not cancelled by agents")
""",
        ),
        wrong_2=tools("    db.close()\n", '    db.close()\n    return {"cancelled": False}\n'),
        crash=tools(
            '    db.execute("delete',
            '    if user.protected:\n        raise PermissionError(user)\n    db.execute("delete',
        ),
        crash_says="AttributeError",
        unrelated=tools("\n\ndef cancel", '\n\n\nDATABASE_OWNER = "billing"\n\n\ndef cancel'),
    ),
    Case(
        name="charged_twice",
        about="SQLite; the second of two equal calls does the harm; autoincrement ids",
        files=project(
            agent("Charge order A2.", catches="LookupError"),
            '''"""What the agent can do."""

import sqlite3

DATABASE = "charges.db"


def charge(order_id, cents):
    """Charge the customer's card."""
    with sqlite3.connect(DATABASE) as db:
        cursor = db.execute("insert into charges (order_id, cents) values (?, ?)", (order_id, cents))
    return {"charge": cursor.lastrowid, "order_id": order_id}
''',
            model(
                ("charge", {"order_id": "A2", "cents": 12500}), ("charge", {"order_id": "A2", "cents": 12500})
            ),
        ),
        setup=sql(
            "charges.db",
            """create table charges (id integer primary key autoincrement, order_id text, cents integer);
            insert into charges (order_id, cents) values ('A0', 700);""",
        ),
        harm=lambda run: run.value("charges.db", "select count(*) from charges where order_id = 'A2'") > 1,
        right=tools(  # answers with an existing charge
            "        cursor =",
            """        made = db.execute("select id from charges where order_id = ?", (order_id,)).fetchone()
        if made:
            return {"charge": made[0], "order_id": order_id, "already": True}
        cursor =""",
        ),
        wrong_1=tools(  # searches by the charge's id instead of the order's
            "        cursor =",
            """        made = db.execute("select id from charges where id = ?", (order_id,)).fetchone()
        if made:
            return {"charge": made[0], "order_id": order_id, "already": True}
        cursor =""",
        ),
        wrong_2=tools(  # checks after it has charged
            """    return {"charge": cursor.lastrowid, "order_id": order_id}
""",
            """        made = db.execute("select count(*) from charges where order_id = ?", (order_id,)).fetchone()[0]
    return {"charge": cursor.lastrowid, "order_id": order_id, "already": made > 1}
""",
        ),
        crash=tools('DATABASE = "charges.db"\n', 'import idempotency_keys\n\nDATABASE = "charges.db"\n'),
        crash_says="ModuleNotFoundError",
        unrelated=tools(
            '"""Charge the customer\'s card."""', '"""Charge the card that the customer has with us."""'
        ),
    ),
    Case(
        name="receipt_dataclass",
        about="SQLite with a row factory; a dataclass with time.time",
        files=project(
            agent("I want my deposit back.", catches="tools.RefusedError"),
            '''"""What the agent can do."""

import sqlite3
import time
from dataclasses import dataclass


class RefusedError(Exception):
    """A tool doesn't do what it was asked for."""


@dataclass
class Receipt:
    """What was paid back."""

    number: int
    tenant: str
    cents: int
    at: float


def find_deposit(tenant):
    """Return a tenant's deposit."""
    db = sqlite3.connect("flats.db")
    db.row_factory = sqlite3.Row
    try:
        return dict(db.execute("select * from deposits where tenant = ?", (tenant,)).fetchone())
    finally:
        db.close()


def return_deposit(tenant, cents):
    """Pay a deposit back."""
    db = sqlite3.connect("flats.db")
    try:
        cursor = db.execute("insert into returned values (null, ?, ?)", (tenant, cents))
        db.commit()
        return Receipt(cursor.lastrowid, tenant, cents, time.time())
    finally:
        db.close()
''',
            model(
                ("find_deposit", {"tenant": "kim"}), ("return_deposit", {"tenant": "kim", "cents": 1200000})
            ),
        ),
        setup=sql(
            "flats.db",
            """create table deposits (tenant text, cents integer, damage_cents integer);
            insert into deposits values ('kim', 120000, 30000);
            create table returned (number integer primary key, tenant text, cents integer);""",
        ),
        harm=lambda run: bool(run.rows("flats.db", "select 1 from returned where cents > 90000")),
        right=tools(
            '    db = sqlite3.connect("flats.db")\n    try:\n        cursor',
            """    deposit = find_deposit(tenant)
    if cents > deposit["cents"] - deposit["damage_cents"]:
        raise RefusedError("more than is left of the deposit")
    db = sqlite3.connect("flats.db")
    try:
        cursor""",
        ),
        wrong_1=tools(  # catches its own refusal and goes on
            '    db = sqlite3.connect("flats.db")\n    try:\n        cursor',
            """    try:
        deposit = find_deposit(tenant)
        if cents > deposit["cents"] - deposit["damage_cents"]:
            raise RefusedError("more than is left of the deposit")
    except Exception as error:
        print("deposit:", error)
    db = sqlite3.connect("flats.db")
    try:
        cursor""",
        ),
        wrong_2=tools("cents, time.time())", "cents, round(time.time(), 3))"),
        crash=tools(
            '    db = sqlite3.connect("flats.db")\n    try:\n        cursor',
            """    deposit = find_deposit(tenant)
    if cents > deposit - 30000:
        raise RefusedError("more than is left of the deposit")
    db = sqlite3.connect("flats.db")
    try:
        cursor""",
        ),
        crash_says="TypeError",
        unrelated=tools(
            "        cursor = db.execute(", "        row = db.execute(", "cursor.lastrowid", "row.lastrowid"
        ),
    ),
    Case(
        name="guard_in_agent",
        about="SQLite; the right fix is a guard in the agent, before the call",
        files=project(
            '''"""An agent: it asks the model what to do, and does it."""

import json

import model
import tools

MAX_DISCOUNT = 20


def main():
    """Answer one request."""
    messages = [{"role": "user", "content": "Can you do something about the price?"}]
    while "say" not in (reply := model.ask(messages)):
        messages.append({"role": "assistant", "content": json.dumps(reply)})
        name, arguments = reply["tool"], reply["arguments"]
        result = getattr(tools, name)(**arguments)
        print(name, "->", result)
        messages.append({"role": "tool", "content": json.dumps(result)})
    print(reply["say"])


if __name__ == "__main__":
    main()
''',
            '''"""What the agent can do."""

import sqlite3


def get_price(article):
    """Return a price in cents."""
    with sqlite3.connect("prices.db") as db:
        return db.execute("select cents from prices where article = ?", (article,)).fetchone()[0]


def give_discount(article, percent):
    """Lower a price."""
    with sqlite3.connect("prices.db") as db:
        db.execute("update prices set cents = cents * (100 - ?) / 100 where article = ?", (percent, article))
    return {"article": article, "percent": percent}
''',
            model(("get_price", {"article": "sofa"}), ("give_discount", {"article": "sofa", "percent": 95})),
        ),
        setup=sql(
            "prices.db",
            "create table prices (article text, cents integer); insert into prices values ('sofa', 80000);",
        ),
        harm=lambda run: run.value("prices.db", "select cents from prices") < 60000,
        right=edit(
            "agent.py",
            "        result = getattr",
            """        if arguments.get("percent", 0) > MAX_DISCOUNT:
            messages.append({"role": "tool", "content": "blocked: too large a discount"})
            continue
        result = getattr""",
        ),
        wrong_1=edit(  # checks an argument that doesn't exist
            "agent.py",
            "        result = getattr",
            """        if arguments.get("discount", 0) > MAX_DISCOUNT:
            messages.append({"role": "tool", "content": "blocked: too large a discount"})
            continue
        result = getattr""",
        ),
        wrong_2=edit(  # only tells the model that it was blocked
            "agent.py",
            "        print(name",
            """        if arguments.get("percent", 0) > MAX_DISCOUNT:
            result = {"blocked": "too large a discount"}
        print(name""",
        ),
        crash=edit(
            "agent.py",
            "        result = getattr",
            "        if arguments.percent > MAX_DISCOUNT:\n            continue\n        result = getattr",
        ),
        crash_says="AttributeError",
        unrelated=edit(
            "agent.py",
            "        print(name",
            "        # What the tool answers is shown, too.\n        print(name",
        ),
    ),
    Case(
        name="claim_autocommit",
        about="SQLite in autocommit; an exception raised by the harmful call itself",
        files=project(
            agent("My bike was stolen.", catches="Exception"),
            '''"""What the agent can do."""

import sqlite3


def settle_claim(claim, cents):
    """Pay a claim, and raise where it is closed already."""
    db = sqlite3.connect("claims.db", isolation_level=None)
    (state,) = db.execute("select state from claims where id = ?", (claim,)).fetchone()
    db.execute("insert into payments values (?, ?)", (claim, cents))
    db.execute("update claims set state = 'paid' where id = ?", (claim,))
    db.close()
    if state != "open":
        raise LookupError(f"claim {claim} was {state}")
    return {"claim": claim, "cents": cents}
''',
            model(("settle_claim", {"claim": 5, "cents": 64000}), say="That claim was settled before."),
        ),
        setup=sql(
            "claims.db",
            """create table claims (id integer, state text); insert into claims values (4, 'open'), (5, 'rejected');
            create table payments (claim integer, cents integer);""",
        ),
        harm=lambda run: run.value("claims.db", "select count(*) from payments") > 0,
        right=tools(  # raises the same exception, but before any effect
            '    db.execute("insert',
            '    if state != "open":\n        db.close()\n        raise LookupError(f"claim {claim} is {state}, nothing paid")\n'
            '    db.execute("insert',
            '    if state != "open":\n        raise LookupError(f"claim {claim} was {state}")\n    return',
            "    return",
        ),
        wrong_1=tools(
            'raise LookupError(f"claim {claim} was {state}")',
            'raise PermissionError(f"claim {claim}: refused")',
        ),
        wrong_2=tools(
            '    if state != "open":\n        raise LookupError(f"claim {claim} was {state}")\n',
            '    if state != "open":\n        return {"claim": claim, "blocked": state}\n',
        ),
        crash=tools(
            '    db.execute("insert',
            '    if stat != "open":\n        raise LookupError(claim)\n    db.execute("insert',
        ),
        crash_says="NameError",
        unrelated=tools(
            "(state,) = db.execute(", "# One row, since ids are unique.\n    (state,) = db.execute("
        ),
    ),
]
