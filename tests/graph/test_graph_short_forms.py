"""One thing is one entity: short forms join the one name that they fit, as far as what joins them may be seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.errors import NotFound
from hybridrag.graph.short_forms import fits, shorter_forms
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.graph import EntityType
from hybridrag.types.queries import SearchFilters

PERSON, ORGANISATION, PLACE = EntityType.PERSON, EntityType.ORGANISATION, EntityType.PLACE


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        yield engine


@pytest.mark.parametrize(
    ("short", "whole", "kind", "expected"),
    [
        ("kwame", "kwame addo leigh", PERSON, True),
        ("farrow", "nadia farrow", PERSON, True),
        ("n farrow", "nadia farrow", PERSON, True),
        ("addo", "kwame addo leigh", PERSON, False),
        ("quillmere", "quillmere systems ltd", ORGANISATION, True),
        ("systems", "quillmere systems ltd", ORGANISATION, False),
        ("bank", "bank of quillmere", ORGANISATION, False),
        ("selby", "selby castle", PLACE, False),
        ("ln3", "leafnode ln3", EntityType.OTHER, True),
        ("4g", "qm hub3 4g", EntityType.CONCEPT, False),
        ("小鷹", "小鷹隆", PERSON, True),
        ("つばくろ電機", "つばくろ電機株式会社", ORGANISATION, True),
        ("つばくろ", "つばくろ電機株式会社", ORGANISATION, False),
    ],
)
def test_what_a_name_is_shortened_to_depends_on_what_it_names(
    short: str, whole: str, kind: EntityType, expected: bool
) -> None:
    assert short in shorter_forms(whole) or not expected
    assert fits(short, whole, kind) is expected


def test_the_sign_of_a_weekday_is_short_for_nothing() -> None:
    assert "金" not in shorter_forms("金沢")
    assert "榊" in shorter_forms("榊遼")


def test_a_first_name_in_another_file_is_the_one_person_that_it_fits(engine: Engine) -> None:
    engine.add(text="Please ask Kwame Addo-Leigh <kwame@example.org> about it.", name="mail.txt")
    engine.add(text="We showed the router to Kwame and left.", name="notes.txt")
    found = engine.graph.entity("Kwame")
    assert (found.name, found.type, found.mention_count) == ("Kwame Addo-Leigh", PERSON, 2)
    assert ("kwame", "kwame addo leigh", "short_form", None) in engine.graph.merges("Kwame")


def test_two_people_of_one_first_name_are_kept_apart_from_it_until_one_leaves(engine: Engine) -> None:
    engine.add(text="Please ask Kwame Addo-Leigh <kwame@example.org> about it.", name="mail.txt")
    engine.add(text="We showed the router to Kwame and left.", name="notes.txt")
    engine.add(text="It was Kwame Mensah <mensah@example.org> who called.", name="other.txt")
    assert engine.graph.entity("Kwame").id != engine.graph.entity("Kwame Addo-Leigh").id
    engine.remove("other.txt")
    assert engine.graph.entity("Kwame").id == engine.graph.entity("Kwame Addo-Leigh").id
    engine.graph.split("Kwame")
    assert engine.graph.entity("Kwame").id != engine.graph.entity("Kwame Addo-Leigh").id


def test_japanese_family_names_and_company_names_are_joined_over_files(engine: Engine) -> None:
    engine.add(text="担当は小鷹 隆です。納入先は株式会社ミナカミフーズである。", name="a.txt")
    engine.add(text="小鷹さんが電話を受けた。ミナカミフーズから返事が来た。", name="b.txt")
    assert engine.graph.entity("小鷹").id == engine.graph.entity("小鷹隆").id
    assert engine.graph.entity("ミナカミフーズ").type is ORGANISATION


def test_what_one_workspace_says_of_a_name_is_not_known_in_another(engine: Engine) -> None:
    """An alias that only A states showed in B: as another spelling, in B's ids, and among the decisions."""
    engine.add(text="We met Olof Brandt, also known as Anders Falk, in Malmö.", name="a.txt", workspace="A")
    engine.add(text="We met Olof Brandt in Lund. Later we saw Anders Falk there.", name="b.txt", workspace="B")
    assert engine.graph.entity("Olof Brandt").aliases == ("Olof Brandt",)
    engine.add(text="We met Olof Brandt in Lund.", name="c.txt", workspace="C")
    engine.graph.merge("Malmö", "Lund")
    for workspace in ("B", "C"):
        view = engine.graph.under(SearchFilters(workspace_ids=(workspace,)))
        found = view.entity("Olof Brandt")
        assert found.aliases == ()
        assert view.merges(found.id) == []
        assert view.decisions() == []
        assert view.entity(found.id).name == "Olof Brandt"
        hidden = engine.graph.under(SearchFilters(workspace_ids=("A",))).entity("Anders Falk").id
        assert found.id != hidden
    assert engine.graph.under(SearchFilters(workspace_ids=("B",))).entity("Anders Falk").aliases == ()
    with pytest.raises(NotFound):
        engine.graph.under(SearchFilters(workspace_ids=("C",))).entity("Anders Falk")


def test_through_a_filter_the_graph_is_the_one_of_the_visible_files_alone(engine: Engine, tmp_path: Path) -> None:
    texts = {
        "a.txt": "We met Olof Brandt, also known as Anders Falk, in Malmö.",
        "b.txt": "Olof Brandt founded the Otter Museum. Later Anders Falk visited the Otter Museum in Lund.",
    }
    chosen = engine.settings
    with Engine.open(tmp_path / "alone", settings=chosen, embedder=HashEmbedder()) as alone:
        alone.add(text=texts["b.txt"], name="b.txt", workspace="B")
        for name, text in texts.items():
            engine.add(text=text, name=name, workspace="A" if name == "a.txt" else "B")
        view = engine.graph.under(SearchFilters(workspace_ids=("B",)))
        assert view.statistics() == alone.graph.statistics()
        for name in ("Olof Brandt", "Anders Falk", "Otter Museum"):
            assert view.entity(name) == alone.graph.entity(name)
            assert view.relations([name]) == alone.graph.relations([name])
            assert {it.entity.name for it in view.neighbours(name)} == {
                it.entity.name for it in alone.graph.neighbours(name)
            }


def test_an_index_of_format_3_finds_its_short_forms_when_the_graph_is_rebuilt(engine: Engine) -> None:
    """Names that an older version had written were filed under none of their short forms."""
    engine.add(text="Please ask Kwame Addo-Leigh <kwame@example.org> about it.", name="mail.txt")
    engine.add(text="We showed the router to Kwame and left.", name="notes.txt")
    path = engine.path
    engine.close()
    connection = apsw.Connection(str(path / "store.db"))
    connection.execute("DROP TABLE short_forms; DELETE FROM name_blocks; UPDATE names SET entity_key = key")
    connection.execute("ALTER TABLE files DROP COLUMN folder; ALTER TABLE chunks DROP COLUMN anchor")
    connection.pragma("user_version", 3)
    connection.close()
    with Engine.open(path, settings=engine.settings, embedder=HashEmbedder()) as again:
        again.rebuild_graph()
        assert again.graph.entity("Kwame").id == again.graph.entity("Kwame Addo-Leigh").id
        assert again.check() == []
