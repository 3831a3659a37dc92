"""The command line: `python -m refunddesk MESSAGE`."""

import sys

from refunddesk.agent import answer


def main() -> None:
    print(answer(" ".join(sys.argv[1:])))


if __name__ == "__main__":
    main()
