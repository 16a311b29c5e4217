"""The embedded store: its contract, and what is its own (processes, migration, repair)."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from hybridrag.errors import StoreBusy, StoreCorrupt, StoreError, StoreNotFound, StoreVersionMismatch
from hybridrag.stores.embedded import schema
from hybridrag.stores.embedded.database import DATABASE_NAME
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import MODEL, check_store, make_file, make_vector, put
from hybridrag.types.queries import SearchFilters
from hybridrag.types.terms import AllOf, AnyOf, Near, Phrase, Prefix, Term, Without


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    store = EmbeddedStore.open(tmp_path / "index")
    store.bind_model(MODEL)
    return store


@pytest.mark.parametrize("vector_index", ["auto", "exact", "quantised", "diskann"])
def test_it_keeps_the_contract_of_a_store(tmp_path: Path, vector_index: str) -> None:
    made = 0

    def make() -> EmbeddedStore:
        nonlocal made
        made += 1
        return EmbeddedStore.open(tmp_path / str(made), vector_index=vector_index)

    check_store(make)


def test_everything_is_there_after_reopening(tmp_path: Path, store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha", "beta"])
    store.flush(force=True)
    put(store, make_file("b.txt"), ["gamma"])
    store.remove_files([make_file("a.txt").id])
    store.close()
    again = EmbeddedStore.open(tmp_path / "index")
    assert again.check() == []
    assert len(again.search_terms(Term("gamma"), 5)) == 1
    assert len(again.search_vector(make_vector("gamma"), 5)) == 1
    assert again.status().model == MODEL


def test_a_reader_sees_new_commits_without_reopening(tmp_path: Path, store: EmbeddedStore) -> None:
    reader = EmbeddedStore.open(tmp_path / "index")
    assert reader.search_vector(make_vector("alpha"), 5) == []
    put(store, make_file("a.txt"), ["alpha"])
    assert len(reader.search_terms(Term("alpha"), 5)) == 1
    assert len(reader.search_vector(make_vector("alpha"), 5)) == 1
    store.remove_files([make_file("a.txt").id])
    assert reader.search_vector(make_vector("alpha"), 5) == []


def test_within_a_snapshot_nothing_changes(tmp_path: Path, store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha"])
    writer = EmbeddedStore.open(tmp_path / "index")
    with store.snapshot():
        before = store.search_terms(Term("alpha"), 5)
        writer.remove_files([make_file("a.txt").id])
        assert store.search_terms(Term("alpha"), 5) == before
        assert len(store.chunks_by_key([key for key, _ in before])) == 1
    assert store.search_terms(Term("alpha"), 5) == []


def test_a_second_writer_waits_or_is_told_so(tmp_path: Path, store: EmbeddedStore) -> None:
    impatient = EmbeddedStore.open(tmp_path / "index", busy_timeout=0.1)
    with store._database.write(), pytest.raises(StoreBusy, match="Another process is writing"):
        put(impatient, make_file("b.txt"), ["beta"])
    put(impatient, make_file("b.txt"), ["beta"])


def test_threads_of_one_process_write_one_after_the_other(store: EmbeddedStore) -> None:
    threads = [
        threading.Thread(target=put, args=(store, make_file(f"{number}.txt"), [f"word{number} shared"]))
        for number in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.search_terms(Term("share"), 50)) + len(store.search_terms(Term("shared"), 50)) >= 16
    assert store.check() == []


def test_an_interrupted_write_leaves_the_old_file(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["old"])

    def interrupted() -> None:
        with store._database.write() as connection:
            connection.execute("DELETE FROM vectors")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.check() == []
    assert len(store.search_terms(Term("old"), 5)) == 1


def test_missing_and_damaged_vector_files_are_rebuilt_by_themselves(tmp_path: Path, store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha", "beta"])
    store.flush(force=True)
    store.close()
    folder = tmp_path / "index" / "vectors"
    for path in folder.iterdir():
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-3] + b"xyz")
    again = EmbeddedStore.open(tmp_path / "index")
    assert len(again.search_vector(make_vector("alpha"), 5)) == 2
    assert again.check() == []


def test_vectors_of_an_older_copy_of_the_index_are_not_trusted(tmp_path: Path, store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha"])
    store.flush(force=True)
    store.close()
    other = EmbeddedStore.open(tmp_path / "other")
    other.bind_model(MODEL)
    put(other, make_file("b.txt"), ["beta"])
    other.flush(force=True)
    other.close()
    (tmp_path / "index" / "vectors").rename(tmp_path / "aside")
    (tmp_path / "other" / "vectors").rename(tmp_path / "index" / "vectors")
    again = EmbeddedStore.open(tmp_path / "index")
    (_, cosine), *_ = again.search_vector(make_vector("alpha"), 5)
    assert cosine > 0.99
    assert again.check() == []


def test_check_finds_and_repair_mends_derived_damage(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha", "beta"])
    with store._database.write() as connection:
        connection.execute("DELETE FROM terms WHERE rowid = 1")
        connection.execute("UPDATE meta SET value = 7 WHERE name = 'chunk_count'")
        connection.execute("INSERT INTO terms (rowid, context, body) VALUES (99, '', 'ghost')")
    found = {problem.what for problem in store.check()}
    assert "1 chunks that are not in the term index" in found
    assert "1 rows of the term index without their chunk" in found
    assert "1 postings without their chunk" in found
    assert "5 wrong total of chunks" in found
    assert all(problem.derived for problem in store.check())
    assert store.repair() == []
    assert len(store.search_terms(Term("alpha"), 5)) == 1
    assert store.search_terms(Term("ghost"), 5) == []


def test_check_finds_what_cannot_be_rebuilt(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha", "beta"])
    with store._database.write() as connection:
        connection.execute("DELETE FROM vectors WHERE chunk_key = 1")
        connection.execute("UPDATE chunks SET text = 'tampered' WHERE key = 2")
    found = {problem.what: problem.derived for problem in store.check()}
    assert found["1 chunks without a vector"] is False
    assert found["1 chunks whose text is not at their offsets"] is False


def test_terms_of_another_analyser_are_rebuilt_on_opening(tmp_path: Path, store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha"])
    with store._database.write() as connection:
        connection.execute("UPDATE meta SET value = 'older' WHERE name = 'analyser'")
        connection.execute("DELETE FROM terms")
    assert [problem.derived for problem in store.check()]
    store.close()
    again = EmbeddedStore.open(tmp_path / "index")
    assert again.check() == []
    assert len(again.search_terms(Term("alpha"), 5)) == 1


def test_an_older_format_is_migrated_and_a_newer_one_refused(tmp_path: Path) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE old (x)")
    connection.pragma("application_id", schema.APPLICATION_ID)
    connection.pragma("user_version", 1)
    steps = {
        1: lambda c: c.execute("CREATE TABLE two (x)") and None,
        2: lambda c: c.execute("CREATE TABLE three (x)") and None,
    }
    schema.create_or_migrate(connection, tmp_path, target=3, migrations=steps)
    assert connection.pragma("user_version") == 3
    assert connection.execute("SELECT count(*) FROM three").get == 0
    with pytest.raises(StoreVersionMismatch, match="written by format 3; this version reads 2"):
        schema.create_or_migrate(connection, tmp_path, target=2, migrations=steps)
    with pytest.raises(StoreVersionMismatch):
        schema.create_or_migrate(connection, tmp_path, target=5, migrations=steps)


def test_a_missing_index_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match="hybridrag add"):
        EmbeddedStore.open(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"not a database, " * 100)
    with pytest.raises(StoreCorrupt):
        EmbeddedStore.open(tmp_path)
    assert (tmp_path / DATABASE_NAME).read_bytes().startswith(b"not a database")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / DATABASE_NAME))
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreCorrupt, match="another program"):
        EmbeddedStore.open(tmp_path)


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be made"):
        EmbeddedStore.open(tmp_path / "file" / "index")


def test_a_closed_store_says_so(store: EmbeddedStore) -> None:
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.status()


def test_the_log_of_removals_is_bounded(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridrag.stores.embedded.rows.REMOVED_LOG_ROWS", 3)
    store.search_vector(make_vector(1), 1)
    reader = EmbeddedStore.open(store.path)
    put(store, make_file("keep.txt"), ["keep"])
    assert len(reader.search_vector(make_vector("keep"), 9)) == 1
    for number in range(10):
        put(store, make_file("a.txt"), [f"text {number}"])
    # The reader fell behind the log and reads all keys anew.
    assert len(reader.search_vector(make_vector("keep"), 9)) == 2
    assert store.check() == reader.check() == []


def test_vectors_of_another_model_replace_all_at_once(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha", "beta"])
    other = type(MODEL)(name="other", fingerprint="other-1", dimension=16, max_tokens=512)
    store.begin_reembedding(other)
    first, second = store.unstaged_keys(10)
    store.stage_vectors({first: make_vector(7)})
    assert not store.finish_reembedding(other)
    assert len(store.search_vector(make_vector("alpha"), 5)) == 2
    store.begin_reembedding(other)
    assert store.unstaged_keys(10) == [second]
    store.stage_vectors({second: make_vector(8)})
    assert store.finish_reembedding(other)
    (key, cosine), *_ = store.search_vector(make_vector(7), 1)
    assert key == first
    assert cosine > 0.99
    assert store.model() == other
    assert store.check() == []


def test_no_text_of_a_user_is_read_as_an_operator(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha beta"])
    for hostile in ['"', "a\x00b", "alpha OR beta", "NEAR(", "*", "body : alpha", "^alpha", "😀" * 500, "-alpha"]:
        for query in (Term(hostile), Prefix(hostile), Phrase((hostile, "beta")), Near((Phrase((hostile,)),))):
            assert store.search_terms(query, 5) == []
    assert store.search_terms(AllOf(()), 5) == []
    assert len(store.search_terms(Without(Term("alpha"), Phrase(())), 5)) == 1
    assert store.search_terms(AnyOf((Term(""),)), 5) == []


def test_a_filter_over_very_many_files_still_binds(store: EmbeddedStore) -> None:
    for number in range(120):
        put(store, make_file(f"{number}.txt", workspace="even" if number % 2 == 0 else "odd"), [f"same {number}"])
    filters = SearchFilters(workspace_ids=("even",))
    assert len(store.search_vector(make_vector("same 1"), 100, filters=filters)) == 60
    assert len(store.search_terms(Term("same"), 100, filters=filters)) == 60
