"""A replay of many crossings takes memory for those that it is at, also where it ends."""

import tracemalloc

import autochron

CROSSINGS = 3_000


@autochron.boundary("step")
def step(number):
    return {"done": number, "message": "step by step"}


def test_the_end_of_a_replay_gathers_no_crossings(tmp_path):
    store = str(tmp_path / "traces.db")
    with autochron.record(store=store):
        for number in range(CROSSINGS):
            step(number)
    replay = autochron.replay("last", store=store, live=[f"step[{CROSSINGS}]"])
    replay.__enter__()
    for number in range(CROSSINGS):
        step(number)
    tracemalloc.start()
    try:
        replay.__exit__(None, None, None)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 200 * CROSSINGS  # gathered, each takes a kilobyte
    assert len(replay.crossings) == CROSSINGS
