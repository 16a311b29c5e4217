"""Documents in and out through the engine, with real files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from hybridrag.config import Settings, load_settings
from hybridrag.engine import Engine
from hybridrag.errors import InvalidInput, ModelMismatch, StoreNotFound
from hybridrag.protocols import Passages
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.base import Float32Array
from hybridrag.types.ids import file_id_for
from hybridrag.types.reports import FileState, Progress
from hybridrag.types.terms import Term

LONGER_THAN_A_SUMMARY = 500


class CountingEmbedder(HashEmbedder):
    """Counts the passages that it had to embed; names and the texts of communities are shorter."""

    embedded = 0

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        self.embedded += sum(len(text) > LONGER_THAN_A_SUMMARY for text in texts)
        return super().embed_passages(texts, tokens=tokens)


def settings(**overrides: object) -> Settings:
    return load_settings(env={}, overrides={"documents.isolate": False, **overrides}).settings


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def engine(tmp_path: Path, embedder: CountingEmbedder) -> Engine:
    return Engine.open(tmp_path / "index", settings=settings(), embedder=embedder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "guide.md").write_text("# Guide\n\nThe upload limit is five megabytes.\n")
    (folder / "sub" / "notes.txt").write_text("Meeting notes about the harbour bridge.\n")
    (folder / "日本.txt").write_text("国際標準化機構は規格を定める。\n")
    return folder


def names(engine: Engine) -> set[str]:
    return {Path(file.name).name for file in engine.files()}


def finds(engine: Engine, term: str) -> int:
    return len(engine._store.search_terms(Term(term), 100))


def test_a_folder_comes_in_and_unchanged_files_cost_nothing(
    engine: Engine, folder: Path, embedder: CountingEmbedder
) -> None:
    first = engine.add(folder)
    assert first.count(FileState.ADDED) == 3
    assert names(engine) == {"guide.md", "notes.txt", "日本.txt"}
    assert engine.check() == []
    embedded, generation = embedder.embedded, engine.status().generation
    again = engine.add(folder)
    assert again.count(FileState.UNCHANGED) == 3
    assert embedder.embedded == embedded
    assert engine.status().generation == generation


def test_a_changed_file_embeds_only_what_changed(engine: Engine, folder: Path, embedder: CountingEmbedder) -> None:
    long = "\n\n".join(f"# Part {n}\n\n" + f"Paragraph {n} says something of its own. " * 20 for n in range(5))
    (folder / "guide.md").write_text(long)
    engine.add(folder)
    before = embedder.embedded
    (folder / "guide.md").write_text(long.replace("Paragraph 3 says", "Paragraph 3 tells"))
    report = engine.add(folder)
    (updated,) = [outcome for outcome in report.outcomes if outcome.state is FileState.UPDATED]
    assert updated.embedded < updated.chunks
    assert embedder.embedded - before == updated.embedded
    assert engine.check() == []


def test_sync_adds_replaces_and_removes(engine: Engine, folder: Path) -> None:
    engine.add(text="elsewhere", name="note")
    engine.sync(folder)
    (folder / "sub" / "notes.txt").unlink()
    (folder / "guide.md").write_text("Now about tulips.\n")
    (folder / "new.txt").write_text("A new file.\n")
    report = engine.sync(folder)
    states = {Path(outcome.name).name: outcome.state for outcome in report.outcomes}
    assert states == {
        "guide.md": FileState.UPDATED,
        "new.txt": FileState.ADDED,
        "日本.txt": FileState.UNCHANGED,
        "notes.txt": FileState.REMOVED,
    }
    assert names(engine) == {"guide.md", "new.txt", "日本.txt", "note"}
    assert finds(engine, "harbour") == 0
    assert engine.check() == []


def test_sync_keeps_what_it_has_of_a_file_that_broke(engine: Engine, folder: Path) -> None:
    engine.sync(folder)
    (folder / "guide.md").write_bytes(bytes(range(256)) * 8)
    report = engine.sync(folder)
    assert [Path(outcome.name).name for outcome in report.failed] == ["guide.md"]
    assert "guide.md" in names(engine)


def test_sync_of_a_missing_folder_removes_nothing(engine: Engine, folder: Path) -> None:
    engine.sync(folder)
    with pytest.raises(InvalidInput, match="nothing was changed"):
        engine.sync(folder / "gone")
    assert len(names(engine)) == 3


def test_a_bad_file_is_reported_and_the_rest_goes_on(engine: Engine, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing else")
    (folder / "empty.txt").write_bytes(b"")
    report = engine.add([folder, folder / "missing.txt"])
    reasons = {Path(outcome.name).name: outcome.reason for outcome in report.failed}
    assert set(reasons) == {"broken.pdf", "missing.txt"}
    assert report.skipped == {"empty file": 1}
    assert all(reason and "\n" not in reason for reason in reasons.values())
    assert report.count(FileState.ADDED) == 3


def test_text_and_bytes_come_in_under_a_name(engine: Engine) -> None:
    engine.add(text="The tower has 300 steps.", name="tower")
    engine.add(text="The tower has 400 steps.", name="tower")
    engine.add(b"# Title\n\nBody text.", name="readme.md")
    assert finds(engine, "300") == 0
    assert finds(engine, "400") == 1
    assert {file.mime_type for file in engine.files()} == {"text/plain", "text/markdown"}
    twice = [engine.add(text="no name"), engine.add(text="no name")]
    assert twice[1].count(FileState.UNCHANGED) == 1
    with pytest.raises(InvalidInput):
        engine.add()
    with pytest.raises(InvalidInput):
        engine.add("path", text="text")


def test_lone_surrogates_and_nul_in_a_text_do_no_harm(engine: Engine) -> None:
    report = engine.add(text="before \ud800 \x00 after", name="odd.txt")
    assert report.failed == ()
    assert engine.check() == []


def test_files_are_removed_by_name_path_id_and_folder(engine: Engine, folder: Path) -> None:
    engine.add(folder)
    engine.add(text="a", name="one")
    engine.add(text="b", name="two")
    report = engine.remove("one", folder / "guide.md", file_id_for("default", "two"), folder / "sub", "nowhere")
    assert report.count(FileState.REMOVED) == 4
    assert [outcome.name for outcome in report.failed] == ["nowhere"]
    assert names(engine) == {"日本.txt"}
    engine.remove(everything=True)
    assert names(engine) == set()
    assert engine.check() == []
    with pytest.raises(InvalidInput):
        engine.remove()


def test_workspaces_keep_the_same_file_apart(engine: Engine, folder: Path) -> None:
    engine.add(folder / "guide.md", workspace="a")
    engine.add(folder / "guide.md", workspace="b")
    assert engine.status().workspaces == {"a": 1, "b": 1}
    engine.remove(folder / "guide.md", workspace="a")
    assert [file.workspace for file in engine.files()] == ["b"]


def test_stopping_keeps_what_was_finished(engine: Engine, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(60):
        (many / f"{number:02}.txt").write_text(f"Document {number}. " + "Some words to embed. " * 60)
    stop = threading.Event()

    def watch(progress: Progress) -> None:
        if progress.files_done >= 5:
            stop.set()

    report = engine.add(many, on_progress=watch, stop=stop)
    assert report.interrupted
    assert 5 <= len(names(engine)) < 60
    assert len(report.outcomes) == len(names(engine))
    assert engine.check() == []
    rest = engine.add(many)
    assert rest.count(FileState.UNCHANGED) == len(report.outcomes)
    assert len(names(engine)) == 60


def test_progress_counts_up_to_the_total(engine: Engine, folder: Path) -> None:
    seen: list[Progress] = []
    engine.add(folder, on_progress=seen.append)
    assert {progress.stage for progress in seen} >= {"read", "embed", "write"}
    assert seen[-1].files_done == seen[-1].files_total == 3
    assert seen[-1].chunks_done == seen[-1].chunks_total > 0


def test_another_model_is_a_clear_error_and_reembed_mends_it(tmp_path: Path, engine: Engine, folder: Path) -> None:
    engine.add(folder)
    engine.close()
    other = HashEmbedder(dimension=32)
    changed = Engine.open(tmp_path / "index", settings=settings(), embedder=other)
    with pytest.raises(ModelMismatch, match="hybridrag reembed"):
        changed.add(text="more")
    assert changed.reembed() == 3
    assert changed.status().model == other.info
    assert changed.check() == []
    changed.add(text="more")


def test_moving_a_file_needs_no_model(engine: Engine, folder: Path, embedder: CountingEmbedder) -> None:
    engine.sync(folder)
    before = embedder.embedded
    (folder / "guide.md").rename(folder / "renamed.md")
    report = engine.sync(folder)
    assert report.count(FileState.ADDED) == report.count(FileState.REMOVED) == 1
    assert embedder.embedded == before


def test_the_index_inside_the_folder_is_not_indexed(folder: Path, embedder: CountingEmbedder) -> None:
    engine = Engine.open(folder / "index", settings=settings(), embedder=embedder)
    engine.add(folder)
    engine.add(folder)
    assert names(engine) == {"guide.md", "notes.txt", "日本.txt"}


def test_opening_without_making_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        Engine.open(tmp_path / "none", settings=settings(), create=False)


def test_callers_in_an_event_loop_are_not_blocked(engine: Engine, folder: Path) -> None:
    async def use() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        assert (await engine.aadd(folder)).count(FileState.ADDED) == 3
        assert (await engine.async_sync(folder)).count(FileState.UNCHANGED) == 3
        assert len(await engine.afiles()) == 3
        assert (await engine.astatus()).files == 3
        await engine.aremove(everything=True)
        ticking.cancel()
        assert ticks > 10
        await engine.aclose()

    asyncio.run(use())


def test_cancelling_an_async_add_keeps_whole_files(engine: Engine, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(60):
        (many / f"{number:02}.txt").write_text(f"Document {number}. " + "Some words to embed. " * 60)

    async def use() -> None:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell(_: Progress) -> None:
            loop.call_soon_threadsafe(started.set)

        adding = asyncio.create_task(engine.aadd(many, on_progress=tell))
        await started.wait()
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding

    asyncio.run(use())
    assert engine.check() == []
    assert len(names(engine)) < 60


def test_vectors_come_back_as_they_went_in(engine: Engine, embedder: CountingEmbedder) -> None:
    engine.add(text="The lighthouse keeper writes letters.", name="a.txt")
    vector: Float32Array = embedder.embed_passages(["The lighthouse keeper writes letters."]).pooled[0]
    (_, cosine), *_ = engine._store.search_vector(vector, 1)
    assert cosine > 0.999
