"""Cases whose state is held by the program itself: module globals, a class, an instance, counters."""

from tests.incidents.cases.kit import Case, agent, model, project, rules, tools


def showing(state: str, task: str, catches: str = "", call: str = "getattr(tools, name)(**arguments)") -> str:
    """Return the source of an agent that prints a piece of state at its end."""
    return agent(task, catches, call).replace(
        '    print(reply["say"])\n', f'    print(reply["say"])\n    print("in the end:", {state})\n'
    )


CASES = [
    Case(
        name="global_dict",
        about="a dict in a module; the tool is also asked for a balance",
        files=project(
            showing("tools.BALANCES", "Send 5 to Bob.", catches="ValueError"),
            '''"""What the agent can do."""

BALANCES = {"ann": 100, "bob": 20}


def balance(account):
    """Return what an account holds."""
    return BALANCES[account]


def transfer(source, target, amount):
    """Move money."""
    BALANCES[source] -= amount
    BALANCES[target] += amount
    return {"moved": amount, "to": target}
''',
            model(
                ("balance", {"account": "ann"}),
                ("transfer", {"source": "ann", "target": "bob", "amount": 500}),
            ),
        ),
        harm=lambda run: "'ann': -400" in run.out,
        right=tools(
            "    BALANCES[source] -=",
            '    if balance(source) < amount:\n        raise ValueError("the account does not hold that much")\n    BALANCES[source] -=',
        ),
        wrong_1=tools(
            "    BALANCES[source] -=",
            '    if balance(source) > amount:\n        raise ValueError("the account does not hold that much")\n    BALANCES[source] -=',
        ),
        wrong_2=tools(  # moves the money, and answers that it didn't
            "    return {",
            '    if BALANCES[source] < 0:\n        return {"blocked": "the account does not hold that much"}\n    return {',
        ),
        crash=tools(
            "    BALANCES[source] -=",
            '    if balances(source) < amount:\n        raise ValueError("the account does not hold that much")\n    BALANCES[source] -=',
        ),
        crash_says="NameError",
        unrelated=tools('"""Move money."""', '"""Move money between two accounts."""'),
    ),
    Case(
        name="global_list",
        about="a list in a module, ids of itertools.count",
        files=project(
            showing("tools.ORDERS", "A pizza for four.", catches="Exception"),
            '''"""What the agent can do."""

import itertools

ORDERS = []
_numbers = itertools.count(1)


def order(dish, pieces):
    """Order food."""
    number = next(_numbers)
    ORDERS.append((number, dish, pieces))
    return {"order": number, "pieces": pieces}
''',
            model(("order", {"dish": "salad", "pieces": 1}), ("order", {"dish": "pizza", "pieces": 400})),
        ),
        harm=lambda run: "'pizza', 400" in run.out,
        right=tools(
            "    number = next",
            '    if pieces > 20:\n        return {"blocked": "ask the kitchen first"}\n    number = next',
        ),
        wrong_1=tools(  # counts the orders instead of the pieces
            "    number = next",
            '    if len(ORDERS) > 20:\n        return {"blocked": "ask the kitchen first"}\n    number = next',
        ),
        wrong_2=tools('"order": number', '"order": f"No. {number}"'),
        crash=tools(
            "    number = next",
            '    if pieces > len(20):\n        return {"blocked": "ask the kitchen first"}\n    number = next',
        ),
        crash_says="TypeError",
        unrelated=tools(
            "    number = next",
            "    count = next",
            "append((number",
            "append((count",
            '"order": number',
            '"order": count',
        ),
    ),
    Case(
        name="class_attribute",
        about="attributes of a class; the tools are its static and class methods",
        files=project(
            showing(
                "tools.Desk.granted",
                "I need a day off.",
                "ValueError",
                "getattr(tools.Desk, name)(**arguments)",
            ),
            '''"""What the agent can do."""


class Desk:
    """The desk that grants leave."""

    left = 12
    granted = []

    @staticmethod
    def is_workday(day):
        """Say whether people work on that day."""
        return day not in {"Saturday", "Sunday"}

    @classmethod
    def grant_leave(cls, person, days):
        """Grant days off."""
        cls.left -= days
        cls.granted.append((person, days))
        return {"person": person, "left": cls.left}
''',
            model(("is_workday", {"day": "Monday"}), ("grant_leave", {"person": "zoe", "days": 365})),
            rules('define = "tools:Desk.*"'),
        ),
        harm=lambda run: "('zoe', 365)" in run.out,
        right=tools(
            "        cls.left -=",
            '        if days > cls.left:\n            raise ValueError("not so many are left")\n        cls.left -=',
        ),
        wrong_1=tools(
            "        cls.left -=",
            '        days = int(float(days))\n        if days < 0:\n            raise ValueError("no days")\n        cls.left -=',
        ),
        wrong_2=tools(
            '        return {"person"',
            '        if cls.left < 0:\n            raise ValueError("not so many are left")\n        return {"person"',
        ),
        crash=tools(
            "        cls.left -=",
            '        if days > cls.remaining:\n            raise ValueError("not so many are left")\n        cls.left -=',
        ),
        crash_says="AttributeError",
        unrelated=tools("    left = 12\n", "    left = 12  # of this year\n"),
    ),
    Case(
        name="instance_methods",
        about="an instance in a module; the tools are its methods; a counter in the outcome",
        files=project(
            showing(
                "tools.HOUSE.doors", "I am home.", "Exception", "getattr(tools.HOUSE, name)(**arguments)"
            ),
            '''"""What the agent can do."""


class House:
    """A house with doors that lock."""

    def __init__(self):
        self.doors = {"front": "locked", "safe": "locked"}
        self.actions = 0

    def state_of(self, door):
        """Return whether a door is locked."""
        return self.doors[door]

    def unlock(self, door):
        """Unlock a door."""
        self.actions += 1
        self.doors[door] = "open"
        return {"door": door, "action": self.actions}


HOUSE = House()
''',
            model(
                ("state_of", {"door": "front"}), ("unlock", {"door": "front"}), ("unlock", {"door": "safe"})
            ),
            rules('define = "tools:House.*"'),
        ),
        harm=lambda run: "'safe': 'open'" in run.out,
        right=tools(
            '        self.doors[door] = "open"\n',
            '        if door == "safe":\n            return {"blocked": "the safe takes a key"}\n        self.doors[door] = "open"\n',
        ),
        wrong_1=tools(  # uses another name for the safe
            '        self.doors[door] = "open"\n',
            '        if door == "Safe":\n            return {"blocked": "the safe takes a key"}\n        self.doors[door] = "open"\n',
        ),
        wrong_2=tools('"action": self.actions', '"action": f"{self.actions:04}"'),
        crash=tools(
            '        self.doors[door] = "open"\n',
            '        if door in self.protected:\n            return {"blocked": "the safe takes a key"}\n        self.doors[door] = "open"\n',
        ),
        crash_says="AttributeError",
        unrelated=tools(
            "    def unlock(self",
            '    def lock_all(self):\n        """Lock every door."""\n        self.doors = dict.fromkeys(self.doors, "locked")\n\n    def unlock(self',
        ),
    ),
    Case(
        name="global_counter",
        about="a number in a module that a function counts up; uuid4",
        files=project(
            showing("tools.SENT", "Remind the team of the meeting.", "tools.TooManyError"),
            '''"""What the agent can do."""

import uuid

SENT = 0


class TooManyError(RuntimeError):
    """There were more messages than are good for anyone."""


def remind(people):
    """Send a message to each of these people."""
    global SENT
    tracking = [uuid.uuid4().hex for _ in people]
    SENT += len(people)
    return tracking
''',
            model(("remind", {"people": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]})),
        ),
        harm=lambda run: "in the end: 11" in run.out,
        right=tools(
            "    tracking =",
            "    if len(people) > 5:\n        raise TooManyError(len(people))\n    tracking =",
        ),
        wrong_1=tools("    tracking =", "    if SENT > 5:\n        raise TooManyError(SENT)\n    tracking ="),
        wrong_2=tools(
            "    tracking =",
            "    try:\n        if len(people) > 5:\n            raise TooManyError(len(people))\n"
            "    except RuntimeError as error:\n        print('too many:', error)\n    tracking =",
        ),
        crash=tools(
            "    tracking =", "    if people.count() > 5:\n        raise TooManyError(people)\n    tracking ="
        ),
        crash_says="TypeError",
        unrelated=tools("for _ in people", "for person in people"),
    ),
]
