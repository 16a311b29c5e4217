"""Web searches: SearXNG, Brave, Tavily. What leaves this machine is the question; what comes back is checked.

Taken are a page's title, address and snippet. The pages themselves are not fetched: whoever writes a page would then
choose what this machine connects to, and the snippets of these services hold what was searched for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from hybridrag.errors import InvalidSettings, RAGError
from hybridrag.language.detect import detect
from hybridrag.models.remote_service import BEARER, RemoteService
from hybridrag.models.web_address import Refusal, public_host
from hybridrag.models.web_text import clean_web_text
from hybridrag.protocols import WebSearch
from hybridrag.result import Err, Ok, Result
from hybridrag.types.sources import WebPage

MAX_QUERY_CHARS = 400
MAX_QUERY_WORDS = 50
"""The limits of Brave; Tavily's is 400 characters."""
MAX_TITLE_CHARS = 300
MAX_TEXT_CHARS = 4000
MOST_RESULTS = 20
"""What Brave and Tavily give at most."""
SPARE_RESULTS = 5
"""Asked for in addition, in place of those that are left out."""
FORBIDDEN = 403


@dataclass(frozen=True)
class WebPages(Sequence[WebPage]):
    """The pages of a search, best first, and how many were left out, by reason.

    WebPages((page,), {Refusal.PRIVATE_NAME: 1})[0] -> page
    """

    pages: tuple[WebPage, ...] = ()
    dropped: Mapping[Refusal, int] = field(default_factory=dict)

    @overload
    def __getitem__(self, place: int) -> WebPage: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[WebPage, ...]: ...

    def __getitem__(self, place: int | slice) -> WebPage | tuple[WebPage, ...]:
        return self.pages[place]

    def __len__(self) -> int:
        return len(self.pages)


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of a service."""

    name: str
    path: str
    asked: Callable[[str, int], dict[str, Any]]
    """What is sent, from the question and the number of results."""
    results: tuple[str, ...]
    """Where the list of results stands in the answer."""
    texts: tuple[str, ...]
    """Where the text stands in a result; several are joined."""
    base_url: str | None = None
    """None: the user's own."""
    by_post: bool = False
    key_header: str = BEARER


def _searxng(query: str, _count: int) -> dict[str, Any]:
    # SearXNG takes `!name`, `:ja` and `<5` at the start of a word for commands, and `!!name` sends one elsewhere.
    words = [word.lstrip("!:<") for word in query.split()]
    asked = {"q": " ".join(word for word in words if word), "format": "json"}
    return {**asked, "language": "ja"} if detect(query) == "ja" else asked


def _brave(query: str, count: int) -> dict[str, Any]:
    asked = {"q": query, "count": count, "text_decorations": "false", "result_filter": "web"}
    # Without a country Brave searches as from the United States, where little Japanese is found.
    return {**asked, "country": "JP"} if detect(query) == "ja" else asked


def _tavily(query: str, count: int) -> dict[str, Any]:
    asked = {"query": query, "max_results": count, "search_depth": "basic"}
    return {**asked, "include_answer": False, "include_raw_content": False, "include_images": False}


PROVIDERS = {
    it.name: it
    for it in (
        Provider("searxng", "/search", _searxng, ("results",), ("content",)),
        Provider(
            "brave",
            "/res/v1/web/search",
            _brave,
            ("web", "results"),
            ("description", "extra_snippets"),
            base_url="https://api.search.brave.com",
            key_header="X-Subscription-Token",
        ),
        Provider(
            "tavily", "/search", _tavily, ("results",), ("content",), base_url="https://api.tavily.com", by_post=True
        ),
    )
}


class RemoteWebSearch:
    """A web search behind a service; a call raises nothing, as `hybridrag.protocols.WebSearch` promises.

    RemoteWebSearch(PROVIDERS["searxng"], base_url="http://localhost:8888").search("tea", limit=3) -> Ok(WebPages(...))

    The service itself may be on this machine; its pages may not, by the look of their addresses. Nothing is fetched
    from them, so their names are not looked up either.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_seconds: float = 5.0,
        max_retries: int = 1,
    ) -> None:
        self._provider = provider
        self._timeout_seconds = timeout_seconds
        self._service = RemoteService(
            (base_url or provider.base_url or "").rstrip("/").removesuffix(provider.path),
            api_key=api_key,
            key_setting="web.api_key",
            key_header=provider.key_header,
            timeout_seconds=timeout_seconds,
            max_retries=max_retries,
        )

    def __repr__(self) -> str:
        return f"RemoteWebSearch({self.name!r}, {self._service.name!r})"

    @property
    def name(self) -> str:
        """The provider, as the settings spell it."""
        return self._provider.name

    def search(self, query: str, *, limit: int, timeout: float | None = None) -> Result[WebPages]:
        """The best pages that are on the public web, best first, or one sentence that says why there are none."""
        words = search_words(query)
        if not words or limit < 1:
            return Ok(WebPages())
        try:
            found = self._ask(words, limit, self._timeout_seconds if timeout is None else timeout)
            return Ok(_on_the_web(found, limit))
        except RAGError as error:
            return Err(error)

    def close(self) -> None:
        """Drop open connections; a later call opens them again."""
        self._service.close()

    def _ask(self, words: str, limit: int, seconds: float) -> list[WebPage]:
        provider = self._provider
        asked = provider.asked(words, min(MOST_RESULTS, limit + SPARE_RESULTS))
        ask = self._service.post if provider.by_post else self._service.get
        try:
            answer = ask(provider.path, asked, within=seconds)
        except RAGError as error:
            if provider.name == "searxng" and getattr(error, "status", None) == FORBIDDEN:
                reason = "it refused (HTTP 403)"
                hint = "Add `json` to `search.formats` in its settings.yml, and let this machine pass its limiter."
                raise self._service.error(reason, status=FORBIDDEN, hint=hint) from error
            raise
        items = self._items(answer)
        return [_page(item, provider.texts) for item in items[: MOST_RESULTS + SPARE_RESULTS]]

    def _items(self, answer: Any) -> list[dict[str, Any]]:
        """The list of results."""
        items = answer
        for key in self._provider.results:
            items = items.get(key) if isinstance(items, dict) else None
        if items is None and isinstance(answer, dict) and answer.get("type") == "search":
            return []  # Brave leaves out `web` where it found nothing
        if not isinstance(items, list):
            raise self._service.error("its answer holds no list of results", status=200, hint="Check `web.base_url`.")
        return [item for item in items if isinstance(item, dict)]


def load_web_search(
    provider: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_seconds: float = 5.0,
    max_retries: int = 1,
) -> WebSearch | None:
    """The web search that the settings name, None for `none`; nothing is asked before it is used.

    load_web_search("searxng", base_url="http://localhost:8888") -> SearXNG on this machine

    Raises:
        InvalidSettings: not the name of a service, no key where one is needed, or no address.
    """
    if provider == "none":
        return None
    known = PROVIDERS.get(provider)
    if known is None:
        names = ", ".join(("none", *PROVIDERS))
        raise InvalidSettings(
            where="settings", key="web.provider", expected=f"must be one of {names}, found {provider!r}"
        )
    if known.base_url is None and not base_url:
        raise InvalidSettings(
            where="settings",
            key="web.base_url",
            expected=f"is needed for `{provider}`",
            hint="Set it to the address of the service, such as http://localhost:8888.",
        )
    if not base_url and not (api_key or "").strip():
        raise InvalidSettings(
            where="settings",
            key="web.api_key",
            expected=f"is needed for `{provider}`",
            hint="Set HYBRIDRAG_WEB_API_KEY.",
        )
    return RemoteWebSearch(
        known,
        base_url=base_url,
        api_key=api_key,
        timeout_seconds=timeout_seconds,
        max_retries=max_retries,
    )


def search_words(query: str) -> str:
    r"""A question as search services take it: one line, at most 400 characters and 50 words, whole words.

    "  Who\n founded  Acme? " -> "Who founded Acme?"
    """
    plain = re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", " ", query)
    words = " ".join(plain.split()[:MAX_QUERY_WORDS])
    if len(words) <= MAX_QUERY_CHARS:
        return words
    cut = words[: MAX_QUERY_CHARS + 1]
    # Japanese has no blanks to cut at.
    return cut.rsplit(" ", 1)[0] if " " in cut else cut[:MAX_QUERY_CHARS]


def _on_the_web(found: Sequence[WebPage], limit: int) -> WebPages:
    """Those on the public web, each address once."""
    by_url: dict[str, WebPage] = {}
    for page in found:
        by_url.setdefault(page.url, page)
    dropped: Counter[Refusal] = Counter()
    kept = []
    for page in by_url.values():
        host = public_host(page.url)
        if isinstance(host, Refusal):
            dropped[host] += 1
        elif page.title or page.text:
            kept.append(page)
    return WebPages(tuple(kept[:limit]), dict(dropped))


def _page(item: Mapping[str, Any], texts: Sequence[str]) -> WebPage:
    said = [part for key in texts for part in _strings(item.get(key))]
    return WebPage(
        url=_first(item.get("url")).strip(),
        title=clean_web_text(_first(item.get("title")), MAX_TITLE_CHARS),
        text=clean_web_text("\n".join(said), MAX_TEXT_CHARS),
    )


def _strings(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [it for it in values if isinstance(it, str)]


def _first(value: Any) -> str:
    return value if isinstance(value, str) else ""
