from boundary import send


def numbers(text):
    return {int(each) for each in text.split()}


class Point:
    def __init__(self, x):
        self.x = x

    def __hash__(self):
        return self.x

    def __eq__(self, other):
        return self.x == other.x


def main():
    send(list(numbers("8 3 5 13 21")))
    points = {Point(3), Point(1), Point(2)}
    send([point.x for point in points])  # untried
    for each in {"single"}:
        send(each)
    if len(points) > 5:
        for name in {"never", "come", "to"}:  # untried
            send(name)
