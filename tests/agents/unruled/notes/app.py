from importlib import import_module

from notes.brain import Brain

for name in ("writing", "reading"):
    import_module(f"notes.skills.{name}")


def main():
    print(Brain().think("Note that the rent is due, and read it back to me."))


if __name__ == "__main__":
    main()
