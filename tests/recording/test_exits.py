"""The guard on `signal.signal` accepts the same arguments."""

import signal

from autochron._runtime.exit_hooks import guard


def test_signal_handlers_are_set_by_position_and_by_keyword():
    undo = guard(lambda status: None)
    try:
        assert signal.signal(signalnum=signal.SIGTERM, handler=signal.SIG_IGN) is signal.SIG_DFL
        assert signal.getsignal(signalnum=signal.SIGTERM) is signal.SIG_IGN
        assert signal.signal(signal.SIGTERM, signal.SIG_DFL) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        undo()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
