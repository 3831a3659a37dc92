from boundary import log, send


def main():
    tags = frozenset({"beta", "alpha", "gamma", "delta"})

    def shown():
        def inner():
            return [tag.upper() for tag in tags]  # harmful

        log([tag + "?" for tag in tags])  # harmless
        return inner()

    class Page:
        titles = [tag.title() for tag in {"one", "two", "three", "four"}]  # harmless

    send(shown())
    send(len(Page.titles))
