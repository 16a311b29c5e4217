"""The `Linker` contract over titles and their aliases."""

from __future__ import annotations

from collections.abc import Iterable

from hybridrag.graph.link import LinkDictionary, among, find_links, may_name, probe_terms, title_aliases
from hybridrag.types.extraction import Link


class TitleLinker:
    """Finds where texts name documents and sections, in English and in Japanese."""

    def aliases(self, title: str) -> list[tuple[str, float]]:
        """What a document or section of that title may be called, best first."""
        return title_aliases(title)

    def find(self, text: str, aliases: Iterable[str]) -> list[Link]:
        """Where the text names them, each alias for itself: another alias changes nothing."""
        several = list(aliases)
        # One alias is looked for in many texts, and many in one text, which is then worth cutting into its pieces.
        worth = [alias for alias in several if may_name(text, alias)] if len(several) == 1 else among(text, several)
        return find_links(text, LinkDictionary(worth)) if worth else []

    def probe_terms(self, text: str) -> set[str]:
        """Terms of a text or an alias: a text can name an alias only if it has all of the alias's terms."""
        return probe_terms(text)
