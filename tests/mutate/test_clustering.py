"""Studies of incidents on a Dask cluster of this machine, with real worker processes."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.clustering import mapped

INCIDENTS = Path(__file__).resolve().parents[2] / "incidents"


def ignore_progress(*_):
    pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError) as caught:
        mapped(ignore_progress, ["a"], None, None, 1, ignore_progress)
    assert caught.value.message == (
        "--executor dask needs distributed, which isn't installed: pip install 'autochron[dask]'"
    )


@pytest.fixture
def distributed():
    return pytest.importorskip("distributed", reason="the extra `dask` is not installed")


@pytest.mark.slow
def test_an_address_without_a_scheduler_is_refused(distributed):
    with pytest.raises(UsageError, match=r"--scheduler tcp://127\.0\.0\.1:9: there is no Dask scheduler"):
        mapped(ignore_progress, ["a"], None, "tcp://127.0.0.1:9", 1, ignore_progress)


@pytest.mark.thorough
def test_a_study_on_a_cluster_is_that_of_one_machine(distributed, tmp_path):
    pytest.importorskip("cosmic_ray")
    pytest.importorskip("openai")
    from autochron.mutate.study import StudyOptions, study_of

    folders = [INCIDENTS / "refund", INCIDENTS / "payout"]
    progress = []

    def note_progress(*words):
        progress.append(words)

    def studied(executor):
        options = StudyOptions(
            operators="paper",
            jobs=2,
            out=str(tmp_path / executor),
            sample=0,
            shard=(1, 8),
            inputs=4,
            executor=executor,
        )
        return msgspec.json.encode(
            study_of(folders, options, note_progress if executor == "dask" else ignore_progress)
        )

    assert studied("dask") == studied("local")
    assert "refund" in {name for name, *_ in progress}
    assert sorted(path.name for path in (tmp_path / "dask" / "journal").iterdir()) == [
        "payout.jsonl",
        "refund.jsonl",
    ]


@pytest.mark.slow
def test_an_error_of_an_incident_is_reported_as_on_one_machine(distributed, tmp_path):
    pytest.importorskip("cosmic_ray")
    from autochron.mutate.study import StudyOptions, study_of

    options = StudyOptions(operators="paper", out=str(tmp_path / "out"), executor="dask")
    with pytest.raises(UsageError, match="holds no test_"):
        study_of([tmp_path], options, ignore_progress)


@pytest.mark.slow
def test_dead_workers_are_reported(distributed):
    def dies(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(
        UsageError, match="refund: the workers that tried it have died, the last one at tcp://"
    ):
        mapped(dies, ["refund"], None, None, 1, ignore_progress)


@pytest.mark.slow
def test_an_interrupt_stops_the_running_incident_and_starts_no_other(distributed, tmp_path):
    def waits(folder, options, tell, stopping):
        stopped = threading.Event()
        stopping(stopped.set)
        Path(options, folder).write_text("began")
        tell(folder, "cut", 1, 9)
        assert stopped.wait(60)
        Path(options, folder).write_text("stopped")
        raise KeyboardInterrupt

    def interrupt(*_):
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()

    with pytest.raises(KeyboardInterrupt):
        mapped(waits, ["one", "two"], str(tmp_path), None, 1, interrupt)
    for _ in range(100):
        if (tmp_path / "one").read_text() == "stopped":
            break
        time.sleep(0.05)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "stopped"}
