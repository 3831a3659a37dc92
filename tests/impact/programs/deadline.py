import datetime as dt

from boundary import send


def main():
    if dt.date.today() < dt.date(2000, 1, 1):  # harmless
        send("too early")
    born = dt.datetime.now(dt.UTC)  # harmful
    send("old" if born.year > 2100 else f"young since {born.year}")
