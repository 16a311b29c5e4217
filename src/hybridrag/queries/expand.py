"""Say the same question in other words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

MAX_EXPANSIONS = 16
"""Each expansion is searched: a long synonym list must not multiply the cost without end."""

_KATAKANA = r"[ァ-ヺー-ヿㇰ-ㇿｦ-ﾟ]"
# Chinese characters and hiragana run on without a boundary between words; katakana words end where katakana ends.
_UNSPACED = r"[ぁ-ヿㇰ-ㇿｦ-ﾟ々〆㐀-䶿一-鿿豈-﫿\U00020000-\U0003FFFF]"
_LETTER = rf"(?:(?!{_UNSPACED})\w)"
_COMBINING = r"[\u0300-\u036f\u3099\u309a]"


def expand_query(query: str, synonyms: Mapping[str, Sequence[str]], *, limit: int = MAX_EXPANSIONS) -> tuple[str, ...]:
    """The question first, then once per known synonym with that word replaced, without repeats; at most `limit`.

    ("car price", {"car": ["automobile"]}) -> ("car price", "automobile price")

    Words match without regard to case. A word of letters or of katakana matches only as a whole word; other
    Japanese has no boundary between words, so it matches anywhere.
    """
    folded = query.casefold()
    expansions = {query: None}
    for word, alternatives in synonyms.items():
        # A graph knows thousands of aliases, and nearly all of them are not in the question.
        if not word.strip() or word.strip().casefold() not in folded:
            continue
        pattern = _whole_word(word.strip())
        for alternative in alternatives:
            # A replacement string would interpret backslashes.
            expanded = pattern.sub(alternative.replace("\\", r"\\"), query)
            if expanded.strip():
                expansions[expanded] = None
    return tuple(expansions)[: max(1, limit)]


def _whole_word(word: str) -> re.Pattern[str]:
    before = f"(?<!{run})" if (run := _run_of(word[0])) else ""
    after = f"(?!{run})" if (run := _run_of(word[-1])) else ""
    return re.compile(f"{before}{re.escape(word)}{after}(?!{_COMBINING})", re.IGNORECASE)


def _run_of(character: str) -> str | None:
    """What must not stand beside that edge of a whole word: more of the same writing."""
    if re.match(_KATAKANA, character):
        return _KATAKANA
    return _LETTER if re.match(_LETTER, character) else None
