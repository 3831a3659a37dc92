"""`python -m autochron` is `autochron`."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python has put the working folder here, where a json.py of the user's may lie. The program gets its own.
        sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from autochron.cli import main

    main()
