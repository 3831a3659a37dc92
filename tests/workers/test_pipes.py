"""Pipes to a worker process deliver line by line, and detect a worker that is gone or silent."""

import fcntl
import os
import resource
import threading

import pytest

from autochron.workers.pipes import LineChannel, WorkerDiedError, deadline_after, read_part, write_all


@pytest.fixture
def ends():
    """Yield a channel, the descriptor where its requests arrive, and the one where its answers are written."""
    requests, writing = os.pipe()
    reading, answers = os.pipe()
    channel = LineChannel(writing, reading)
    yield channel, requests, answers
    channel.close()
    for descriptor in (requests, answers):
        try:
            os.close(descriptor)
        except OSError:
            pass


def test_a_request_arrives_and_an_answer_comes_back(ends):
    channel, requests, answers = ends
    channel.send(b"one\n")
    assert os.read(requests, 100) == b"one\n"
    os.write(answers, b"two\n")
    assert channel.receive(5.0) == b"two\n"


def test_answers_that_arrive_together_are_separated(ends):
    channel, _, answers = ends
    os.write(answers, b"a\nb\nc")
    assert [channel.receive(5.0), channel.receive(None)] == [b"a\n", b"b\n"]
    os.write(answers, b"d\n")
    assert channel.receive(5.0) == b"cd\n"


def test_an_answer_may_be_longer_than_a_pipe_holds(ends):
    channel, _, answers = ends
    line = b"x" * (3 << 20) + b"\n"
    writer = threading.Thread(target=write_all, args=(answers, line))
    writer.start()
    assert channel.receive(20.0) == line
    writer.join()


@pytest.mark.parametrize("seconds", [5.0, None])
def test_a_worker_that_ends_within_a_line_is_reported_as_dead(ends, seconds):
    channel, _, answers = ends
    os.write(answers, b"half")
    os.close(answers)
    with pytest.raises(WorkerDiedError):
        channel.receive(seconds)


def test_a_silent_worker_is_given_up_after_the_timeout(ends):
    channel, _, _ = ends
    with pytest.raises(WorkerDiedError):
        channel.receive(0.01)


def test_a_request_to_a_worker_that_is_gone_fails(ends):
    channel, requests, _ = ends
    os.close(requests)
    with pytest.raises(WorkerDiedError):
        channel.send(b"one\n")


def test_reading_a_part_returns_none_after_the_deadline_and_empty_bytes_at_the_end(ends):
    channel, _, answers = ends
    assert read_part(channel.reading, deadline_after(0.0)) is None
    os.close(answers)
    assert read_part(channel.reading, deadline_after(5.0)) == b""


@pytest.fixture
def many_files():
    """Let this process open more files than `select.select` can wait for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    if wanted < 2000:
        pytest.skip("the system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_with_many_open_files_reads_an_answer(many_files, ends):
    channel, _, answers = ends
    low, channel.reading = channel.reading, fcntl.fcntl(channel.reading, fcntl.F_DUPFD, 1500)
    os.close(low)
    assert read_part(channel.reading, deadline_after(0.01)) is None
    os.write(answers, b"two\n")
    assert channel.receive(5.0) == b"two\n"
    os.close(answers)
    assert read_part(channel.reading, deadline_after(1e9)) == b""
