"""Run the command line as `python -m autochron`."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python puts the working folder here. A json.py in it would hide the standard library's from our own imports.
        sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from autochron.cli import main

    main()
