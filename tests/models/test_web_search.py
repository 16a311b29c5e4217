"""Web searches against real servers on this machine: each protocol, what goes wrong, and which pages are left out."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybridrag.errors import InvalidSettings, RAGError
from hybridrag.models.web_address import Refusal, public_host
from hybridrag.models.web_search import MAX_TEXT_CHARS, RemoteWebSearch, WebPages, load_web_search, search_words
from hybridrag.models.web_text import clean_web_text
from hybridrag.protocols import WebSearch
from hybridrag.result import Err, Ok
from hybridrag.testing.promises import check_web_search
from hybridrag.testing.services import (
    Fault,
    Hang,
    HangUp,
    Says,
    Service,
    Status,
    Trickle,
    WebProtocol,
    serve_web_search,
)
from hybridrag.types.sources import WebPage

KEY = "secret-key-0123456789"
PAGES = [
    WebPage("https://example.com/tea", "Green tea", "Green tea is made from leaves."),
    WebPage("https://example.org/お茶", "お茶", "緑茶は葉から作られる。"),
    WebPage("http://www.example.net/black?x=1#top", "Black tea", "Black tea is oxidised."),
]
PROTOCOLS: tuple[WebProtocol, ...] = ("searxng", "brave", "tavily")
EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)


@contextmanager
def searching(
    protocol: WebProtocol,
    *script: Fault,
    pages: Sequence[WebPage] = tuple(PAGES),
    timeout_seconds: float = 5.0,
) -> Iterator[tuple[RemoteWebSearch, Service]]:
    """A web search and the service that it asks."""
    with serve_web_search(protocol, pages, script=script, key=KEY) as service:
        web = load_web_search(protocol, base_url=service.url, api_key=KEY, timeout_seconds=timeout_seconds)
        assert isinstance(web, RemoteWebSearch)
        try:
            yield web, service
        finally:
            web.close()


def failure(web: WebSearch, *, timeout: float | None = None) -> RAGError:
    result = web.search("green tea", limit=5, timeout=timeout)
    assert isinstance(result, Err), result
    assert KEY not in repr(result) + str(result.error) + repr(vars(result.error))
    assert "\n" not in str(result.error)
    return result.error


@EVERY_PROTOCOL
def test_each_service_finds_pages_best_first(protocol: WebProtocol) -> None:
    with searching(protocol) as (web, _):
        result = web.search("green tea", limit=2)
        assert isinstance(result, Ok)
        assert list(result.value) == PAGES[:2]
        assert result.value[:1] == (PAGES[0],)
        assert result.value.dropped == {}


@EVERY_PROTOCOL
def test_each_service_keeps_the_contract(protocol: WebProtocol) -> None:
    with searching(protocol) as (web, _):
        check_web_search(web)


def test_searxng_is_asked_as_it_documents() -> None:
    with searching("searxng") as (web, service):
        web.search("green tea", limit=3)
        web.search("緑茶の効能", limit=3)
        assert (service.asked[0].method, service.asked[0].path) == ("GET", "/search")
        assert service.asked[0].params == {"q": "green tea", "format": "json"}
        assert service.asked[1].params == {"q": "緑茶の効能", "format": "json", "language": "ja"}


def test_what_searxng_takes_for_commands_is_searched_as_words() -> None:
    with searching("searxng") as (web, service):
        web.search("!!g what does !important mean in :root <5 ! ?", limit=3)
        assert service.asked[0].params["q"] == "g what does important mean in root 5 ?"


def test_brave_is_asked_as_it_documents() -> None:
    with searching("brave") as (web, service):
        web.search("green tea", limit=3)
        web.search("緑茶の効能", limit=20)
        first, second = service.asked
        assert (first.method, first.path) == ("GET", "/res/v1/web/search")
        assert first.params == {"q": "green tea", "count": "8", "text_decorations": "false", "result_filter": "web"}
        assert second.params["country"] == "JP"
        assert second.params["count"] == "20"
        assert first.headers["x-subscription-token"] == KEY
        assert "authorization" not in first.headers


def test_tavily_is_asked_as_it_documents() -> None:
    with searching("tavily") as (web, service):
        web.search("green tea", limit=3)
        asked = service.asked[0]
        assert (asked.method, asked.path) == ("POST", "/search")
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert asked.body["query"] == "green tea"
        assert asked.body["max_results"] == 8
        assert asked.body["include_raw_content"] is False


@EVERY_PROTOCOL
def test_nothing_found_is_an_answer(protocol: WebProtocol) -> None:
    with searching(protocol, pages=()) as (web, _):
        result = web.search("green tea", limit=3)
        assert isinstance(result, Ok)
        assert list(result.value) == []


@pytest.mark.parametrize(("query", "limit"), [("", 3), (" \n ", 3), ("\x00", 3), ("tea", 0), ("tea", -1)])
def test_nothing_to_search_for_is_answered_without_asking(query: str, limit: int) -> None:
    with searching("searxng") as (web, service):
        assert web.search(query, limit=limit) == Ok(WebPages())
        assert service.asked == []


def test_a_long_question_is_cut_to_what_services_take() -> None:
    assert search_words("word " * 80) == " ".join(["word"] * 50)
    assert search_words("internationalisation " * 40) == " ".join(["internationalisation"] * 19)
    assert search_words("長" * 1000) == "長" * 400
    assert search_words(" Who\n founded\ud83d \x00Acme? ") == "Who founded Acme?"


def test_the_same_page_twice_comes_once_at_its_better_place() -> None:
    again = WebPage(PAGES[0].url, "Later", "Later.")
    with searching("searxng", pages=[PAGES[0], PAGES[1], again]) as (web, _):
        assert list(web.search("tea", limit=5).unwrap()) == PAGES[:2]


def test_the_snippets_that_brave_adds_are_joined() -> None:
    found = {"url": PAGES[0].url, "title": "Tea", "description": "One.", "extra_snippets": ["Two.", 3, "Four."]}
    with searching("brave", Says({"type": "search", "web": {"results": [found]}})) as (web, _):
        assert web.search("tea", limit=5).unwrap()[0].text == "One. Two. Four."


# ---------------------------------------------------------------- what is left out


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        ("", Refusal.MALFORMED),
        ("example.com", Refusal.NOT_WEB),
        ("ftp://example.com/", Refusal.NOT_WEB),
        ("file:///etc/passwd", Refusal.NOT_WEB),
        ("javascript:alert(1)", Refusal.NOT_WEB),
        ("data:text/html,x", Refusal.NOT_WEB),
        ("//example.com/", Refusal.NOT_WEB),
        ("http:///path", Refusal.MALFORMED),
        ("http://", Refusal.MALFORMED),
        ("http://exa mple.com/", Refusal.MALFORMED),
        ("http://example.com\\@127.0.0.1/", Refusal.MALFORMED),
        ("http://example.com/\n", Refusal.MALFORMED),
        ("http://example.com/\u202egpj.exe", Refusal.MALFORMED),
        ('http://example.com/"><script>', Refusal.MALFORMED),
        ("http://example.com:port/", Refusal.MALFORMED),
        ("http://example.com:99999/", Refusal.MALFORMED),
        ("http://[bad/", Refusal.MALFORMED),
        ("http://a..com/", Refusal.MALFORMED),
        ("http://-a.com/", Refusal.MALFORMED),
        ("http://%6cocalhost/", Refusal.PRIVATE_NAME),
        ("http://%6c.example.com/", Refusal.MALFORMED),
        (f"http://{'a' * 64}.com/", Refusal.MALFORMED),
        (f"http://{'a.' * 130}com/", Refusal.MALFORMED),
        (f"http://example.com/{'a' * 3000}", Refusal.MALFORMED),
        ("http://user:secret@example.com/", Refusal.CREDENTIALS),
        ("http://user@example.com/", Refusal.CREDENTIALS),
        ("http://@example.com/", Refusal.CREDENTIALS),
        ("http://127.0.0.1/", Refusal.NUMBER),
        ("http://127.0.0.1.:80/", Refusal.NUMBER),
        ("http://2130706433/", Refusal.NUMBER),
        ("http://0x7f000001/", Refusal.NUMBER),
        ("http://0x7f.1/", Refusal.NUMBER),
        ("http://0X7F.0.0.1/", Refusal.NUMBER),
        ("http://0177.0.0.1/", Refusal.NUMBER),
        ("http://127.1/", Refusal.NUMBER),
        ("http://0/", Refusal.NUMBER),
        ("http://１２７.０.０.１/", Refusal.NUMBER),
        ("http://127。0。0。1/", Refusal.NUMBER),
        ("http://①②⑦.0.0.1/", Refusal.NUMBER),
        ("http://169.254.169.254/latest/meta-data/", Refusal.NUMBER),
        ("http://8.8.8.8/", Refusal.NUMBER),
        ("http://[::1]/", Refusal.NUMBER),
        ("http://[::ffff:127.0.0.1]/", Refusal.NUMBER),
        ("http://[fe80::1%25eth0]/", Refusal.NUMBER),
        ("http://localhost/", Refusal.PRIVATE_NAME),
        ("http://LOCALHOST:8080/", Refusal.PRIVATE_NAME),
        ("http://localhost./", Refusal.PRIVATE_NAME),
        ("http://ｌｏｃａｌｈｏｓｔ/", Refusal.PRIVATE_NAME),
        ("http://a.localhost/", Refusal.PRIVATE_NAME),
        ("http://printer.local/", Refusal.PRIVATE_NAME),
        ("http://metadata.google.internal/", Refusal.PRIVATE_NAME),
        ("http://nas.home.arpa/", Refusal.PRIVATE_NAME),
        ("http://router/", Refusal.PRIVATE_NAME),
    ],
)
def test_an_address_that_is_not_on_the_public_web_is_refused_by_its_looks(url: str, refusal: Refusal) -> None:
    assert public_host(url) is refusal


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com", "example.com"),
        ("HTTP://Example.COM.:8080/a?b=c#d", "example.com"),
        ("https://例え.jp/お茶", "xn--r8jz45g.jp"),
        ("https://a_b.example.co.jp/", "a_b.example.co.jp"),
        ("https://0x.example.com/", "0x.example.com"),
        ("https://localhost.example.com/", "localhost.example.com"),
        ("https://example.xn--p1ai/", "example.xn--p1ai"),
        ("https://example.com/user@host", "example.com"),
    ],
)
def test_an_address_on_the_public_web_is_known_by_its_name(url: str, host: str) -> None:
    assert public_host(url) == host


@given(st.text(max_size=40))
@example("[")
@example("http://\u2100/")
def test_no_text_breaks_the_check_of_addresses(text: str) -> None:
    for url in (text, f"http://{text}", f"https://{text}.com/", f"http://example.com/{text}"):
        found = public_host(url)
        assert isinstance(found, Refusal) or "." in found


@given(st.integers(0, 2**32 - 1))
def test_no_number_is_a_name_in_any_spelling(number: int) -> None:
    parts = [number >> shift & 255 for shift in (24, 16, 8, 0)]
    spellings = [
        str(number),
        hex(number),
        f"0{number:o}",
        ".".join(str(part) for part in parts),
        ".".join(hex(part) for part in parts),
        ".".join(f"0{part:o}" for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
        f"[::ffff:{'.'.join(str(part) for part in parts)}]",
    ]
    assert {public_host(f"http://{it}/") for it in spellings} == {Refusal.NUMBER}


def test_pages_that_lead_into_this_network_are_left_out_and_counted() -> None:
    urls = [
        "http://192.168.0.1/admin",
        "file:///etc/passwd",
        "http://root:toor@example.com/",
        "https://example.com/good",
        "http://printer.local/",
    ]
    with searching("searxng", pages=[WebPage(url, "T", "t") for url in urls]) as (web, _):
        result = web.search("tea", limit=5)
        assert isinstance(result, Ok)
        assert [page.url for page in result.value] == ["https://example.com/good"]
        assert result.value.dropped == {
            Refusal.NUMBER: 1,
            Refusal.NOT_WEB: 1,
            Refusal.CREDENTIALS: 1,
            Refusal.PRIVATE_NAME: 1,
        }


def test_a_page_stays_whose_name_this_machine_cannot_look_up() -> None:
    # Pages were dropped where the machine had no name service of the internet, though nothing is fetched from them.
    pages = [WebPage("https://no-such-host.invalid.example.invalid.com/", "T", "t")]
    with searching("searxng", pages=pages) as (web, _):
        result = web.search("tea", limit=5)
        assert isinstance(result, Ok)
        assert [page.url for page in result.value] == [pages[0].url]


def test_no_page_itself_is_fetched() -> None:
    # The one page is on the server itself; anything but the search would show up there.
    with searching("searxng") as (web, service):
        web.search("tea", limit=5)
        assert [it.path for it in service.asked] == ["/search"]


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain", "plain"),
        ("  two \n lines\t ", "two lines"),
        ("Caf&eacute; <strong>au</strong> lait", "Café au lait"),
        ("<b>東京</b>の<em class='x'>お茶</em>", "東京のお茶"),
        ("one<br>two<p>three</p>", "one two three"),
        ("a<script>alert(1)</script>b<style>p{}</style>c", "a b c"),
        ("a &lt;script&gt;alert(1)&lt;/script&gt; b", "a b"),
        ("&amp;lt;img src=x onerror=alert(1)&amp;gt; x", "x"),
        ("x <img src=x onerror=alert(1)", "x img src=x onerror=alert(1)"),
        ("<<a", "a"),
        ("&amp;amp;amp;amp;lt;b&#x202e;", "lt;b"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("R&D & more", "R&D & more"),
        ("a\x00b\x1b[31m\u202ec\ufeff", "ab[31mc"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("👨‍👩‍👧 family", "👨‍👩‍👧 family"),
        ("<!-- hidden -->shown", "shown"),
    ],
)
def test_text_is_cleaned(raw: str, clean: str) -> None:
    assert clean_web_text(raw, 100) == clean


def test_text_is_bounded() -> None:
    assert clean_web_text("word " * 100, 10) == "word word…"
    long = [WebPage(PAGES[0].url, "t" * 5000, "x " * 50_000)]
    with searching("tavily", pages=long) as (web, _):
        page = web.search("tea", limit=1).unwrap()[0]
        assert len(page.title) == 300
        assert len(page.text) <= MAX_TEXT_CHARS


@settings(max_examples=300)
@given(st.text(alphabet=st.sampled_from("<>/&;!-[]?ltgamp script=\"'x\x00\u202e"), max_size=80), st.integers(1, 60))
def test_no_tag_and_no_control_survives(raw: str, limit: int) -> None:
    clean = clean_web_text(raw, limit)
    assert len(clean) <= limit
    assert not {"\x00", "\u202e"} & set(clean)
    assert not any(first == "<" and second.isalpha() for first, second in pairwise(clean))


# ---------------------------------------------------------------- what goes wrong


@EVERY_PROTOCOL
def test_a_service_that_is_busy_once_is_asked_again(protocol: WebProtocol) -> None:
    with searching(protocol, Status(429, retry_after=0), None) as (web, service):
        assert isinstance(web.search("tea", limit=3), Ok)
        assert len(service.asked) == 2


@EVERY_PROTOCOL
def test_a_broken_connection_is_tried_again(protocol: WebProtocol) -> None:
    with searching(protocol, HangUp(), None) as (web, _):
        assert isinstance(web.search("tea", limit=3), Ok)


@EVERY_PROTOCOL
def test_a_service_that_fails_again_and_again_is_an_error(protocol: WebProtocol) -> None:
    with searching(protocol, Status(500)) as (web, service):
        assert "HTTP 500: scripted, after 2 tries" in str(failure(web))
        assert len(service.asked) == 2


@pytest.mark.parametrize("protocol", ["brave", "tavily"])
def test_a_refused_key_names_the_setting_and_never_the_key(protocol: WebProtocol) -> None:
    with serve_web_search(protocol, PAGES, key="another") as service:
        web = load_web_search(protocol, base_url=service.url, api_key=f" {KEY} ")
        assert isinstance(web, RemoteWebSearch)
        error = failure(web)
        assert "it refused the key" in str(error)
        assert "*** is not a valid key" in str(error)
        assert "Check `web.api_key`." in str(error)
        assert KEY not in repr(web)
        web.close()


def test_a_searxng_that_gives_no_json_says_what_to_set() -> None:
    with searching("searxng", Status(403)) as (web, _):
        assert "Add `json` to `search.formats` in its settings.yml" in str(failure(web))


@EVERY_PROTOCOL
@pytest.mark.parametrize(
    "fault", [Hang(5), Trickle(), Trickle(headers=True)], ids=["hangs", "trickles", "trickles headers"]
)
def test_a_service_that_does_not_finish_is_given_up_in_time(protocol: WebProtocol, fault: Fault) -> None:
    with searching(protocol, fault, timeout_seconds=600) as (web, _):
        error = failure(web, timeout=0.3)
        assert "no answer within" in str(error) or "too slowly" in str(error)


def test_nobody_who_answers_is_said_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    web = load_web_search("searxng", base_url=f"http://127.0.0.1:{port}")
    assert web is not None
    assert "nothing answers there" in str(failure(web))


@EVERY_PROTOCOL
def test_a_redirect_is_not_followed(protocol: WebProtocol) -> None:
    with searching(protocol, Status(302)) as (web, service):
        assert "HTTP 302" in str(failure(web))
        assert len(service.asked) == 1


@EVERY_PROTOCOL
def test_an_answer_of_another_shape_is_an_error(protocol: WebProtocol) -> None:
    wrong: list[tuple[object, str]] = [
        (b"<html>Log in</html>", "its answer is not JSON"),
        (b"", "its answer is not JSON"),
        ([], "its answer holds no list of results"),
        ("fine", "its answer holds no list of results"),
        ({}, "its answer holds no list of results"),
        ({"results": {"a": 1}, "web": {"results": "none"}}, "its answer holds no list of results"),
        (b"[" + b" " * (9 << 20) + b"]", "it answered with more than"),
    ]
    with searching(protocol, *(Says(content) for content, _ in wrong)) as (web, _):
        for content, reason in wrong:
            assert reason in str(failure(web)), str(content)[:50]


@EVERY_PROTOCOL
def test_results_that_are_none_are_left_out(protocol: WebProtocol) -> None:
    good = {"url": PAGES[0].url, "title": "Tea", "content": "Tea.", "description": "Tea."}
    odd: list[object] = [None, 5, "text", [], {}, {"url": 7}, {"url": "https://example.com/empty"}, good]
    odd += [{"url": ["https://example.com/"], "title": {}, "content": 3}]
    with searching(protocol, Says({"results": odd, "web": {"results": odd}})) as (web, _):
        assert [page.url for page in web.search("tea", limit=9).unwrap()] == [PAGES[0].url]


# ---------------------------------------------------------------- settings


def test_none_means_no_web_search() -> None:
    assert load_web_search("none") is None


@pytest.mark.parametrize("provider", ["brave", "tavily"])
def test_a_service_of_others_needs_a_key(provider: str) -> None:
    with pytest.raises(
        InvalidSettings, match=rf"`web\.api_key` is needed for `{provider}`\. Set HYBRIDRAG_WEB_API_KEY"
    ):
        load_web_search(provider, api_key=" ")


def test_searxng_needs_an_address() -> None:
    with pytest.raises(InvalidSettings, match=r"`web\.base_url` is needed for `searxng`\. Set it to"):
        load_web_search("searxng")


def test_an_unknown_service_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"must be one of none, searxng, brave, tavily, found 'bing'"):
        load_web_search("bing")


def test_a_web_search_says_who_it_is() -> None:
    web = load_web_search("brave", api_key=KEY)
    assert web is not None
    assert web.name == "brave"
    assert repr(web) == "RemoteWebSearch('brave', 'api.search.brave.com')"
