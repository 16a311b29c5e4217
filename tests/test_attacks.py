"""What once lost documents, stopped a run or let a neighbour in: each test says what went wrong."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hybridrag.apps.cli.output import printable
from hybridrag.apps.cli.run import main
from hybridrag.config import Settings, load_settings
from hybridrag.documents.dates import moment
from hybridrag.documents.isolate import IsolatedReader
from hybridrag.engine import Engine
from hybridrag.errors import InvalidQuery, InvalidSettings, ProviderError, RAGError, StoreError, UnreadableDocument
from hybridrag.models.json_service import JsonService, Patience
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import SearchFilters
from hybridrag.types.reports import FileState
from make_documents import make_epub, xhtml

NOBODY = 65_534


def settings(**overrides: object) -> Settings:
    quick = {"documents.isolate": False, "graph.extractor": "light"}
    return load_settings(env={}, overrides={**quick, **overrides}).settings


def open_at(path: Path, **overrides: object) -> Engine:
    return Engine.open(path, settings=settings(**overrides), embedder=HashEmbedder())


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_at(tmp_path / "index") as opened:
        yield opened


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of an ordinary user, who may not read everything; root may."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() != 0:
            yield Path(name)
            return
        # Whatever Python loads when first needed may lie where only root may read.
        with open_at(Path(name) / "first") as engine:
            engine.add(text="The harbour bridge opened.", name="a.txt")
            engine.search("harbour bridge")
        os.chown(name, NOBODY, -1)
        os.seteuid(NOBODY)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


def test_one_damaged_zip_stopped_the_whole_run(engine: Engine, tmp_path: Path) -> None:
    data = make_epub({"a.xhtml": xhtml("<p>text</p>")})
    docs = tmp_path / "docs"
    docs.mkdir()
    for cut in range(5, 400, 5):
        (docs / f"{cut}.epub").write_bytes(data[:4] + data[cut:])
    (docs / "good.txt").write_text("The harbour bridge opened.")
    report = engine.add(docs)
    assert report.count(FileState.ADDED) + len(report.failed) == len(list(docs.iterdir()))
    assert "good.txt" in {Path(file.name).name for file in engine.files()}
    with IsolatedReader() as reader, pytest.raises(UnreadableDocument):
        reader.read(data[:4] + data[70:], name="a.epub")


def test_sync_removed_the_files_of_a_folder_that_it_could_not_list(home: Path) -> None:
    locked = home / "docs" / "locked"
    locked.mkdir(parents=True)
    (locked / "kept.txt").write_text("The harbour bridge opened.")
    (home / "docs" / "gone.txt").write_text("Tulips.")
    with open_at(home / "index") as engine:
        engine.sync(home / "docs")
        (home / "docs" / "gone.txt").unlink()
        locked.chmod(0)
        try:
            report = engine.sync(home / "docs")
        finally:
            locked.chmod(0o700)
        assert [Path(file.name).name for file in engine.files()] == ["kept.txt"]
    assert [Path(outcome.name).name for outcome in report.failed][:1] == ["locked"]
    assert report.count(FileState.REMOVED) == 1


def test_names_in_shift_jis_stopped_the_run_and_two_of_them_became_one(engine: Engine, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, name in enumerate(("資料".encode("cp932"), b"\xff", b"\xfe")):
        Path(os.fsdecode(os.fsencode(docs) + b"/" + name + b".txt")).write_text(f"Number {number}.")
    assert engine.sync(docs).count(FileState.ADDED) == 3
    assert engine.sync(docs).count(FileState.UNCHANGED) == 3
    (first, *_) = docs.iterdir()
    assert engine.remove(first).count(FileState.REMOVED) == 1


def test_a_path_too_long_for_the_system_stopped_the_run(engine: Engine, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "z.txt").write_text("The harbour bridge opened.")
    at = os.open(docs, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=at)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    report = engine.sync(docs)
    assert report.count(FileState.ADDED) == 1
    assert "too long" in str(report.failed[0].reason)


def test_a_time_after_the_year_9999_stopped_the_run(engine: Engine, tmp_path: Path) -> None:
    assert moment(1e12) is None
    (tmp_path / "a.txt").write_text("The harbour bridge opened.")
    os.utime(tmp_path / "a.txt", (1e12, 1e12))
    assert engine.add(tmp_path / "a.txt").count(FileState.ADDED) == 1


def test_the_workspace_of_the_settings_bound_nothing_but_adding(tmp_path: Path) -> None:
    for space in "AB":
        with open_at(tmp_path / "index", **{"index.workspace": space}) as engine:
            engine.add(text=f"The harbour bridge of {space} opened.", name=f"{space}.txt")
    with open_at(tmp_path / "index", **{"index.workspace": "B"}) as engine:
        assert {item.sources.file_name for item in engine.search("harbour bridge").results} <= {"B.txt", None}
        assert [file.name for file in engine.files()] == ["B.txt"]
        engine.remove(everything=True)
    with open_at(tmp_path / "index") as engine:
        assert [file.name for file in engine.files()] == ["A.txt"]


def test_removing_a_path_removed_it_from_every_workspace(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The harbour bridge opened.")
    for space in ("one", "two"):
        engine.add(tmp_path / "docs", workspace=space)
    (failed,) = engine.remove(tmp_path / "docs").failed
    assert "workspaces one, two" in str(failed.reason)
    assert engine.remove(tmp_path / "docs", workspace="one").count(FileState.REMOVED) == 1
    assert [file.workspace for file in engine.files()] == ["two"]


def test_a_file_could_not_be_removed_by_its_name(engine: Engine, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(f"The harbour bridge of {folder} opened.")
        engine.add(tmp_path / folder)
    (failed,) = engine.remove("a.txt").failed
    assert "give the path" in str(failed.reason)
    (tmp_path / "two" / "one").mkdir()
    (tmp_path / "two" / "one" / "a.txt").write_text("The harbour bridge of three opened.")
    engine.add(tmp_path / "two")
    assert "give the path" in str(engine.remove("one/a.txt").failed[0].reason)
    assert engine.remove("two/one/a.txt").count(FileState.REMOVED) == 1
    assert engine.remove("one/a.txt").count(FileState.REMOVED) == 1
    assert engine.remove("a.txt").count(FileState.REMOVED) == 1


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["search", "harbour", "--workspace", "none"], "no workspace 'none'", 3),
        (["search", "harbour", "--file-type", "markdown"], "Types look like text/markdown", 3),
        (["search", "harbour", "--limit", "0"], "`options.limit` must be", 2),
        (["remove", "--all", "--workspace", "none"], "no workspace 'none'", 3),
    ],
)
def test_a_mistyped_option_silently_found_nothing(
    arguments: list[str],
    said: str,
    code: int,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HYBRIDRAG_EMBEDDING_PROVIDER", "fake")
    engine.add(text="The harbour bridge opened.", name="a.txt")
    assert main([*arguments, "--index", str(engine.path)]) == code
    assert said in capsys.readouterr().err
    assert engine.status().files == 1


@pytest.mark.parametrize("command", ["add", "sync"])
def test_a_mistyped_path_made_an_empty_index(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(tmp_path / "dosc"), "--index", str(tmp_path / "index")]) == 2
    assert "no index was made" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


def test_opening_waited_for_a_writer(engine: Engine) -> None:
    engine.add(text="The harbour bridge opened.", name="a.txt")
    with engine._store._database.write():
        store = EmbeddedStore.open(engine.path, busy_timeout=0.1)
        assert store.status().files == 1
        store.close()


def test_an_index_that_may_only_be_read_could_not_be_searched(home: Path) -> None:
    index = home / "index"
    with open_at(index) as engine:
        engine.add(text="The harbour bridge opened.", name="a.txt")
    files = [path for path in index.rglob("*") if path.is_file()]
    for path in (*files, index):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        with open_at(index) as engine:
            assert engine.search("harbour bridge").results
            with pytest.raises(StoreError, match="read but not written"):
                engine.add(text="More.", name="b.txt")
    finally:
        index.chmod(0o700)


def test_names_alike_but_for_one_word_were_compared_all_with_all(engine: Engine) -> None:
    letters = "abcdefghij"
    names = ["Ab" + "".join(letters[int(digit)] for digit in f"{n * 7919 % 1_000_000:06}") for n in range(2_000)]
    began = time.monotonic()
    engine.add(text="\n".join(f"Then {name} Smith came to town." for name in names), name="a.txt")
    assert time.monotonic() - began < 20


def _use_in_child(engine: Engine, answers: multiprocessing.Queue[str]) -> None:
    try:
        engine.add(text="Lost without a word.", name="b.txt")
    except RAGError as error:
        answers.put(str(error))
    engine.close()


def test_what_a_forked_process_added_was_lost(engine: Engine) -> None:
    engine.add(text="The harbour bridge opened.", name="a.txt")
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    with pytest.warns(DeprecationWarning, match="fork") if _warns() else _quietly():
        child = fork.Process(target=_use_in_child, args=(engine, answers))
        child.start()
    assert "Open it again in this process" in answers.get(timeout=30)
    child.join()
    assert engine.check() == []


def _warns() -> bool:
    return threading.active_count() > 1


@contextmanager
def _quietly() -> Iterator[None]:
    yield


def test_a_filtered_search_missed_files_that_came_after_another_threads_snapshot(engine: Engine) -> None:
    store, query = engine._store, HashEmbedder().embed_query("harbour").pooled
    texts = {f"{number}.txt": f"The harbour bridge {number} opened." for number in range(60)}
    for name, text in texts.items():
        engine.add(text=text, name=name, workspace="w")
    filters = SearchFilters(workspace_ids=("w",))
    begun, finished = threading.Event(), threading.Event()

    def search_old_snapshot() -> None:
        with store.snapshot():
            store.generation()
            begun.set()
            finished.wait(30)
            store.search_vector(query, 100, filters=filters)

    late = threading.Thread(target=search_old_snapshot)
    late.start()
    begun.wait(30)
    engine.add(text="The harbour bridge is new.", name="new.txt", workspace="w")
    store.status()
    finished.set()
    late.join()
    assert len(store.search_vector(query, 100, filters=filters)) == 61


@contextmanager
def served(answer: bytes, *, pause: float = 0.0) -> Iterator[str]:
    """A service that answers every call so, byte by byte where there is a pause between them."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    try:
                        for place in range(0, len(answer), 1 if pause else len(answer)):
                            connection.sendall(answer[place : place + 1] if pause else answer)
                            time.sleep(pause)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_headers_that_trickle_in_outlived_the_deadline() -> None:
    began = time.monotonic()
    with served(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 60, pause=0.1) as url:
        service = JsonService(url, patience=Patience(0.5, 0.5, 0))
        with pytest.raises(ProviderError, match="no answer within"):
            service.post("/", {})
        assert time.monotonic() - began < 2
        deadline = time.monotonic() + 5
        while any(thread.name == "in-time" for thread in threading.enumerate()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(thread.name == "in-time" for thread in threading.enumerate())


@pytest.mark.parametrize(("layers", "said"), [(1, "more than"), (2, "nobody asked for")])
def test_a_small_packed_answer_filled_the_memory(layers: int, said: str) -> None:
    body = b"[" + b"[]," * (16 << 20) + b"[]]"
    for _ in range(layers):
        body = gzip.compress(body, 6)
    packing = ", ".join(["gzip"] * layers)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {packing}\r\nContent-Length: {len(body)}\r\n\r\n"
    with served(head.encode() + body) as url, pytest.raises(ProviderError, match=said):
        JsonService(url, patience=Patience(20, 20, 0)).post("/", {})


def test_a_packed_answer_is_read() -> None:
    body = gzip.compress(json.dumps({"a": [1, 2]}).encode())
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    with served(head.encode() + body) as url:
        assert JsonService(url).post("/", {}) == {"a": [1, 2]}


def test_a_settings_file_in_the_folder_sent_the_users_key_to_its_own_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "hybridrag.toml"
    file.write_text('[llm]\nmodel = "m"\nbase_url = "http://evil.example"\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    env = {"HYBRIDRAG_LLM_API_KEY": "own"}
    with pytest.raises(InvalidSettings, match="HYBRIDRAG_LLM_BASE_URL") as caught:
        load_settings(env=env)
    assert "own" not in str(caught.value).split()
    assert load_settings(file, env=env).settings.llm.base_url
    assert load_settings(env={**env, "HYBRIDRAG_LLM_BASE_URL": "http://good.example"}).settings.llm.base_url


@pytest.mark.parametrize("query", [None, 5, b"\xff"])
def test_a_question_that_is_no_text_raised_an_undocumented_error(engine: Engine, query: object) -> None:
    with pytest.raises(InvalidQuery):
        engine.search(query)  # type: ignore[arg-type]


def test_very_many_or_broken_filter_values_raised_an_undocumented_error(engine: Engine) -> None:
    engine.add(text="The harbour bridge opened.", name="a.txt")
    assert engine.search("harbour", file_types=[f"text/x-{n}" for n in range(40_000)]).results == ()
    assert engine.search("harbour", entity_types=[f"kind {n}" for n in range(40_000)]).results == ()
    with pytest.raises(InvalidQuery, match="half a character"):
        engine.search("harbour", workspace_ids=["\ud800"])


def test_removed_text_stayed_in_the_database(tmp_path: Path) -> None:
    with open_at(tmp_path / "index") as engine:
        engine.add(text="Xylograph quarantine " * 50, name="secret.txt")
        engine.add(text="The harbour bridge opened.", name="a.txt")
        engine.reembed()
    assert b"Xylograph" in (tmp_path / "index" / "store.db").read_bytes()
    with open_at(tmp_path / "index") as engine:
        engine.remove("secret.txt")
    found = [
        path.name for path in (tmp_path / "index").rglob("*") if path.is_file() and b"Xylograph" in path.read_bytes()
    ]
    assert found == []


def test_vectors_of_an_interrupted_reembedding_outlived_their_files(engine: Engine) -> None:
    engine.add(text="The harbour bridge opened.", name="a.txt")
    store = engine._store
    store.begin_reembedding(HashEmbedder().info)
    store.stage_vectors({key: HashEmbedder().embed_query("x").pooled for key in store.unstaged_keys(10)})
    engine.remove(everything=True)
    with store._database.read() as connection:
        assert connection.execute("SELECT count(*) FROM staged_vectors").get == 0


def test_vectors_that_could_not_be_saved_for_the_next_process_stopped_this_one(engine: Engine) -> None:
    (engine.path / "vectors").write_text("no folder")
    engine.add(text="The harbour bridge opened.", name="a.txt")
    assert engine.reembed() == 1
    assert engine.search("harbour bridge").results


def test_tokens_in_an_address_were_shown() -> None:
    for address in ("https://token-1@host/v1", "https://host/v1?key=token-1", "https://host/?a=b&sig=token-1"):
        loaded = load_settings(env={}, overrides={"llm.model": "m", "llm.base_url": address})
        assert not any("token-1" in str(setting.value) for setting in loaded.shown())


def test_escape_sequences_of_documents_reached_the_terminal() -> None:
    assert printable("a\x1b]0;title\x07b\x9b2J\tc\n日本") == "a\ufffd]0;title\ufffdb\ufffd2J\tc\n日本"


def test_other_users_could_read_the_index(engine: Engine) -> None:
    assert engine.path.stat().st_mode & 0o077 == 0
