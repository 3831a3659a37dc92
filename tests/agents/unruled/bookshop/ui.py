"""What the user sees."""


def search(text):
    """Mark in a text what was searched for."""
    return text.replace("Middle", "*Middle*")


def show(text):
    print(search(text))
