"""Yes or no: said where the documents say it, and only where it is asked."""

from __future__ import annotations

import pytest

from hybridrag.answers.yes_no import say_yes_no
from hybridrag.queries.yes_no import asks_yes_no


@pytest.mark.parametrize(
    "question", ["May I park here?", "is the fee refunded", "犬は泊まれますか", "今年の家賃は上がる？"]
)
def test_yes_or_no_is_asked(question: str) -> None:
    assert asks_yes_no(question)


@pytest.mark.parametrize(
    "question",
    [
        "Is it red or blue?",
        "Can you tell me what it costs?",
        "May 2025 minutes of the board",
        "何時に開きますか",
        "家賃の改定",
    ],
)
def test_something_else_is_asked(question: str) -> None:
    assert not asks_yes_no(question)


@pytest.mark.parametrize(
    ("question", "sentence", "said"),
    [
        ("May fragments be sold?", "Fragments may not be sold", "no"),
        ("May I park here?", "Yes, behind the house", "yes"),
        ("印鑑は要りますか", "印鑑は不要です", "no"),
        ("車で行ってもよいですか", "車でもかまいません", None),
        ("Can they deliver in 5 weeks?", "Five weeks is for fence boards", None),
        ("Isn't it closed on Mondays?", "It is not closed on Mondays", None),
        # "No" was said to this, as no key is needed.
        ("Can I use it without a key?", "No key is needed", None),
        ("鍵なしで使えますか", "鍵は不要です", None),
        ("Does the price hold?", "It holds (not the one of July)", None),
    ],
)
def test_only_what_is_said_is_claimed(question: str, sentence: str, said: str | None) -> None:
    assert say_yes_no(question, sentence) == said
