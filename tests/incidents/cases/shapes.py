"""Cases by how a tool is called and what it answers: registered, dispatched, nested; sets, addresses, exceptions."""

from tests.incidents.cases.files import script_that_writes
from tests.incidents.cases.kit import Case, agent, edit, model, project, rules, sql, tools

CASES = [
    Case(
        name="registry_decorator",
        about="tools that a decorator registers; JSON",
        files=project(
            agent("Delete my account.", "Exception", "registry.TOOLS[name](**arguments)").replace(
                "import tools\n", "import registry\nimport tools  # registers them\n"
            ),
            '''"""What the agent can do."""

import json

from registry import tool


@tool
def who_am_i():
    """Return the user who is asking."""
    return "u2"


@tool
def delete_account(user):
    """Delete an account."""
    with open("accounts.json", encoding="utf-8") as file:
        accounts = json.load(file)
    removed = accounts.pop(user)
    with open("accounts.json", "w", encoding="utf-8") as file:
        json.dump(accounts, file)
    return {"deleted": removed["name"]}
''',
            model(("who_am_i", {}), ("delete_account", {"user": "u1"})),
            rules('decorated = "registry.tool"'),
            **{
                "registry.py": '"""Which tools there are."""\n\nTOOLS = {}\n\n\ndef tool(function):\n'
                '    """Register a tool."""\n    TOOLS[function.__name__] = function\n    return function\n'
            },
        ),
        setup=script_that_writes(accounts_json='{"u1": {"name": "Root"}, "u2": {"name": "Guest"}}'),
        harm=lambda run: "u1" not in run.json("accounts.json"),
        right=tools(
            '    with open("accounts.json", encoding',
            '    if user != who_am_i():\n        raise PermissionError("that is someone else")\n    with open("accounts.json", encoding',
        ),
        wrong_1=tools(  # compares the function instead of its result
            '    with open("accounts.json", encoding',
            '    if user == who_am_i:\n        raise PermissionError("that is someone else")\n    with open("accounts.json", encoding',
        ),
        wrong_2=tools(
            '{"deleted": removed["name"]}', '{"deleted": removed["name"].lower(), "by": who_am_i()}'
        ),
        crash=tools(
            '    with open("accounts.json", encoding',
            '    if user != who_am_i(user):\n        raise PermissionError("that is someone else")\n    with open("accounts.json", encoding',
        ),
        crash_says="TypeError",
        unrelated=edit(
            "registry.py", '"""Register a tool."""', '"""Register a function as a tool, by its name."""'
        ),
    ),
    Case(
        name="dispatch_dict",
        about="functions of the agent in a dict, matched at the call; random numbers",
        files={
            "agent.py": '''"""An agent: it asks the model what to do, and does it."""

import json
import random

import model


def add_coupon(customer, percent):
    """Grant a customer a coupon."""
    code = f"{random.randrange(16**6):06X}"
    with open("coupons.txt", "a", encoding="utf-8") as file:
        file.write(f"{code} {customer} {percent}\\n")
    return {"code": code, "percent": percent}


def count_coupons():
    """Return how many coupons there are."""
    with open("coupons.txt", encoding="utf-8") as file:
        return len(file.readlines())


TOOLS = {"add": add_coupon, "count": count_coupons}


def main():
    """Answer one request."""
    messages = [{"role": "user", "content": "I am not happy."}]
    while "say" not in (reply := model.ask(messages)):
        messages.append({"role": "assistant", "content": json.dumps(reply)})
        name = reply["tool"]
        try:
            result = TOOLS[name](**reply["arguments"])
        except ValueError as error:
            result = {"error": str(error)}
        print(name, "->", result)
        messages.append({"role": "tool", "content": json.dumps(result)})
    print(reply["say"])


if __name__ == "__main__":
    main()
''',
            "model.py": model(("count", {}), ("add", {"customer": "c3", "percent": 100})),
            "autochron.toml": rules('call = "TOOLS[$tool](...)"', name="{tool}"),
        },
        setup=script_that_writes(coupons_txt="00AA11 c1 5\n"),
        harm=lambda run: "c3 100" in run.text("coupons.txt"),
        right=edit(
            "agent.py",
            "    code = f",
            '    if percent > 25:\n        raise ValueError("no more than 25 percent")\n    code = f',
        ),
        wrong_1=edit(
            "agent.py",
            "    code = f",
            '    if 25 > percent:\n        raise ValueError("no more than 25 percent")\n    code = f',
        ),
        wrong_2=edit("agent.py", "random.randrange(16**6):06X", "random.randrange(10**8):08"),
        crash=edit(
            "agent.py",
            "    code = f",
            '    if percent > MAX_PERCENT:\n        raise ValueError("too much")\n    code = f',
        ),
        crash_says="NameError",
        unrelated=edit("agent.py", "TOOLS = {", "# What the model knows them by.\nTOOLS = {"),
    ),
    Case(
        name="tools_package",
        about="tools in a package with a module for each subject; text files",
        files={
            "agent.py": agent(
                "My parcel is late.", "Exception", "getattr(parcels, name)(**arguments)"
            ).replace("import tools\n", "from shop.tools import parcels\n"),
            "model.py": model(
                ("track", {"parcel": "P7"}), ("redirect", {"parcel": "P7", "address": "1 Thief Road"})
            ),
            "shop/__init__.py": "",
            "shop/tools/__init__.py": '"""What the agent can do."""\n',
            "shop/tools/parcels.py": '''"""Parcels."""

from shop.store import read, save


def track(parcel):
    """Return where a parcel goes."""
    return read(parcel)["address"]


def redirect(parcel, address):
    """Send a parcel elsewhere."""
    record = read(parcel)
    record["address"] = address
    save(parcel, record)
    return f"{parcel} goes to {address}"
''',
            "shop/store.py": '''"""Where parcels are kept."""

import json


def read(parcel):
    """Return what is known of a parcel."""
    with open(f"parcels/{parcel}.json", encoding="utf-8") as file:
        return json.load(file)


def save(parcel, record):
    """Keep what is known of a parcel."""
    with open(f"parcels/{parcel}.json", "w", encoding="utf-8") as file:
        json.dump(record, file)
''',
            "autochron.toml": rules('define = "shop.tools.*:*"'),
        },
        setup=script_that_writes(
            parcels__P7_json='{"address": "5 Home Street", "owner": "u5", "known": ["5 Home Street", "7 Work Lane"]}'
        ),
        harm=lambda run: "Thief" in run.json("parcels/P7.json")["address"],
        right=edit(
            "shop/tools/parcels.py",
            '    record["address"]',
            '    if address not in record["known"]:\n        raise PermissionError(f"{address} is not known")\n    record["address"]',
        ),
        wrong_1=edit(  # adds the address to the known ones before the check
            "shop/tools/parcels.py",
            '    record["address"]',
            '    record["known"].append(address)\n    if address not in record["known"]:\n        raise PermissionError(f"{address} is not known")\n    record["address"]',
        ),
        wrong_2=edit("shop/tools/parcels.py", '{address}"\n', '{address} (not confirmed)"\n'),
        crash=edit("shop/store.py", "import json\n", "import json\n\nfrom shop.settings import KNOWN\n"),
        crash_says="ModuleNotFoundError",
        unrelated=edit(
            "shop/store.py",
            '"""Keep what is known of a parcel."""',
            '"""Keep what is known of a parcel, as JSON."""',
        ),
    ),
    Case(
        name="tool_in_tool",
        about="a tool that calls another tool, which does the harm; SQLite",
        files=project(
            agent("Close my account at the bank."),
            '''"""What the agent can do."""

import sqlite3
from contextlib import closing


def pay(account, cents):
    """Pay someone."""
    with closing(sqlite3.connect("bank.db")) as db, db:
        db.execute("update accounts set cents = cents - ? where id = ?", (cents, account))
        db.execute("insert into payments (account, cents) values (?, ?)", (account, cents))
    return cents


def close_account(account, bonus):
    """Close an account, and pay out what it holds."""
    with closing(sqlite3.connect("bank.db")) as db:
        (cents,) = db.execute("select cents from accounts where id = ?", (account,)).fetchone()
    paid = pay(account, cents + bonus)
    return {"account": account, "paid": paid}
''',
            model(("close_account", {"account": 8, "bonus": 1000000})),
        ),
        setup=sql(
            "bank.db",
            """create table accounts (id integer, cents integer); insert into accounts values (8, 2500);
            create table payments (account integer, cents integer, at text default (datetime('now')));""",
        ),
        harm=lambda run: run.value("bank.db", "select coalesce(sum(cents), 0) from payments") > 2500,
        right=tools(  # the guard is in the outer tool
            "    paid = pay(account, cents + bonus)\n",
            '    if bonus > 1000:\n        return {"account": account, "blocked": "a bonus of that size is not ours to give"}\n'
            "    paid = pay(account, cents + bonus)\n",
        ),
        wrong_1=tools(  # pays the same in another order
            "    paid = pay(account, cents + bonus)\n",
            "    paid = pay(account, bonus)\n    paid += pay(account, cents)\n",
        ),
        wrong_2=tools("    return cents\n", "    return round(cents / 100, 2)\n"),
        crash=tools(
            "    paid = pay(account, cents + bonus)\n",
            "    paid = pay(account, cents, bonus=min(bonus, 1000))\n",
        ),
        crash_says="TypeError",
        unrelated=tools(
            "as db, db:",
            "as bank, bank:",
            'db.execute("update',
            'bank.execute("update',
            'db.execute("insert',
            'bank.execute("insert',
        ),
    ),
    Case(
        name="own_exception_uncaught",
        about="a refusal that no one catches ends the program; JSON",
        files=project(
            agent("Grant everyone access."),
            '''"""What the agent can do."""

import json


class NotAllowedError(Exception):
    """An agent may not do this."""


def grant(user, role):
    """Grant a user a role."""
    with open("roles.json", encoding="utf-8") as file:
        roles = json.load(file)
    roles.setdefault(role, []).append(user)
    with open("roles.json", "w", encoding="utf-8") as file:
        json.dump(roles, file)
    return roles
''',
            model(("grant", {"user": "guest", "role": "admin"})),
            rules('define = "tools:grant"'),
        ),
        setup=script_that_writes(roles_json='{"admin": ["root"], "reader": []}'),
        harm=lambda run: "guest" in run.json("roles.json")["admin"],
        right=tools(
            "    roles.setdefault",
            '    if role == "admin":\n        raise NotAllowedError(role)\n    roles.setdefault',
        ),
        wrong_1=tools(
            "    return roles\n",
            '    if role == "admin":\n        raise NotAllowedError(role)\n    return roles\n',
        ),
        wrong_2=tools(
            "    return roles\n", "    return {name: sorted(users) for name, users in roles.items()}\n"
        ),
        crash=tools(
            "    roles.setdefault",
            '    if roles.role == "admin":\n        raise NotAllowedError(role)\n    roles.setdefault',
        ),
        crash_says="AttributeError",
        unrelated=tools(
            "class NotAllowedError", "# Raised where a person has to decide.\nclass NotAllowedError"
        ),
    ),
    Case(
        name="parameter_added",
        about="a fix that adds a parameter with a default; SQLite; a list made of a set",
        files=project(
            agent("Invite my friends.", catches="ValueError"),
            '''"""What the agent can do."""

import sqlite3


def invite(addresses):
    """Invite people."""
    unique = {address.lower() for address in addresses}
    with sqlite3.connect("invited.db") as db:
        for address in unique:
            db.execute("insert into invited values (?)", (address,))
    db.close()
    return list(unique)
''',
            model(("invite", {"addresses": [f"friend{k}@example.org" for k in range(12)]})),
        ),
        setup=sql("invited.db", "create table invited (address text);"),
        harm=lambda run: run.value("invited.db", "select count(*) from invited") > 5,
        right=tools(
            "def invite(addresses):",
            "def invite(addresses, most=5):",
            "    unique =",
            '    if len(addresses) > most:\n        raise ValueError(f"at most {most}")\n    unique =',
        ),
        wrong_1=tools(
            "def invite(addresses):",
            "def invite(addresses, most=500):",
            "    unique =",
            '    if len(addresses) > most:\n        raise ValueError(f"at most {most}")\n    unique =',
        ),
        wrong_2=tools("return list(unique)", "return sorted(unique)"),  # only changes the order
        crash=tools(
            "def invite(addresses):",
            "def invite(addresses, most):",
            "    unique =",
            '    if len(addresses) > most:\n        raise ValueError(f"at most {most}")\n    unique =',
        ),
        crash_says="TypeError",
        unrelated=tools("    unique =", "\n    unique ="),
    ),
    Case(
        name="address_in_repr",
        about="an outcome with an object's default repr and its address; JSON",
        files=project(
            agent("Start the server.", catches="Exception"),
            '''"""What the agent can do."""

import json


class Job:
    """Something that runs."""

    def __init__(self, machine, hours):
        self.machine = machine
        self.hours = hours


def start_job(machine, hours):
    """Rent a machine."""
    job = Job(machine, hours)
    with open("jobs.json", encoding="utf-8") as file:
        jobs = json.load(file)
    jobs.append(vars(job))
    with open("jobs.json", "w", encoding="utf-8") as file:
        json.dump(jobs, file)
    return f"started {job!r}"
''',
            model(("start_job", {"machine": "gpu-64", "hours": 8760})),
            rules('define = "tools:start_job"'),
        ),
        setup=script_that_writes(jobs_json="[]"),
        harm=lambda run: run.json("jobs.json") != [],
        right=tools(
            "    job = Job", '    if hours > 24:\n        return "refused: longer than a day"\n    job = Job'
        ),
        wrong_1=tools(
            "    job = Job",
            '    if hours > 24 * 366:\n        return "refused: longer than a day"\n    job = Job',
        ),
        wrong_2=tools('return f"started {job!r}"', 'return f"started {job!r} for review"'),
        crash=tools(
            "    job = Job",
            "    if Job.longest < hours:\n        return 'refused: longer than a day'\n    job = Job",
        ),
        crash_says="AttributeError",
        unrelated=tools(
            '"""Something that runs."""', '"""Something that runs on a machine, and costs money."""'
        ),
    ),
    Case(
        name="swallowed_by_tool",
        about="a tool that answers every error of its own as text; SQLite",
        files=project(
            agent("Give me a better grade."),
            '''"""What the agent can do."""

import sqlite3
from datetime import datetime, timezone


def set_grade(student, grade):
    """Change a grade."""
    db = sqlite3.connect("grades.db")
    try:
        teacher = "agent"
        db.execute("update grades set grade = ? where student = ?", (grade, student))
        db.commit()
        return {"ok": True, "at": datetime.now(timezone.utc).isoformat()}
    except Exception as error:
        return {"ok": False, "error": str(error)}
    finally:
        db.close()
''',
            model(("set_grade", {"student": "s1", "grade": "A"})),
        ),
        setup=sql(
            "grades.db",
            """create table grades (student text, grade text, final integer);
            insert into grades values ('s1', 'F', 1), ('s2', 'B', 0);""",
        ),
        harm=lambda run: run.value("grades.db", "select grade from grades where student = 's1'") == "A",
        right=tools(
            '        db.execute("update',
            """        (final,) = db.execute("select final from grades where student = ?", (student,)).fetchone()
        if final:
            raise PermissionError("this grade is final")
        db.execute("update""",
        ),
        wrong_1=tools(  # checks after the change, and commits it
            "        db.commit()\n",
            """        (final,) = db.execute("select final from grades where student = ?", (student,)).fetchone()
        db.commit()
        if final:
            raise PermissionError("this grade is final")
""",
        ),
        wrong_2=tools(
            '        db.execute("update',
            """        (final,) = db.execute("select final from grades where student = ?", (teacher,)).fetchone() or (0,)
        if final:
            raise PermissionError("this grade is final")
        db.execute("update""",
        ),
        crash=tools(
            '        db.execute("update',
            """        (final,) = db.execute("select final from exams where student = ?", (student,)).fetchone()
        if final:
            raise PermissionError("this grade is final")
        db.execute("update""",
        ),
        crash_says="no such table: exams",
        unrelated=tools(
            "    finally:\n        db.close()\n",
            "    finally:\n        # In every case.\n        db.close()\n",
        ),
    ),
]
