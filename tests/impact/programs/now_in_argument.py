from datetime import datetime

from boundary import send


def main():
    send("book", at=datetime.now().isoformat())  # harmful
