"""Run the programs that are named, one after the other."""

import importlib
import sys

for name in sys.argv[1:]:
    try:
        importlib.import_module(name).main()
    except Exception as error:
        print(name, "broke on", type(error).__name__)
