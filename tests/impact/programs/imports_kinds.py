import kinds
from boundary import send


def main():
    send(kinds.first())
    send(kinds.count())
    send(list(kinds.KINDS))
