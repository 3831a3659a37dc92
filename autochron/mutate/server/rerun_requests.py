"""The server's side of edge inputs that the agent's own process tries: what it is asked, and what it found."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import pytest

from autochron._runtime.unpatched import os
from autochron.instrument.swap import Swap
from autochron.mutate.model import Input, MutationTarget
from autochron.mutate.protocol import EDGE_INPUTS_REQUEST, Knows, ServerTask, TrialReply
from autochron.mutate.server.marked_tests import change_marker
from autochron.mutate.server.rerun_inputs import (
    PREFIX,
    RerunFindings,
    RerunRequest,
    RerunSwap,
)
from autochron.pytest_plugin.sessions import ReplayedTest

_MODULE = "autochron.mutate.server.rerun_inputs"


class RerunInputs:
    """Has the processes that the tests start try edge inputs."""

    def __init__(
        self,
        task: ServerTask,
        tests: Sequence[tuple[pytest.Item, ReplayedTest, str]],
        targets: Sequence[MutationTarget],
    ) -> None:
        """Prepare swaps that try edge inputs for each test; a test without a swap gets one for each target.

        Args:
            task: the server's task.
            tests: each test with its replay, and the suffix of its addresses.
            targets: the functions to mutate.
        """
        self._task = task
        self._fix: TrialReply | None = None
        self._swaps: list[RerunSwap] = []
        for item, test, suffix in tests:
            pairs = test.options.swap or {
                f"{os.path.realpath(os.path.join(task.folder, target.file))}:{target.function}": ""
                for target in targets
            }
            short_names = [old.rpartition(":")[2].rpartition(".")[2] for old in pairs]
            named: dict[str, str] = {}
            for (old, new), name in zip(pairs.items(), short_names, strict=True):
                if not isinstance(new, str):
                    continue  # `replay.run()` refuses it, and says so
                named[old] = f"{_MODULE}:{PREFIX}{len(self._swaps)}"
                unique = name if short_names.count(name) == 1 else os.path.relpath(old, test.root)
                self._swaps.append(RerunSwap(old, new, test.root, unique, suffix))
                Swap(old, new or old, test.root)  # refuses a file that isn't there
            change_marker(item, swap=named)

    def learn_from(self, fix: TrialReply | None) -> None:
        """Take over the reply of the fix, which mutants are compared with."""
        self._fix = fix

    def explore(self, run: Callable[[], TrialReply]) -> TrialReply:
        """Run the tests, and return their reply with what their processes found."""
        with tempfile.TemporaryDirectory(prefix="autochron-") as folder:
            path = os.path.join(folder, "request")
            request = RerunRequest(self._task, tuple(self._swaps), self._fix, folder)
            with open(path, "wb") as file:
                file.write(msgspec.json.encode(request))
            os.environ[EDGE_INPUTS_REQUEST] = path
            reply = run()
            found = [_read(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if "." in name]
        inputs: list[Input] = []
        outcomes: dict[str, str] = {}
        knows: Knows = {}
        # Two processes that call the same function count its calls from 1 each: what is found there is told of neither.
        seen = Counter(key for findings in found for key in findings.outcomes)
        for findings in found:
            inputs += [each for each in findings.inputs if seen[f"{each.address}.{each.number}"] == 1]
            outcomes |= {key: outcome for key, outcome in findings.outcomes.items() if seen[key] == 1}
            knows |= findings.knows
        return msgspec.structs.replace(reply, inputs=tuple(inputs), outcomes=outcomes, knows=knows)


def _read(path: str) -> RerunFindings:
    with open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=RerunFindings)
