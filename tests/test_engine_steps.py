"""What a server needs of the engine: steps as they happen, one file, its pieces."""

from __future__ import annotations

from pathlib import Path

from hybridrag import Engine, load_settings
from hybridrag.types.ids import new_file_id
from hybridrag.types.results import TraceStep


def open_engine(path: Path) -> Engine:
    overrides = {"embedding.provider": "fake", "rerank.provider": "none", "search.cache_size": 0}
    return Engine.open(path, settings=load_settings(env={}, overrides=overrides).settings)


def test_a_search_tells_of_every_step_of_its_trace_as_it_ends(tmp_path: Path) -> None:
    told: list[TraceStep] = []
    with open_engine(tmp_path / "index") as engine:
        engine.add(text="The fee is twelve crowns.", name="fees.md")
        with engine.telling(told.append):
            result = engine.search("fee", explain=True)
        assert result.trace is not None
        assert told == list(result.trace.steps)
        engine.search("twelve crowns")
        assert len(told) == len(result.trace.steps), "a later search tells nobody"


def test_a_file_and_its_pieces_are_found_by_id(tmp_path: Path) -> None:
    with open_engine(tmp_path / "index") as engine:
        report = engine.add(text="# Fees\n\nThe fee is twelve crowns.", name="fees.md")
        file_id = report.outcomes[0].file_id
        assert file_id is not None
        file = engine.file(file_id)
        assert file is not None
        assert file.name == "fees.md"
        text = engine.text(file_id)
        assert text is not None
        assert [text[chunk.start : chunk.end] for chunk in engine.chunks(file_id)] == [
            chunk.text for chunk in engine.chunks(file_id)
        ]
        assert engine.file(new_file_id()) is None
        assert engine.chunks(new_file_id()) == []
