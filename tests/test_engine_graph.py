"""The knowledge graph through the engine: built as documents come in, exact as they change, better with an LLM."""

from __future__ import annotations

import json
from itertools import combinations
from math import dist
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hybridrag.config import Settings, load_settings
from hybridrag.engine import Engine
from hybridrag.errors import InvalidInput, InvalidSettings, NotFound, StoreError
from hybridrag.graph.llm_cache import FILE_NAME
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.testing.llms import Asked, ScriptedLlm
from hybridrag.types.queries import SearchFilters

FILES = {
    "ada.md": "# Ada Lovelace\n\nAda Lovelace worked with Charles Babbage in London. She wrote about his engine.\n",
    "babbage.md": "# Charles Babbage\n\nCharles Babbage designed the Analytical Engine. He was born in London.\n",
    "iso.md": "# 国際標準化機構\n\n国際標準化機構（ISO）は規格を定める組織である。本部はジュネーブにある。\n",
}


def settings(**overrides: object) -> Settings:
    base = {"documents.isolate": False, "graph.extractor": "light"}
    return load_settings(env={}, overrides={**base, **overrides}).settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def engine(tmp_path: Path, folder: Path) -> Engine:
    engine = Engine.open(tmp_path / "index", settings=settings(), embedder=HashEmbedder())
    engine.add(folder)
    return engine


def test_documents_make_a_graph_in_both_languages(engine: Engine) -> None:
    ada = engine.graph.entity("Ada Lovelace")
    assert ada.mention_count >= 2
    assert "Charles Babbage" in {neighbour.entity.name for neighbour in engine.graph.neighbours("Ada Lovelace")}
    assert engine.graph.entity("ISO").id == engine.graph.entity("国際標準化機構").id
    assert engine.check() == []


def test_a_chunk_is_linked_to_the_document_that_it_names(engine: Engine) -> None:
    store = engine._store
    keys = {chunk.headings[0]: key for key, chunk in store.chunks_by_key(store.chunk_keys()).items()}
    (link,) = store.graph.links_from([keys["Ada Lovelace"]])
    assert link.target_key == keys["Charles Babbage"]


def test_what_left_with_its_document_is_gone(engine: Engine, folder: Path) -> None:
    (folder / "iso.md").unlink()
    engine.sync(folder)
    with pytest.raises(NotFound):
        engine.graph.entity("国際標準化機構")
    assert engine.graph.find("ジュネーブ", by_meaning=False) == []
    assert engine.check() == []


def test_workspaces_bind_the_graph(engine: Engine) -> None:
    engine.add(text="Grace Hopper worked at Harvard University.", name="hopper.txt", workspace="other")
    mine = engine.graph.under(SearchFilters(workspace_ids=("default",)))
    assert "Grace Hopper" not in {entity.name for entity in mine.find("Grace Hopper")}
    other = engine.graph.under(SearchFilters(workspace_ids=("other",)))
    assert "Ada Lovelace" not in {entity.name for entity in other.find("Ada Lovelace")}


def test_communities_cover_what_is_there_and_follow_every_change(engine: Engine, folder: Path) -> None:
    top = engine.graph.communities(level=0, limit=100)
    assert top
    members = {entity for community in top for entity in community.entity_ids}
    assert engine.graph.entity("Ada Lovelace").id in members
    assert len(members) == engine.graph.statistics()["entities"]
    assert engine.graph.community(top[0].id) == top[0]
    own, *_ = engine.graph.communities_of("Ada Lovelace")
    assert own in top
    assert engine.graph.entity("Ada Lovelace").id in own.entity_ids
    (nearest, *_) = engine.graph.communities("Ada Lovelace and Charles Babbage", limit=1)
    assert nearest.summary
    (folder / "iso.md").unlink()
    engine.sync(folder)
    left = engine.graph.communities(level=0, limit=100)
    assert "国際標準化機構" not in json.dumps([it.model_dump(mode="json") for it in left], ensure_ascii=False)
    assert {entity for community in left for entity in community.entity_ids} < members
    hidden = engine.graph.under(SearchFilters(workspace_ids=("nobody",)))
    assert hidden.communities(level=0) == []
    assert hidden.communities("Ada Lovelace") == []
    with pytest.raises(NotFound):
        hidden.community(left[0].id)
    with pytest.raises(NotFound):
        hidden.communities_of("Ada Lovelace")


def test_an_llm_words_communities_or_the_sentences_stand(tmp_path: Path, folder: Path) -> None:
    chosen = settings(**{"graph.extractor": "llm", "llm.model": "scripted"})

    def say(asked: Asked) -> str:
        return answer(asked) if asked.schema is not None else "About early computing."

    engine = Engine.open(tmp_path / "llm", settings=chosen, embedder=HashEmbedder(), llm=ScriptedLlm(say))
    engine.add(folder)
    for friend in ("Charles Babbage", "Mary Somerville", "Luigi Menabrea"):
        engine.add(text=f"In this letter Ada Lovelace thanks {friend}.", name=f"{friend}.txt")
    summaries = {community.summary for community in engine.graph.communities(level=0, limit=50)}
    assert "About early computing." in summaries


def test_the_graph_is_exported_and_plotted(engine: Engine) -> None:
    graph = engine.graph
    names = {entity["name"] for entity in json.loads(graph.export("json"))["entities"]}
    assert {"Ada Lovelace", "Charles Babbage"} <= names
    tree = ET.fromstring(graph.export("graphml"))  # noqa: S314 (our own output)
    nodes = tree.findall(".//{*}node")
    assert names < {data.text for node in nodes for data in node.findall("{*}data[@key='name']")}
    header, *rows = graph.export("csv").splitlines()
    assert header == "source,target,predicate,weight,evidence,sourceType,targetType"
    assert any("Ada Lovelace" in row for row in rows)
    with pytest.raises(InvalidInput, match="Use one of"):
        graph.export("dot")
    svg = ET.fromstring(graph.plot(around="Ada Lovelace"))  # noqa: S314 (same)
    assert "Charles Babbage" in {text.text for text in svg.findall("{*}text")}
    assert "<svg" in graph.plot(html=True)


def test_what_nothing_joins_is_drawn_around_the_rest_and_not_heaped_up(tmp_path: Path) -> None:
    """Nodes without an edge were pushed into one corner, and everything else into a point."""
    engine = Engine.open(tmp_path / "i", settings=settings(), embedder=HashEmbedder())
    for number in range(12):
        engine.add(text=f"We saw the Otter{number} Lake.", name=f"{number}.txt")
    engine.add(text="Ann Lee met Bob Kerr, Carl Moss, Dora Holt and Emil Brandt.", name="all.txt")
    svg = ET.fromstring(engine.graph.plot())  # noqa: S314 (our own output)
    places = [(float(it.attrib["cx"]), float(it.attrib["cy"])) for it in svg.findall("{*}circle")]
    assert min(dist(one, other) for one, other in combinations(places, 2)) > 20


def test_hostile_names_stay_text_in_every_export(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "i", settings=settings(), embedder=HashEmbedder())
    engine.add(text='"=cmd|A1" and "<script>alert(1)</script>" met Ada Lovelace & Charles Babbage.', name="x.txt")
    ET.fromstring(engine.graph.export("graphml"))  # noqa: S314 (same)
    assert "<script>" not in engine.graph.plot(html=True)
    for line in engine.graph.export("csv").splitlines()[1:]:
        assert not line.startswith("=")


def test_rebuilding_gives_the_same_graph_and_keeps_decisions(engine: Engine) -> None:
    before = engine.graph.export("json")
    engine.graph.merge("Ada Lovelace", "Charles Babbage")
    assert engine.rebuild_graph() == 3
    assert engine.graph.entity("Ada Lovelace").id == engine.graph.entity("Charles Babbage").id
    engine.graph.split("Ada Lovelace")
    assert json.loads(engine.graph.export("json"))["entities"] == json.loads(before)["entities"]


PEOPLE = ("Ada Lovelace", "Charles Babbage", "Mary Somerville", "Luigi Menabrea", "Atlantis")


def answer(messages: object) -> str:
    del messages
    return json.dumps(
        {
            "entities": [{"name": name, "type": "person"} for name in PEOPLE],
            "relations": [],
        }
    )


def test_an_llm_extracts_when_configured_and_its_failure_breaks_nothing(tmp_path: Path, folder: Path) -> None:
    llm = ScriptedLlm(answer)
    chosen = settings(**{"graph.extractor": "llm", "llm.model": "scripted"})
    engine = Engine.open(tmp_path / "llm", settings=chosen, embedder=HashEmbedder(), llm=llm)
    report = engine.add(folder)
    assert report.failed == ()
    assert engine.graph.entity("Ada Lovelace").name == "Ada Lovelace"
    with pytest.raises(NotFound):
        engine.graph.entity("Atlantis")
    asked = engine.llm_report()
    assert asked is not None
    assert asked.calls > 0
    assert (engine.path / FILE_NAME).exists()
    estimate = engine.estimate_graph()
    assert estimate is not None
    assert estimate.passages == 3
    engine.remove(everything=True)
    assert "Ada" not in (engine.path / FILE_NAME).read_text()
    assert engine.check() == []


def test_another_extractor_is_refused_until_the_graph_is_rebuilt(tmp_path: Path, engine: Engine) -> None:
    engine.close()
    chosen = settings(**{"graph.extractor": "llm", "llm.model": "scripted"})
    changed = Engine.open(tmp_path / "index", settings=chosen, embedder=HashEmbedder(), llm=ScriptedLlm(answer))
    with pytest.raises(StoreError, match="hybridrag graph rebuild"):
        changed.add(text="More about Ada Lovelace.")
    changed.rebuild_graph()
    changed.add(text="More about Ada Lovelace.")


def test_the_llm_extractor_without_a_model_says_what_to_set(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "i", settings=settings(**{"graph.extractor": "llm"}), embedder=HashEmbedder())
    with pytest.raises(InvalidSettings, match=r"llm\.model"):
        engine.add(text="Ada Lovelace.")
