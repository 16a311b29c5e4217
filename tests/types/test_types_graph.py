"""The knowledge graph's types: names, evidence and a hierarchy that holds together."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from hybridrag.types.graph import Community, Entity, EntityType, Evidence, Relation
from hybridrag.types.ids import (
    community_id_for,
    entity_id_for,
    new_chunk_id,
    new_community_id,
    new_entity_id,
    relation_id_for,
)

SONY, MORITA = entity_id_for("sony"), entity_id_for("盛田昭夫")


def test_an_entity_is_written_in_camel_case() -> None:
    entity = Entity(id=SONY, name="Sony", type=EntityType.ORGANISATION, aliases=("ソニー",), mention_count=3)
    assert json.loads(entity.model_dump_json()) == {
        "id": SONY,
        "name": "Sony",
        "type": "organisation",
        "aliases": ["ソニー"],
        "description": None,
        "mentionCount": 3,
    }
    assert entity.names == ("Sony", "ソニー")


def test_an_entity_has_a_name_and_is_of_type_other_until_known() -> None:
    assert Entity(id=SONY, name="Sony").type is EntityType.OTHER
    with pytest.raises(ValidationError):
        Entity(id=SONY, name="")
    with pytest.raises(ValidationError):
        Entity(id=SONY, name="Sony", mention_count=-1)


def test_a_relation_names_the_chunks_that_support_it_each_once() -> None:
    one, two = new_chunk_id(), new_chunk_id()
    relation = Relation(
        id=relation_id_for(MORITA, "設立した", SONY),
        source_id=MORITA,
        target_id=SONY,
        predicate="設立した",
        evidence=(
            Evidence(chunk_id=two, sentence="盛田昭夫はソニーを設立した。"),
            Evidence(chunk_id=one, sentence="Morita founded Sony."),
            Evidence(chunk_id=two, sentence="ソニーは盛田昭夫が設立した。"),
        ),
    )
    assert relation.chunk_ids == (two, one)
    assert json.loads(relation.model_dump_json())["evidence"][1] == {"chunkId": one, "sentence": "Morita founded Sony."}


@pytest.mark.parametrize("wrong", [{"weight": -1.0}, {"weight": float("nan")}, {"predicate": ""}])
def test_a_relation_has_a_predicate_and_a_weight_from_zero(wrong: dict[str, object]) -> None:
    data = {"id": relation_id_for(MORITA, "p", SONY), "sourceId": MORITA, "targetId": SONY, "predicate": "p"}
    assert Relation.model_validate(data).weight == 1
    with pytest.raises(ValidationError):
        Relation.model_validate({**data, **wrong})


def test_a_community_below_the_top_has_a_parent_and_one_at_the_top_has_none() -> None:
    identity, parent = community_id_for(0, [SONY]), new_community_id()
    assert Community(id=identity, title="Sony", entity_ids=(SONY,)).level == 0
    assert Community(id=identity, title="Sony", entity_ids=(SONY,), level=1, parent_id=parent).parent_id == parent
    with pytest.raises(ValidationError, match="has a parent exactly when its level is above 0"):
        Community(id=identity, title="Sony", entity_ids=(SONY,), level=1)
    with pytest.raises(ValidationError, match="has a parent exactly when its level is above 0"):
        Community(id=identity, title="Sony", entity_ids=(SONY,), parent_id=parent)
    with pytest.raises(ValidationError, match="cannot be its own parent"):
        Community(id=identity, title="Sony", entity_ids=(SONY,), level=1, parent_id=identity)


def test_the_key_entities_of_a_community_are_members() -> None:
    identity = community_id_for(0, [SONY, MORITA])
    assert Community(id=identity, title="Sony", entity_ids=(SONY, MORITA), key_entities=(MORITA,)).rank == 0
    with pytest.raises(ValidationError, match="keyEntities must be members"):
        Community(id=identity, title="Sony", entity_ids=(SONY,), key_entities=(new_entity_id(),))
    with pytest.raises(ValidationError):
        Community(id=identity, title="nobody", entity_ids=())
