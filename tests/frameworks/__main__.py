"""Write the README's table of libraries and frameworks, from the packs and from `frameworks.toml`.

python -m tests.frameworks
"""

from tests.frameworks.libraries import README, with_table


def main() -> None:
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
