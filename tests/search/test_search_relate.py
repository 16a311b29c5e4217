"""Between two names: what is said of both, what both share, what lies between; and nothing that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.linker import TitleLinker
from hybridrag.graph.names import name_key
from hybridrag.search.named import Named, find_named, mentions_name
from hybridrag.search.relate import search_relations
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import RelationHint, SearchFilters
from hybridrag.types.results import Hit

DOCUMENTS = {
    "quist.md": "# Elvira Quist\n\nElvira Quist founded Marten Works in 1874. She grew up in Norrhamn.\n",
    "works.md": "# Marten Works\n\nMarten Works closed its yard because Baltic Timber raised its prices.\n",
    "timber.md": "# Baltic Timber\n\nBaltic Timber supplied Marten Works for twenty years.\n",
    "bridge.md": "# Solberg Bridge\n\nSolberg Bridge was drawn by Anders Holm. The Ostvik Guild paid for it.\n",
    "guild.md": "# Ostvik Guild\n\nThe Ostvik Guild met in Norrhamn under Karin Vall.\n",
    "ferry.md": "# Kestrel Ferry\n\nThe Kestrel Ferry was painted by Karin Vall.\n",
    "ja1.md": "# 霧島電機\n\n霧島電機は白川工業を買収した。\n",
    "ja2.md": "# 白川工業\n\n白川工業は大雨のため工場を閉じた。霧島電機が支援した。\n",
    "noise.md": "# Bread\n\nBake the bread for forty minutes and let it rest.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("index") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        folder = tmp_path_factory.mktemp("docs")
        for name, text in DOCUMENTS.items():
            (folder / name).write_text(text, encoding="utf-8")
        engine.add(folder)
        elsewhere = "Elvira Quist sold Baltic Timber to the Ostvik Guild."
        engine.add(text=elsewhere, name="secret.txt", workspace="other")
        yield engine


DEFAULT = SearchFilters(workspace_ids=("default",))


def named(engine: Engine, *names: str, filters: SearchFilters | None = DEFAULT) -> list[Named]:
    return find_named(engine._store.graph, TitleLinker(), names, name_key=name_key, filters=filters)


def related(
    engine: Engine,
    question: str,
    *names: str,
    hint: RelationHint | None = None,
    filters: SearchFilters | None = DEFAULT,
) -> dict[str, Hit]:
    hits = search_relations(engine._store, named(engine, *names, filters=filters), question, hint=hint, filters=filters)
    chunks = engine._store.chunks_by_key([hit.key for hit in hits])
    return {_file(engine, chunks[hit.key].file_id): hit for hit in hits}


def _file(engine: Engine, file_id: object) -> str:
    return next(Path(file.name).name for file in engine._store.files() if file.id == file_id)


def test_a_stated_fact_between_both_ends_comes_first(engine: Engine) -> None:
    found = related(engine, "How is Elvira Quist connected to Marten Works?", "Elvira Quist", "Marten Works")
    assert next(iter(found)) == "quist.md"
    hit = found["quist.md"]
    assert set(hit.path) == {"Elvira Quist", "Marten Works"}
    assert hit.relation_ids
    assert len(hit.entity_ids) >= 2


def test_a_stated_fact_is_found_in_japanese(engine: Engine) -> None:
    found = related(engine, "霧島電機と白川工業の関係は？", "霧島電機", "白川工業")
    assert set(found) >= {"ja1.md", "ja2.md"}
    assert all(0 < hit.score <= 1 for hit in found.values())


def test_a_name_that_both_share_leads_to_both_their_chunks(engine: Engine) -> None:
    found = related(engine, "What links Elvira Quist and the Ostvik Guild?", "Elvira Quist", "Ostvik Guild")
    assert {"quist.md", "guild.md"} <= set(found)
    assert found["guild.md"].path[1] == "Norrhamn"


def test_what_joins_the_neighbours_of_both_is_found_where_they_share_nothing(engine: Engine) -> None:
    found = related(engine, "How does Solberg Bridge relate to the Kestrel Ferry?", "Solberg Bridge", "Kestrel Ferry")
    assert "guild.md" in found
    assert found["guild.md"].path == ("Solberg Bridge", "Ostvik Guild", "Karin Vall", "Kestrel Ferry")
    assert found["guild.md"].score < 0.5


def test_the_weaker_the_evidence_the_lower_the_score(engine: Engine) -> None:
    stated = related(engine, "Elvira Quist and Marten Works?", "Elvira Quist", "Marten Works")["quist.md"]
    shared = related(engine, "Elvira Quist and Ostvik Guild?", "Elvira Quist", "Ostvik Guild")["guild.md"]
    assert stated.score > shared.score


def test_a_question_for_a_reason_prefers_wording_that_gives_one(engine: Engine) -> None:
    ends = ("Marten Works", "Baltic Timber")
    plain = related(engine, "Marten Works and Baltic Timber", *ends)["works.md"]
    reason = related(engine, "Why did Marten Works close?", *ends, hint=RelationHint.REASON)
    assert reason["works.md"].score > plain.score
    japanese = ("白川工業", "霧島電機")
    without = related(engine, "白川工業と霧島電機", *japanese)["ja2.md"]
    caused = related(engine, "なぜ白川工業は工場を閉じたのか", *japanese, hint=RelationHint.CAUSATION)["ja2.md"]
    assert caused.score >= without.score


def test_one_end_finds_what_the_question_asks_of_it(engine: Engine) -> None:
    found = related(engine, "What did Elvira Quist found?", "Elvira Quist")
    assert list(found) == ["quist.md"]
    assert found["quist.md"].details["evidence"] == "asked"


def test_unknown_ends_find_nothing(engine: Engine) -> None:
    assert related(engine, "How are X and Y related?", "Xylo Quark", "Yttrium Ray") == {}
    assert search_relations(engine._store, [], "anything") == []


def test_nothing_leads_through_an_excluded_file(engine: Engine) -> None:
    ends = ("Elvira Quist", "Baltic Timber")
    assert "secret.txt" not in related(engine, "Elvira Quist and Baltic Timber?", *ends)
    assert "secret.txt" in related(engine, "Elvira Quist and Baltic Timber?", *ends, filters=None)
    other = SearchFilters(workspace_ids=("other",))
    assert set(related(engine, "Elvira Quist and Baltic Timber?", *ends, filters=other)) == {"secret.txt"}


def test_a_name_is_about_the_chunks_of_its_title_before_those_that_mention_it(engine: Engine) -> None:
    (works,) = named(engine, "Marten Works")
    assert len(works.titled) == 1
    assert works.about == works.titled
    assert len(works.mentioned) > 1
    (nothing,) = named(engine, "Xylo Quark")
    assert nothing.about == ()
    assert named(engine, " ") == []


def test_a_name_is_whole_words_in_english_and_anywhere_in_japanese() -> None:
    assert mentions_name("who directed god of war", "god of war")
    assert not mentions_name("who directed godzilla", "god")
    assert mentions_name("犬吠埼灯台の設計者", "犬吠埼灯台")
    assert not mentions_name("anything", "")
