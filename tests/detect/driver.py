"""Run a program under a watch, in a process of its own, and print the findings as JSON: `driver.py FOLDER PROGRAM`.

The program's own output stays on standard output; the findings are its last line.
"""

import json
import os
import runpy
import sys

from autochron.detect.watch.watch import SourceWatch


def main(folder: str, program: str) -> None:
    """Print [file, line, call, count, tier, via, covered] of each finding, and the reported problems."""
    problems = []
    inside = [False]
    sys.path.insert(0, folder)
    sys.modules["inside"] = inside  # a program sets this while it is in a boundary
    watch = SourceWatch(
        lambda file: file.startswith(folder) and "site-packages" not in file,
        lambda file: os.path.relpath(file, folder),
        problems.append,
        lambda: inside[0],
    )
    sys.modules["watch"] = watch
    sys.meta_path.insert(0, ImportNotifier(watch))
    watch.on(sys.modules)
    try:
        runpy.run_path(os.path.join(folder, program), run_name="__main__")
    finally:
        watch.off()
        rows = [
            [
                finding.site.file,
                finding.site.line,
                finding.call,
                finding.count,
                finding.tier,
                finding.via,
                finding.covered,
            ]
            for finding in watch.findings()
        ]
        sys.stdout.flush()
        print(json.dumps([rows, problems]))


class ImportNotifier:
    """Notifies the watch of every import, once the module has run."""

    def __init__(self, watch):
        self.watch = watch
        self.seeking = set()

    def find_spec(self, name, path=None, target=None):
        """Return the spec that the other finders find, with a wrapped loader."""
        import importlib.util

        if name in self.seeking:
            return None
        self.seeking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, AttributeError, ValueError):
            spec = None
        finally:
            self.seeking.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                self.watch.imported(name)

            spec.loader.exec_module = exec_module
        return spec


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), sys.argv[2])
