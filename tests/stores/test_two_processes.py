"""One process adds while another searches: no error, no half file, no stale result."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import MODEL, make_file, make_vector, put
from hybridrag.types.queries import SearchFilters
from hybridrag.types.terms import Term

SECONDS = 60.0
FILES = 5
PARTS = 7


def _write(folder: Path, stop: Event) -> None:
    store = EmbeddedStore.open(folder)
    version = 0
    while not stop.is_set():
        version += 1
        name = f"{version % FILES}.txt"
        put(store, make_file(name), [f"part{part} version{version} everywhere" for part in range(PARTS)])
        if version % 11 == 0:
            store.remove_files([make_file(name).id])
        if version % 50 == 0:
            store.flush(force=True)
    store.close()


@pytest.mark.heavy
def test_a_minute_of_searching_beside_a_writer_sees_whole_files_only(tmp_path: Path) -> None:
    store = EmbeddedStore.open(tmp_path)
    store.bind_model(MODEL)
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    writer = context.Process(target=_write, args=(tmp_path, stop), daemon=True)
    writer.start()
    searches = 0
    states: set[int] = set()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        file = make_file(f"{searches % FILES}.txt")
        only = SearchFilters(file_ids=(file.id,))
        with store.snapshot():
            by_term = store.search_terms(Term("part3"), 50, filters=only)
            by_vector = store.search_vector(make_vector("x"), 50, filters=only)
            chunks = store.chunks_by_key([key for key, _ in by_vector])
            stored = store.text(file.id)
            states.add(store.generation())
        assert len(by_vector) == len(chunks)
        assert len(chunks) in {0, PARTS}, "half a file"
        assert len(by_term) == (1 if chunks else 0)
        assert len({chunk.text.split()[1] for chunk in chunks.values()}) <= 1, "a file of two versions"
        assert (stored is None) == (not chunks)
        searches += 1
    stop.set()
    writer.join(30)
    assert writer.exitcode == 0
    assert searches > 100
    assert len(states) > 10, "the reader saw no new commits"
    assert store.check() == []
