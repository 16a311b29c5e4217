"""What every test shares."""

from __future__ import annotations

import signal

from hypothesis import settings

# A deadline per example fails on a busy machine and says nothing about the code.
settings.register_profile("hybridrag", deadline=None, print_blob=True)
settings.load_profile("hybridrag")

# A shell that starts the tests in the background has Ctrl-C ignored, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
