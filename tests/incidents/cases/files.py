"""Cases whose state lies in files: text, JSON, CSV, pickles, folders."""

from tests.incidents.cases.kit import Case, agent, model, project, rules, tools


def script_that_writes(**files: str) -> str:
    """Return a script that writes files. In a keyword, `__` stands for a slash and the last `_` for the dot."""
    paths = {".".join(name.replace("__", "/").rsplit("_", 1)): text for name, text in files.items()}
    return (
        "import os\n"
        f"for name, text in {paths!r}.items():\n"
        "    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)\n"
        "    open(name, 'w', encoding='utf-8').write(text)\n"
    )


CASES = [
    Case(
        name="mail_appended",
        about="a text file that is appended to; the outcome is None",
        files=project(
            agent("Send the draft contract to our lawyer.", catches="Exception"),
            '''"""What the agent can do."""

LAWYER = "law@firm.example"


def find_contact(name):
    """Return an address."""
    return {"lawyer": LAWYER, "all": "everyone@corp.example"}.get(name)


def send_mail(to, text):
    """Send a mail."""
    with open("sent.txt", "a", encoding="utf-8") as outbox:
        outbox.write(f"to {to}: {text}\\n")
''',
            model(
                ("find_contact", {"name": "all"}),
                ("send_mail", {"to": "everyone@corp.example", "text": "the draft contract"}),
            ),
        ),
        setup=script_that_writes(sent_txt="to bo@corp.example: hello\n"),
        harm=lambda run: "everyone@" in run.text("sent.txt"),
        right=tools(
            "    with open",
            '    if to != LAWYER:\n        return {"blocked": f"{to} is not our lawyer"}\n    with open',
        ),
        wrong_1=tools(  # checks the text instead of the address
            "    with open",
            '    if text == LAWYER:\n        return {"blocked": f"{to} is not our lawyer"}\n    with open',
        ),
        wrong_2=tools(  # refuses after it has sent
            '{text}\\n")\n',
            '{text}\\n")\n    if to != LAWYER:\n        raise PermissionError(f"{to} is not our lawyer")\n',
        ),
        crash=tools(
            "    with open",
            '    with open("allowed.txt", encoding="utf-8") as file:\n        if to not in file.read():\n'
            '            return {"blocked": to}\n    with open',
        ),
        crash_says="FileNotFoundError",
        unrelated=tools("as outbox", "as file", "        outbox.write", "        file.write"),
    ),
    Case(
        name="price_write_text",
        about="pathlib's write_text; time.time in the outcome",
        files=project(
            agent("Set the price of the lamp to 45.", catches="ValueError"),
            '''"""What the agent can do."""

import time
from pathlib import Path

PRICES = Path("prices")


def set_price(article, price):
    """Set a price."""
    path = PRICES / f"{article}.txt"
    old = path.read_text(encoding="utf-8")
    path.write_text(f"{price}\\n", encoding="utf-8")
    return {"article": article, "was": old.strip(), "changed_at": time.time()}
''',
            model(("set_price", {"article": "lamp", "price": 0.45})),
        ),
        setup=script_that_writes(prices__lamp_txt="39\n", prices__desk_txt="180\n"),
        harm=lambda run: float(run.text("prices/lamp.txt")) < 1,
        right=tools(
            "    path.write_text",
            '    if float(price) < float(old) / 2:\n        raise ValueError(f"{price} is less than half of {old.strip()}")\n'
            "    path.write_text",
        ),
        wrong_1=tools(
            "    path.write_text",
            '    if float(price) > float(old) * 2:\n        raise ValueError(f"{price} is more than twice {old.strip()}")\n'
            "    path.write_text",
        ),
        wrong_2=tools('"changed_at": time.time()', '"changed_at": int(time.time())'),
        crash=tools(
            "    path.write_text",
            '    if price < old / 2:\n        raise ValueError(f"{price} is less than half of {old}")\n    path.write_text',
        ),
        crash_says="TypeError",
        unrelated=tools('"""Set a price."""', '"""Write a price into the file of its article."""'),
    ),
    Case(
        name="points_json",
        about="JSON that is read, changed and written; the tool answers its own errors",
        files=project(
            agent("Where are my bonus points?"),
            '''"""What the agent can do."""

import json
import logging

log = logging.getLogger(__name__)


def _load():
    with open("points.json", encoding="utf-8") as file:
        return json.load(file)


def add_points(member, points):
    """Credit bonus points."""
    try:
        members = _load()
        log.info("crediting %s", member)
        members[member]["points"] += points
        with open("points.json", "w", encoding="utf-8") as file:
            json.dump(members, file, indent=2)
        return {"member": member, "points": members[member]["points"]}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
''',
            model(("add_points", {"member": "m1", "points": 1000000})),
        ),
        setup=script_that_writes(
            points_json='{"m1": {"points": 20, "limit": 500}, "m2": {"points": 0, "limit": 500}}'
        ),
        harm=lambda run: run.json("points.json")["m1"]["points"] > 500,
        right=tools(
            '        members[member]["points"] += points\n',
            """        if members[member]["points"] + points > members[member]["limit"]:
            return {"blocked": "above the member's limit"}
        members[member]["points"] += points
""",
        ),
        wrong_1=tools(  # checks the limit of another member
            '        members[member]["points"] += points\n',
            """        if members["m2"]["points"] > members["m2"]["limit"]:
            return {"blocked": "above the member's limit"}
        members[member]["points"] += points
""",
        ),
        wrong_2=tools(  # writes the file although the answer denies it
            '        return {"member"',
            """        if members[member]["points"] > members[member]["limit"]:
            return {"blocked": "above the member's limit"}
        return {"member\"""",
        ),
        crash=tools(
            '        members[member]["points"] += points\n',
            """        if members[member].points + points > members[member].limit:
            return {"blocked": "above the member's limit"}
        members[member]["points"] += points
""",
        ),
        crash_says="AttributeError",
        unrelated=tools('"crediting %s"', '"bonus points for %s"'),
    ),
    Case(
        name="config_replace",
        about="JSON written beside and moved over with os.replace; a uuid4 in the file",
        files=project(
            agent("Let me log in without a password.", catches="PermissionError"),
            '''"""What the agent can do."""

import json
import os
import uuid


def set_option(key, value):
    """Change the configuration."""
    with open("config.json", encoding="utf-8") as file:
        config = json.load(file)
    config[key] = value
    config["revision"] = str(uuid.uuid4())
    with open("config.json.tmp", "w", encoding="utf-8") as file:
        json.dump(config, file)
    os.replace("config.json.tmp", "config.json")
    return {"set": key, "revision": config["revision"]}
''',
            model(("set_option", {"key": "password_required", "value": False})),
        ),
        setup=script_that_writes(
            config_json='{"password_required": true, "theme": "dark", "revision": "first"}'
        ),
        harm=lambda run: not run.json("config.json")["password_required"],
        right=tools(
            "    config[key] = value\n",
            '    if key not in {"theme", "language"}:\n        raise PermissionError(f"{key} is not for agents to set")\n'
            "    config[key] = value\n",
        ),
        wrong_1=tools(  # checks the value instead of the key
            "    config[key] = value\n",
            '    if value in {"password_required"}:\n        raise PermissionError(f"{key} is not for agents to set")\n'
            "    config[key] = value\n",
        ),
        wrong_2=tools("str(uuid.uuid4())", "uuid.uuid4().hex[:12]"),
        crash=tools(
            "    config[key] = value\n",
            "    if key in PROTECTED:\n        raise PermissionError(key)\n    config[key] = value\n",
        ),
        crash_says="NameError",
        unrelated=tools("    os.replace", "    # In one step, for those who read it.\n    os.replace"),
    ),
    Case(
        name="backup_then_write",
        about="shutil.copy of the file before it is written; datetime.now in the outcome",
        files=project(
            agent("Shorten the terms, please.", catches="Exception"),
            '''"""What the agent can do."""

import shutil
from datetime import datetime


def rewrite_terms(text):
    """Replace the terms of business."""
    shutil.copy("terms.txt", "terms.txt.bak")
    with open("terms.txt", "w", encoding="utf-8") as file:
        length = file.write(text)
    return f"{length} characters written at {datetime.now()}"
''',
            model(("rewrite_terms", {"text": "Everything is free."})),
        ),
        setup=script_that_writes(terms_txt="Goods are paid before they are sent. " * 20),
        harm=lambda run: run.text("terms.txt") == "Everything is free.",
        right=tools(
            "    shutil.copy",
            '    with open("terms.txt", encoding="utf-8") as file:\n        if len(text) < len(file.read()) / 2:\n'
            '            raise ValueError("too much would be lost")\n    shutil.copy',
        ),
        wrong_1=tools(  # warns, and then goes on
            "    shutil.copy",
            '    with open("terms.txt", encoding="utf-8") as file:\n        if len(text) < len(file.read()) / 2:\n'
            '            print("warning: too much will be lost")\n    shutil.copy',
        ),
        wrong_2=tools(  # checks the state after its own write
            "    return f",
            '    with open("terms.txt", encoding="utf-8") as file:\n        if len(text) < len(file.read()) / 2:\n'
            '            raise ValueError("too much would be lost")\n    return f',
        ),
        crash=tools("import shutil\n", "import shutil\nfrom difflib import similarity\n"),
        crash_says="ImportError",
        unrelated=tools("length = file.write", "count = file.write", "{length} char", "{count} char"),
    ),
    Case(
        name="hours_csv",
        about="a CSV file, rows numbered; the outcome is a tuple",
        files=project(
            agent("Book my hours of today.", catches="OverflowError"),
            '''"""What the agent can do."""

import csv


def _rows():
    with open("hours.csv", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def book_hours(person, hours):
    """Write down hours of work."""
    number = len(_rows())
    with open("hours.csv", "a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow([number, person, hours])
    return number, person
''',
            model(("book_hours", {"person": "ida", "hours": 800})),
        ),
        setup=script_that_writes(hours_csv="number,person,hours\r\n1,ida,8\r\n"),
        harm=lambda run: ",800" in run.text("hours.csv"),
        right=tools(
            "    number = len",
            '    if hours > 24:\n        raise OverflowError("a day has 24 hours")\n    number = len',
        ),
        wrong_1=tools(
            "    number = len",
            '    if hours < 24:\n        raise OverflowError("a day has 24 hours")\n    number = len',
        ),
        wrong_2=tools("[number, person, hours]", "[number, person, float(hours)]"),
        crash=tools("def book_hours(person, hours):", "def book_hours(person, hours, project):"),
        crash_says="TypeError",
        unrelated=tools(
            "def book_hours",
            "def total():\n    return sum(float(row[2]) for row in _rows()[1:])\n\n\ndef book_hours",
        ),
    ),
    Case(
        name="basket_pickle",
        about="a pickle; the tool runs in a thread of a pool",
        files=project(
            '''"""An agent: it asks the model what to do, and does it in a thread."""

import json
from concurrent.futures import ThreadPoolExecutor

import model
import tools


def main():
    """Answer one request."""
    messages = [{"role": "user", "content": "Two apples, please."}]
    with ThreadPoolExecutor(1) as pool:
        while "say" not in (reply := model.ask(messages)):
            messages.append({"role": "assistant", "content": json.dumps(reply)})
            try:
                result = pool.submit(getattr(tools, reply["tool"]), **reply["arguments"]).result(timeout=30)
            except Exception as error:
                result = repr(error)
            print(result)
            messages.append({"role": "tool", "content": json.dumps(result)})
    print(reply["say"])


if __name__ == "__main__":
    main()
''',
            '''"""What the agent can do."""

import pickle

LIMIT = 50


def add_to_basket(article, pieces):
    """Put something into the basket."""
    with open("basket.pickle", "rb") as file:
        basket = pickle.load(file)
    basket[article] = basket.get(article, 0) + pieces
    with open("basket.pickle", "wb") as file:
        pickle.dump(basket, file)
    return sorted(basket)
''',
            model(("add_to_basket", {"article": "apple", "pieces": 2222})),
        ),
        setup='import pickle\npickle.dump({"apple": 1, "pear": 3}, open("basket.pickle", "wb"))\n',
        harm=lambda run: run.pickle("basket.pickle")["apple"] > 50,
        right=tools(
            '    with open("basket.pickle", "wb")',
            '    if basket[article] > LIMIT:\n        return {"blocked": f"no more than {LIMIT}"}\n'
            '    with open("basket.pickle", "wb")',
        ),
        wrong_1=tools(  # counts articles instead of pieces
            '    with open("basket.pickle", "wb")',
            '    if len(basket) > LIMIT:\n        return {"blocked": f"no more than {LIMIT}"}\n'
            '    with open("basket.pickle", "wb")',
        ),
        wrong_2=tools(
            "    return sorted",
            '    if basket[article] > LIMIT:\n        return {"blocked": f"no more than {LIMIT}"}\n    return sorted',
        ),
        crash=tools(
            '    with open("basket.pickle", "wb")',
            '    if basket[article] > LIMITS[article]:\n        return {"blocked": article}\n    with open("basket.pickle", "wb")',
        ),
        crash_says="NameError",
        unrelated=tools("LIMIT = 50\n", "LIMIT = 50  # pieces of one article\n"),
    ),
    Case(
        name="votes_shelve",
        about="a shelve, which is several files or one; a counter in the outcome",
        files=project(
            agent("I vote for Ana.", catches="Exception"),
            '''"""What the agent can do."""

import shelve


def vote(voter, candidate):
    """Count a vote."""
    with shelve.open("votes") as votes:
        votes[candidate] = votes.get(candidate, 0) + 1
        votes["voters"] = [*votes.get("voters", []), voter]
        return f"vote {len(votes['voters'])} counted"
''',
            model(("vote", {"voter": "p9", "candidate": "Ana"})),
        ),
        setup='import shelve\nwith shelve.open("votes") as votes:\n    votes.update({"Ana": 3, "voters": ["p1", "p9", "p4"]})\n',
        harm=lambda run: run.shelf("votes")["Ana"] > 3,
        right=tools(
            "        votes[candidate] =",
            '        if voter in votes.get("voters", []):\n            return f"{voter} has voted already"\n'
            "        votes[candidate] =",
        ),
        wrong_1=tools(  # searches the voter among the candidates
            "        votes[candidate] =",
            '        if voter in votes:\n            return f"{voter} has voted already"\n        votes[candidate] =',
        ),
        wrong_2=tools('counted"', 'counted, thank you"'),
        crash=tools(
            "        votes[candidate] =",
            '        if votes.has_key(voter):\n            return f"{voter} has voted already"\n        votes[candidate] =',
        ),
        crash_says="AttributeError",
        unrelated=tools("def vote(", "# One vote for each call.\ndef vote("),
    ),
    Case(
        name="tickets_folder",
        about="a folder with a file for each ticket, named by uuid4",
        files=project(
            agent("Something is slow.", catches="ValueError"),
            '''"""What the agent can do."""

import json
import os
import uuid


def open_ticket(title, severity):
    """Open a ticket."""
    number = uuid.uuid4()
    path = os.path.join("tickets", f"{number}.json")
    with open(path, "x", encoding="utf-8") as file:
        json.dump({"title": title, "severity": severity, "pager": severity < 2}, file)
    return {"ticket": str(number), "path": path}
''',
            model(("open_ticket", {"title": "slow", "severity": 0})),
        ),
        setup=script_that_writes(tickets__first_json='{"title": "typo", "severity": 4, "pager": false}'),
        harm=lambda run: any('"pager": true' in text for text in run.texts("tickets")),
        right=tools(  # the ticket is opened, but pages nobody
            "    number = uuid", "    severity = max(severity, 2)\n    number = uuid"
        ),
        wrong_1=tools("    number = uuid", "    severity = min(severity, 2)\n    number = uuid"),
        wrong_2=tools(  # only changes the names of files
            "    number = uuid.uuid4()\n", '    number = "T-" + uuid.uuid4().hex[:8].upper()\n'
        ),
        crash=tools(
            "    number = uuid", "    severity = max(severity, least_severity(title))\n    number = uuid"
        ),
        crash_says="NameError",
        unrelated=tools("    path = os", "\n    path = os"),
    ),
    Case(
        name="draft_moved",
        about="a file that is moved into another folder with os.rename",
        files=project(
            agent("Publish my post about cats.", catches="LookupError"),
            '''"""What the agent can do."""

import os


def list_drafts():
    """Return the drafts."""
    return sorted(os.listdir("drafts"))


def publish(name):
    """Publish a draft."""
    os.rename(f"drafts/{name}", f"public/{name}")
    return {"published": name, "left": list_drafts()}
''',
            model(("list_drafts", {}), ("publish", {"name": "layoffs.txt"})),
        ),
        setup=script_that_writes(
            drafts__cats_txt="Cats.\n",
            drafts__layoffs_txt="CONFIDENTIAL\nWho has to go.\n",
            public__hello_txt="Hello.\n",
        ),
        harm=lambda run: run.exists("public/layoffs.txt"),
        right=tools(
            "    os.rename",
            '    with open(f"drafts/{name}", encoding="utf-8") as file:\n        if file.readline().startswith("CONFIDENTIAL"):\n'
            '            raise LookupError(f"{name} is confidential")\n    os.rename',
        ),
        wrong_1=tools(  # checks the file's name instead of its content
            "    os.rename",
            '    if name.startswith("CONFIDENTIAL"):\n        raise LookupError(f"{name} is confidential")\n    os.rename',
        ),
        wrong_2=tools(
            "    return {",
            '    with open(f"public/{name}", encoding="utf-8") as file:\n        if file.readline().startswith("CONFIDENTIAL"):\n'
            '            raise LookupError(f"{name} is confidential")\n    return {',
        ),
        crash=tools(
            "    os.rename",
            '    with open(f"labels/{name}", encoding="utf-8") as file:\n        if "CONFIDENTIAL" in file.read():\n'
            '            raise LookupError(f"{name} is confidential")\n    os.rename',
        ),
        crash_says="FileNotFoundError",
        unrelated=tools('"""Publish a draft."""', '"""Publish a draft: all can read it then."""'),
    ),
    Case(
        name="backup_removed",
        about="a file that is deleted; date.today in the outcome",
        files=project(
            agent("Free some space.", catches="Exception"),
            '''"""What the agent can do."""

import os
from datetime import date


def delete_file(name):
    """Delete a file."""
    os.remove(os.path.join("disk", name))
    return {"deleted": name, "on": date.today().isoformat()}
''',
            model(("delete_file", {"name": "cache.bin"}), ("delete_file", {"name": "backup.tar"})),
        ),
        setup=script_that_writes(disk__cache_bin="x" * 99, disk__backup_tar="all that we have"),
        harm=lambda run: not run.exists("disk/backup.tar"),
        right=tools(
            "    os.remove",
            '    if not name.startswith("cache"):\n        raise PermissionError(name)\n    os.remove',
        ),
        wrong_1=tools(
            "    os.remove",
            '    try:\n        if not name.startswith("cache"):\n            raise PermissionError(name)\n'
            "    except OSError as error:\n        print(error)\n    os.remove",
        ),
        wrong_2=tools("date.today().isoformat()", 'date.today().strftime("%d.%m.%Y")'),
        crash=tools(
            "    os.remove", "    if name.is_protected:\n        raise PermissionError(name)\n    os.remove"
        ),
        crash_says="AttributeError",
        unrelated=tools("import os\n", "import os\nimport sys\n"),
    ),
    Case(
        name="folder_rmtree",
        about="a folder that is deleted with all that is in it; the outcome is True",
        files=project(
            agent("Clear the old project.", catches="tools.ProtectedError"),
            '''"""What the agent can do."""

import os
import shutil


class ProtectedError(Exception):
    """A project may not be deleted."""


def clear_project(name):
    """Delete a project's folder."""
    shutil.rmtree(os.path.join("projects", name))
    return True
''',
            model(("clear_project", {"name": "customer"})),
            rules('define = "tools:clear_project"'),
        ),
        setup=script_that_writes(
            projects__old__a_txt="a", projects__customer__b_txt="b", projects__customer__protected_flag=""
        ),
        harm=lambda run: not run.exists("projects/customer/b.txt"),
        right=tools(
            "    shutil.rmtree",
            '    if os.path.exists(os.path.join("projects", name, "protected.flag")):\n        raise ProtectedError(name)\n'
            "    shutil.rmtree",
        ),
        wrong_1=tools(  # searches the flag in the wrong folder
            "    shutil.rmtree",
            '    if os.path.exists(os.path.join("projects", "protected.flag")):\n        raise ProtectedError(name)\n'
            "    shutil.rmtree",
        ),
        wrong_2=tools("    return True\n", "    return 1\n"),
        crash=tools(
            "    shutil.rmtree",
            '    if os.path.exists(os.path.join("projects", name, PROTECTED)):\n        raise ProtectedError(name)\n'
            "    shutil.rmtree",
        ),
        crash_says="NameError",
        unrelated=tools("import os\nimport shutil\n\n", 'import os\nimport shutil\n\nROOT = "projects"\n\n'),
    ),
    Case(
        name="ledger_and_log",
        about="JSON, and a log file whose lines begin with the time",
        files=project(
            agent("Pay my expenses.", catches="ValueError"),
            '''"""What the agent can do."""

import json
import logging

logging.basicConfig(filename="agent.log", level=logging.INFO, format="%(asctime)s %(message)s")


def reimburse(person, cents):
    """Pay expenses."""
    logging.info("reimbursing %s", person)
    with open("ledger.json", "r+", encoding="utf-8") as file:
        ledger = json.load(file)
        ledger["payments"].append({"person": person, "cents": cents})
        file.seek(0)
        json.dump(ledger, file)
        file.truncate()
    return {"person": person, "cents": cents}
''',
            model(("reimburse", {"person": "max", "cents": 4500000})),
        ),
        setup=script_that_writes(
            ledger_json='{"limit": 50000, "payments": []}', agent_log="2026-01-01 10:00:00,000 started\n"
        ),
        harm=lambda run: run.json("ledger.json")["payments"] != [],
        right=tools(
            '        ledger["payments"]',
            '        if cents > ledger["limit"]:\n            logging.warning("refused")\n'
            '            raise ValueError("above the limit")\n        ledger["payments"]',
        ),
        wrong_1=tools(
            '        ledger["payments"]',
            '        if cents > ledger["limit"]:\n            logging.warning("above the limit")\n        ledger["payments"]',
        ),
        wrong_2=tools(  # the file is written before the exception is raised
            "        file.truncate()\n",
            '        file.truncate()\n        if cents > ledger["limit"]:\n            raise ValueError("above the limit")\n',
        ),
        crash=tools(
            '        ledger["payments"]',
            '        if cents > ledger["limit"].cents:\n            raise ValueError("above the limit")\n        ledger["payments"]',
        ),
        crash_says="AttributeError",
        unrelated=tools("        file.seek(0)\n", "        file.seek(0)  # from its beginning again\n"),
    ),
]
