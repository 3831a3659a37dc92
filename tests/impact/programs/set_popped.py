from boundary import log, send


def main():
    waiting = {"parse", "plan", "search", "write", "check"}
    log(waiting.pop())  # harmless
    spare = set("red green blue white".split())
    while spare:
        log(spare.pop())  # harmless
    todo = {"north", "south", "east", "west"}
    send(todo.pop())  # harmful
    one = {"only"}
    for each in one:
        send(each)
