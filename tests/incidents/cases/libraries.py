"""Cases whose state or outcome is kept by a library: aiosqlite, SQLAlchemy, pydantic."""

from tests.incidents.cases.kit import Case, agent, async_agent, model, project, rules, sql, tools

CASES = [
    Case(
        name="rating_aiosqlite",
        about="aiosqlite, async tools; ids by uuid4",
        needs=("aiosqlite",),
        files=project(
            async_agent("Rate my stay, please: it was fine."),
            '''"""What the agent can do."""

import uuid

import aiosqlite


async def write_review(hotel, stars):
    """Publish a review."""
    number = uuid.uuid4().hex
    async with aiosqlite.connect("reviews.db") as db:
        await db.execute("insert into reviews values (?, ?, ?)", (number, hotel, stars))
        await db.commit()
    return {"review": number, "hotel": hotel}
''',
            model(("write_review", {"hotel": "Astoria", "stars": -50})),
        ),
        setup=sql("reviews.db", "create table reviews (number text, hotel text, stars integer);"),
        harm=lambda run: bool(run.rows("reviews.db", "select 1 from reviews where stars < 1")),
        right=tools(
            "    number = uuid",
            '    if not 1 <= stars <= 5:\n        raise ValueError("a review has 1 to 5 stars")\n    number = uuid',
        ),
        wrong_1=tools(  # only checks the upper bound, and -50 is below it
            "    number = uuid",
            '    if stars > 5:\n        raise ValueError("a review has 1 to 5 stars")\n    number = uuid',
        ),
        wrong_2=tools(
            '    return {"review": number',
            '    if not 1 <= stars <= 5:\n        return {"blocked": "1 to 5 stars"}\n    return {"review": number',
        ),
        crash=tools(
            "    number = uuid",
            '    if not aiosqlite.MIN_STARS <= stars <= 5:\n        raise ValueError("stars")\n    number = uuid',
        ),
        crash_says="AttributeError",
        unrelated=tools(
            "number = uuid",
            "review_id = uuid",
            "(number, hotel",
            "(review_id, hotel",
            ": number,",
            ": review_id,",
        ),
    ),
    Case(
        name="seats_core",
        about="SQLAlchemy Core, an engine at import; created at datetime.now",
        needs=("sqlalchemy",),
        files=project(
            agent("Two seats for tonight.", catches="ValueError"),
            '''"""What the agent can do."""

from datetime import datetime

from sqlalchemy import Column, DateTime, Integer, MetaData, String, Table, create_engine, func, select

engine = create_engine("sqlite:///seats.db")
metadata = MetaData()
bookings = Table(
    "bookings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("show", String),
    Column("seats", Integer),
    Column("at", DateTime),
)
SEATS = 80


def free_seats(show):
    """Return how many seats are free."""
    with engine.connect() as connection:
        taken = connection.execute(select(func.sum(bookings.c.seats)).where(bookings.c.show == show)).scalar()
    return SEATS - (taken or 0)


def book(show, seats):
    """Book seats for a show."""
    at = datetime.now()
    with engine.begin() as connection:
        made = connection.execute(bookings.insert().values(show=show, seats=seats, at=at))
        return {"booking": made.inserted_primary_key[0], "at": at}
''',
            model(("free_seats", {"show": "Hamlet"}), ("book", {"show": "Hamlet", "seats": 2000})),
        ),
        setup=sql(
            "seats.db",
            """create table bookings (id integer primary key, show varchar, seats integer, at datetime);
            insert into bookings values (1, 'Hamlet', 70, '2026-01-05 10:00:00.000000');""",
        ),
        harm=lambda run: run.value("seats.db", "select sum(seats) from bookings") > 80,
        right=tools(
            "    at = datetime.now()\n",
            '    if seats > free_seats(show):\n        return {"blocked": "not so many are free"}\n    at = datetime.now()\n',
        ),
        wrong_1=tools(  # the comparison is reversed
            "    at = datetime.now()\n",
            '    if free_seats(show) > seats:\n        return {"blocked": "not so many are free"}\n    at = datetime.now()\n',
        ),
        wrong_2=tools("    at = datetime.now()\n", "    at = datetime.now().replace(microsecond=0)\n"),
        crash=tools(
            "    at = datetime.now()\n",
            "    with engine.connect() as connection:\n"
            '        connection.exec_driver_sql("select seats from halls where show = ?", (show,))\n    at = datetime.now()\n',
        ),
        crash_says="no such table: halls",
        unrelated=tools("SEATS = 80\n", "SEATS = 80  # without the boxes\n"),
    ),
    Case(
        name="salary_orm",
        about="SQLAlchemy ORM, a session for each call; a dict of the row",
        needs=("sqlalchemy",),
        files=project(
            agent("Give Bo a raise of 3 %.", catches="Exception"),
            '''"""What the agent can do."""

from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

engine = create_engine("sqlite:///staff.db")


class Base(DeclarativeBase):
    """All tables."""


class Person(Base):
    """Someone who works here."""

    __tablename__ = "people"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    salary: Mapped[int]


def raise_salary(person_id, percent):
    """Raise a salary."""
    with Session(engine) as session:
        person = session.get(Person, person_id)
        before = person.salary
        person.salary = before * (100 + percent) // 100
        session.commit()
        return {"name": person.name, "before": before, "after": person.salary}
''',
            model(("raise_salary", {"person_id": 2, "percent": 300})),
            rules('define = "tools:raise_salary"'),
        ),
        setup=sql(
            "staff.db",
            """create table people (id integer primary key, name varchar not null, salary integer not null);
            insert into people values (1, 'Al', 52000), (2, 'Bo', 48000);""",
        ),
        harm=lambda run: run.value("staff.db", "select salary from people where id = 2") > 60000,
        right=tools(
            "        before = person.salary\n",
            "        before = person.salary\n        percent = min(percent, 5)\n",
        ),
        wrong_1=tools(  # clamps the percentage after it was used
            "        session.commit()\n", "        percent = min(percent, 5)\n        session.commit()\n"
        ),
        wrong_2=tools(
            "        session.commit()\n",
            '        session.commit()\n        if percent > 5:\n            raise PermissionError("ask Al")\n',
        ),
        crash=tools(
            "        before = person.salary\n",
            "        before = person.salary\n        percent = min(percent, person.max_raise)\n",
        ),
        crash_says="AttributeError",
        unrelated=tools('"""Someone who works here."""', '"""Someone who works here, or did."""'),
    ),
    Case(
        name="invoice_pydantic",
        about="a pydantic model with a default_factory of uuid4; JSON by append",
        needs=("pydantic",),
        files=project(
            agent("Write the invoice for March.", catches="ValueError"),
            '''"""What the agent can do."""

from datetime import datetime
from uuid import UUID, uuid4

from pydantic import BaseModel, Field


class Invoice(BaseModel):
    """What a customer has to pay."""

    number: UUID = Field(default_factory=uuid4)
    written: datetime = Field(default_factory=datetime.now)
    customer: str
    hours: int


def write_invoice(customer, hours):
    """Write an invoice."""
    invoice = Invoice(customer=customer, hours=hours)
    with open("invoices.jsonl", "a", encoding="utf-8") as file:
        file.write(invoice.model_dump_json() + "\\n")
    return invoice
''',
            model(("write_invoice", {"customer": "acme", "hours": 7000})),
            rules('define = "tools:write_invoice"'),
        ),
        setup="open('invoices.jsonl', 'w').close()",
        harm=lambda run: "7000" in run.text("invoices.jsonl"),
        right=tools("    hours: int\n", "    hours: int = Field(le=300)\n"),
        wrong_1=tools("    hours: int\n", "    hours: int = Field(ge=0)\n"),
        wrong_2=tools("    hours: int\n", "    hours: float\n"),
        crash=tools(
            "    invoice = Invoice(",
            "    if hours > Invoice.MAX_HOURS:\n        raise ValueError(hours)\n    invoice = Invoice(",
        ),
        crash_says="AttributeError",
        unrelated=tools('"""Write an invoice."""', '"""Write an invoice, and keep it."""'),
    ),
]
