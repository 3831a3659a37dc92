import calendar
import datetime as dt
import time

from boundary import send


def main():
    if dt.date.today().weekday() >= 5:  # harmful
        send("closed on weekends")
    if dt.datetime.now().isoweekday() > 5:  # harmful
        send("really closed")
    day = dt.date.today()  # harmful
    if day.day == calendar.monthrange(day.year, day.month)[1]:
        send("close the books")
    day = dt.datetime.now(dt.UTC)  # harmful
    send("leap day" if (day.month, day.day) == (2, 29) else "any day")
    day = dt.date.today()  # harmful
    try:
        day.replace(year=day.year + day.month // 12, month=day.month % 12 + 1)
        send("due in a month")
    except ValueError:
        send("due at the end of next month")
    if time.localtime().tm_hour >= 18:  # harmful
        send("in the evening")
