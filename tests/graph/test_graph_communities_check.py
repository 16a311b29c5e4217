"""`check` knows what communities must be, says what is not, and `repair` finds them again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_graph_communities import planted

from community_builders import CountingEmbedder, check_communities, put_marked
from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph import community_tree
from hybridrag.graph.communities import update_communities
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.testing.stores import MODEL


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedStore:
    """Several levels, facts, dates and entities that nothing ties."""
    monkeypatch.setattr(community_tree, "MAX_MEMBERS", 30)
    store = EmbeddedStore.open(tmp_path / "index")
    store.bind_model(MODEL)
    for number in range(40):
        put_marked(store, f"f{number}", planted(number, groups=3, size=40, outside=0.03))
    put_marked(
        store, "facts", ["{Ada} knows {Grace}.", "{Ada} (also {Countess}) met {Grace} in {1840}.", "{Alone} sat."]
    )
    update_communities(store, embed=CountingEmbedder())
    assert len(store.communities.level_counts()) > 1
    return store


ROWS = {
    "LEAF": "(SELECT max(community_key) FROM community_members)",
    "DIVIDED": "(SELECT max(parent_key) FROM communities)",
    "SOMEONE": "(SELECT max(entity_key) FROM community_members)",
}
"""What the statements below call a row."""


def damage(store: EmbeddedStore, *statements: str) -> set[str]:
    """What `check` says after rows were changed behind the store's back; everything of it can be mended."""
    with store._database.write() as connection:
        for sql in statements:
            connection.execute(re.sub("|".join(ROWS), lambda match: ROWS[match[0]], sql))
    problems = store.check()
    assert all(problem.derived for problem in problems)
    return {problem.what for problem in problems}


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        (
            "UPDATE community_members SET community_key = 999999 WHERE entity_key = SOMEONE",
            "1 members of a community",
        ),
        ("INSERT INTO community_key_entities VALUES (999999, 0, 1, 1.0)", "1 key entities of a community that is gone"),
        ("INSERT INTO community_sentences VALUES (999999, 0, 1, 0, 1)", "1 sentences of a community that is gone"),
        ("UPDATE communities SET level = level + 1 WHERE key = LEAF", "1 communities whose parent is gone or"),
        ("UPDATE communities SET parent_key = 999999 WHERE key = LEAF", "1 communities whose parent is gone or"),
        ("UPDATE communities SET size = size + 1 WHERE key = LEAF", "communities with another size"),
        ("DELETE FROM community_key_entities WHERE community_key = LEAF", "1 communities without a key entity"),
        (
            "UPDATE community_members SET community_key = DIVIDED WHERE entity_key = SOMEONE",
            "1 communities that are divided and have members of their own",
        ),
        ("DELETE FROM community_members WHERE entity_key = SOMEONE", "communities with another size"),
        (
            "UPDATE community_members SET entity_id = 'x' WHERE entity_key = SOMEONE",
            "1 members under another id than their entity's",
        ),
        (
            (
                "UPDATE community_sentences SET chunk_key = 999999 WHERE place = 0 AND community_key = "
                "(SELECT min(community_key) FROM community_sentences)"
            ),
            "1 sentences in a chunk that is gone",
        ),
        ("INSERT INTO community_texts VALUES (x'00', 'm', x'00', NULL)", "1 texts that no community has"),
    ],
)
def test_a_damaged_row_is_reported_and_repaired(store: EmbeddedStore, sql: str, what: str) -> None:
    assert store.check() == []
    found = damage(store, sql)
    assert any(what in problem for problem in found), found
    assert store.repair() == []
    report = update_communities(store, embed=CountingEmbedder())
    assert report.found
    check_communities(store)
    assert store.check() == []


def test_a_member_that_nobody_mentions_is_reported(store: EmbeddedStore) -> None:
    found = damage(
        store,
        "INSERT INTO community_members SELECT 999999, community_key, entity_id, strength "
        "FROM community_members WHERE entity_key = SOMEONE",
        "UPDATE communities SET size = size + 1 WHERE key IN (WITH RECURSIVE up (key) AS (VALUES (("
        "SELECT community_key FROM community_members WHERE entity_key = SOMEONE)) UNION ALL "
        "SELECT c.parent_key FROM communities c "
        "JOIN up ON up.key = c.key) SELECT key FROM up)",
    )
    assert found == {"communities: 1 members that no chunk mentions"}


def test_an_entity_that_belongs_nowhere_is_reported(store: EmbeddedStore) -> None:
    put_marked(store, "more", ["{Newcomer} came."])
    assert store.check() == [], "it waits to be taken up, which is no damage"
    found = damage(store, "UPDATE community_state SET pending = 0")
    assert found == {"communities: 1 entities that belong to no community"}
    assert store.repair() == []
    update_communities(store, embed=CountingEmbedder())
    check_communities(store)


def test_what_an_llm_wrote_survives_a_repair(store: EmbeddedStore) -> None:
    asked: list[str] = []

    def write(title: str, sentences: object) -> str:
        del sentences
        asked.append(title)
        return f"About {title}."

    update_communities(store, embed=CountingEmbedder(), write_summary=write)
    assert asked
    asked.clear()
    damage(store, "UPDATE communities SET size = size + 1 WHERE key = LEAF")
    assert store.repair() == []
    update_communities(store, embed=CountingEmbedder(), write_summary=write)
    check_communities(store)
    with store._database.read() as connection:
        assert connection.execute("SELECT count(*) FROM community_texts WHERE written <> ''").get


def test_rows_of_names_that_are_gone_are_reported_and_dropped(store: EmbeddedStore) -> None:
    found = damage(
        store,
        "INSERT INTO aliases VALUES (1, 0, 1, 999999, 999998, 'acronym')",
        "INSERT INTO facts VALUES (1, 0, 1, 999999, 'knows', 1, 0.5, 'verb')",
        "INSERT INTO alike VALUES (999999, 1)",
        "INSERT INTO name_blocks VALUES ('x', 999999)",
    )
    assert {"2 aliases or facts of a name that is gone", "2 spellings of a name that is gone"} <= found
    assert store.repair() == []


def test_the_engine_repairs_communities_at_once(tmp_path: Path) -> None:
    settings = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    engine = Engine.open(tmp_path / "index", settings=settings, embedder=HashEmbedder())
    engine.add(text="Ada Lovelace worked with Charles Babbage in London.", name="ada.txt")
    engine.add(text="夏目漱石は東京で『こころ』を書いた。", name="soseki.txt")
    before = engine.graph.communities(level=0)
    assert before
    with engine._store._database.write() as connection:
        connection.execute("DELETE FROM community_key_entities")
    assert any("communities without a key entity" in problem.what for problem in engine.check())
    assert engine.repair() == []
    assert engine.graph.communities(level=0) == before
    assert engine.check() == []
