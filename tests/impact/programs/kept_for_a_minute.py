import time

from boundary import send

kept = {}


def look_up(key):
    minute = int(time.time() // 60)  # harmful
    if (key, minute) not in kept:
        kept[key, minute] = send(key)
    return kept[key, minute]


def main():
    look_up("a")
    look_up("a")
