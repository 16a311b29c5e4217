"""Verify that communities fit the entities and one another."""

from __future__ import annotations

import apsw

from hybridrag.stores.embedded.community_tables import read_state

_TIED_TO_NOTHING = {
    "members of a community that is gone": (
        "SELECT count(*) FROM community_members WHERE community_key NOT IN (SELECT key FROM communities)"
    ),
    "key entities of a community that is gone": (
        "SELECT count(*) FROM community_key_entities WHERE community_key NOT IN (SELECT key FROM communities)"
    ),
    "sentences of a community that is gone": (
        "SELECT count(*) FROM community_sentences WHERE community_key NOT IN (SELECT key FROM communities)"
    ),
    "communities whose parent is gone or is not one level up": (
        "SELECT count(*) FROM communities c LEFT JOIN communities p ON p.key = c.parent_key "
        "WHERE c.level <> iif(c.parent_key = 0, 0, ifnull(p.level + 1, -1))"
    ),
    "communities with another size than their members have": (
        "SELECT count(*) FROM communities c LEFT JOIN "
        "(SELECT community_key, count(*) AS members FROM community_members GROUP BY 1) m ON m.community_key = c.key "
        "LEFT JOIN (SELECT parent_key, sum(size) AS below FROM communities GROUP BY 1) p ON p.parent_key = c.key "
        "WHERE c.size <> ifnull(m.members, 0) + ifnull(p.below, 0)"
    ),
    "communities without a member": "SELECT count(*) FROM communities WHERE size < 1",
    "communities that are divided and have members of their own": (
        "SELECT count(*) FROM communities c WHERE key IN (SELECT parent_key FROM communities) "
        "AND key IN (SELECT community_key FROM community_members)"
    ),
    "communities without a key entity": (
        "SELECT count(*) FROM communities WHERE key NOT IN (SELECT community_key FROM community_key_entities)"
    ),
}
"""What holds at any moment, whatever documents came and went since."""

_STALE = {
    "members that no chunk mentions": (
        "SELECT count(*) FROM community_members k WHERE NOT EXISTS "
        "(SELECT 1 FROM names n JOIN mentions m ON m.name_key = n.key WHERE n.entity_key = k.entity_key)"
    ),
    "entities that belong to no community": (
        "SELECT count(DISTINCT n.entity_key) FROM mentions m JOIN names n ON n.key = m.name_key "
        "WHERE n.entity_key NOT IN (SELECT entity_key FROM community_members)"
    ),
    "members under another id than their entity's": (
        "SELECT count(*) FROM community_members k JOIN names n ON n.key = k.entity_key "
        "WHERE lower(hex(n.id)) <> replace(k.entity_id, '-', '')"
    ),
    "sentences in a chunk that is gone": (
        "SELECT count(*) FROM community_sentences WHERE chunk_key NOT IN (SELECT key FROM chunks)"
    ),
    "texts that no community has": (
        "SELECT count(*) FROM community_texts WHERE text_hash NOT IN (SELECT text_hash FROM communities)"
    ),
}
"""What holds once the communities are up to date."""


def community_problems(connection: apsw.Connection) -> list[str]:
    """What does not hold of the communities, each with how often; empty where everything does.

    While changes wait to be taken up, only what must hold at any moment is asked for.
    """
    found = _counted(connection, _TIED_TO_NOTHING)
    if found or read_state(connection).pending:
        return found
    return _counted(connection, _STALE)


def _counted(connection: apsw.Connection, queries: dict[str, str]) -> list[str]:
    counts = ((what, connection.execute(sql).get) for what, sql in queries.items())
    return [f"{count} {what}" for what, count in counts if count]


def forget_communities(connection: apsw.Connection) -> None:
    """Remove all communities; the next update finds them again.

    Written summaries stay until then, for a community of the same text to take up again.
    """
    for table in ("communities", "community_members", "community_key_entities", "community_sentences"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a constant)
    connection.execute("UPDATE community_state SET version = version + 1, texts = texts + 1, pending = pending + 1")
