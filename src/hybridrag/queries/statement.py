"""Tell a statement from a question: a model that was taught to find answers has nothing to find for a statement."""

from __future__ import annotations

import re

from hybridrag.queries.words import any_of, english

_ENDS = re.compile(r"\w\W*[.。．][\s\"'”’」』)）]*$")
_ABBREVIATED = re.compile(r"(?:\.\w|\b[A-Z][a-z]{0,3})\.$")
"""Words may end with the stop of an abbreviation: "ports of the U.S.", "Acme Inc."."""

_ASKS_ENGLISH = re.compile(
    # "which", "when" and "who" join clauses as well: they ask at the beginning, or behind a preposition.
    r"\b(?:what|why|how|(?:in|of|by|for|at|to|from|on|with) (?:which|whom|whose))\b"
    r"|^\W*(?:who|whom|whose|when|where|which)\b"
    rf"|^\W*{any_of(english('auxiliaries', 'requests') | {'i', 'we'})}\b",
    re.IGNORECASE,
)
_ASKS_JAPANESE = re.compile(
    "[何誰幾]|どこ|どれ|どの|どう|どち|どん|いつ|いくつ|いくら|なぜ|なに|だれ|[かはよ][。．]|[?？]"
    "|ください|下さい|教え|お願い|願います|たい|ほしい|欲しい|困|知り|分から|わから|せよ|なさい"
)


def is_statement(text: str) -> bool:
    """Whether a query states something instead of asking: a sentence with its full stop, and no word that asks.

    "Statins decrease blood cholesterol." -> True; "Tell me about statins." -> False; "statins" -> False
    """
    stripped = text.strip()
    if not _ENDS.search(stripped) or _ABBREVIATED.search(stripped):
        return False
    return not _ASKS_ENGLISH.search(stripped) and not _ASKS_JAPANESE.search(stripped)
