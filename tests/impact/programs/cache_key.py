import uuid

from boundary import send


def main():
    cache = {}
    key = uuid.uuid4().hex  # harmless
    cache[key] = "answer"
    send(cache[key])
