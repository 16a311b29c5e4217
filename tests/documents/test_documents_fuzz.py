"""Damaged files of every format stop nothing: they are read or refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.fuzz_documents import fuzz

from make_documents import make_samples

MIB = 2**20


@pytest.mark.heavy
def test_damaged_files_of_every_format_are_read_or_refused(tmp_path: Path) -> None:
    # The whole run is a command: python -m benchmarks.fuzz_documents.
    outcome = fuzz(list(make_samples().items()), 600, random.Random(2), folder=tmp_path)
    assert outcome.aborted == []
    assert outcome.hung == []
    assert outcome.memory < 1024 * MIB
    # What is damaged here and there is mostly readable still: refusing everything would pass the rest of this test.
    assert outcome.read.total() > 200
