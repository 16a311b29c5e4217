"""What every test shares."""

from __future__ import annotations

from hypothesis import settings

# A deadline per example fails on a busy machine and says nothing about the code.
settings.register_profile("hybridrag", deadline=None, print_blob=True)
settings.load_profile("hybridrag")
