import datetime as dt

from boundary import send


def main():
    send(f"today is {dt.date.today()}")  # harmful
