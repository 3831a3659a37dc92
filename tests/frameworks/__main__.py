"""Write the table of docs/how-to/frameworks.md, from the packs and from `frameworks.toml`.

python -m tests.frameworks
"""

from tests.frameworks.libraries import PAGE, with_table


def main() -> None:
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
