"""Run every program of the corpora in this one process under a watch; print the findings as JSON.

Usage: `python whole.py FOLDER`, with the programs in the folder. The watch is notified of imports as by the import hook.
"""

import builtins
import contextlib
import io
import json
import os
import runpy
import sys
import time
import warnings
from collections import defaultdict

from autochron.detect.watch.watch import SourceWatch


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    problems: list[str] = []
    watch = SourceWatch(
        lambda file: file.startswith(folder + os.sep), os.path.basename, problems.append, lambda: False
    )
    imports = builtins.__import__

    def imported(name, *arguments, **options):
        before = set(sys.modules)
        module = imports(name, *arguments, **options)
        for new in sys.modules.keys() - before:
            watch.imported(new)
        return module

    failed = {}
    watch.on()
    builtins.__import__ = imported
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".py"):
            continue
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                runpy.run_path(os.path.join(folder, file), run_name="__main__")
        except BaseException as error:
            failed[file] = repr(error)
    builtins.__import__ = imports
    time.sleep(0.1)  # let timers and pools finish
    watch.off()
    categories_by_file: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for finding in watch.findings():
        categories_by_file[finding.site.file].append((finding.site.line, finding.category))
    print(json.dumps({"found": categories_by_file, "failed": failed, "problems": problems}))


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]))
