"""Where correction looks next outside the documents: names that the best passages give."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.models.web_search import load_web_search
from hybridrag.protocols import Question
from hybridrag.queries.question import read_question
from hybridrag.search.follow import Lead, find_leads, is_about, missing_names
from hybridrag.types.results import CorrectiveActionKind, Hit

CHAIN = "Where was the director of the film The Long Tide born?"
FILM = Hit(
    "film", "The Long Tide is a 1954 film directed by Ann Lee Moran. It runs for two hours.", 0.9, "The Long Tide"
)
OTHER = Hit("other", "Bob Stone Carter painted boats.", 0.4, "Boats")


def question(text: str) -> Question:
    return read_question(text)


class TestLeads:
    def test_the_name_that_a_chain_goes_by_way_of_is_looked_for_next(self) -> None:
        assert find_leads(question(CHAIN), [OTHER, FILM], [0.1, 0.8]) == [Lead("Ann Lee Moran", 1)]

    def test_of_several_names_the_one_next_to_what_is_asked_for_comes_first(self) -> None:
        film = Hit(
            "film",
            "The Long Tide, starring Bob Stone Carter, is a film directed by Ann Lee Moran for Cole Dean Hart.",
            0.9,
            "The Long Tide",
        )
        leads = find_leads(question(CHAIN), [film], [0.8])
        assert [lead.name for lead in leads] == ["Ann Lee Moran", "Cole Dean Hart", "Bob Stone Carter"]

    def test_two_passages_lead_on_in_turn(self) -> None:
        compared = question("Which film has the director who is older, The Long Tide or Red Kite Rising?")
        kite = Hit("kite", "Red Kite Rising is a film directed by Eve Fox Gray.", 0.9, "Red Kite Rising")
        leads = find_leads(compared, [FILM, kite], [0.8, 0.7])
        assert [lead.name for lead in leads][:2] == ["Ann Lee Moran", "Eve Fox Gray"]

    def test_a_side_that_is_missing_is_looked_for_first(self) -> None:
        compared = question("Which film has the director who is older, The Long Tide or Red Kite Rising?")
        leads = find_leads(compared, [FILM], [0.8])
        assert leads == [Lead("Red Kite Rising", 0), Lead("Ann Lee Moran", 0)]
        assert find_leads(compared, [], []) == []

    def test_japanese_names_are_found_whole(self) -> None:
        film = Hit("film", "映画『長い潮』は佐藤健一監督の作品である。", 0.9, "長い潮")
        leads = find_leads(question("映画『長い潮』の監督の出身地はどこですか"), [film], [0.8])
        assert [lead.name for lead in leads] == ["佐藤健一"]

    def test_a_passage_that_does_not_bear_on_the_question_leads_nowhere(self) -> None:
        assert find_leads(question(CHAIN), [FILM], [0.2]) == []

    def test_what_a_candidate_is_about_already_is_no_news(self) -> None:
        person = Hit("person", "She was born in Norrhamn.", 0.5, "Ann Lee Moran (director)")
        assert find_leads(question(CHAIN), [FILM, person], [0.8, 0.2]) == []

    def test_a_question_for_a_fact_goes_by_way_of_nothing(self) -> None:
        assert find_leads(question("When was The Long Tide released?"), [FILM], [0.9]) == []
        assert find_leads(Question(CHAIN), [FILM], [0.9]) == []

    def test_a_side_that_no_candidate_is_about_is_missing(self) -> None:
        compared = question("Which film came out first, The Long Tide or Red Kite Rising?")
        assert missing_names(compared, [FILM]) == ["Red Kite Rising"]
        assert missing_names(question("When was The Long Tide released?"), [FILM]) == []

    def test_a_page_is_about_the_name_in_its_title(self) -> None:
        assert is_about("Ann Lee Moran (director)", "ann lee moran")
        assert is_about("Ann Lee Moran", "Queen Ann Lee Moran")
        assert not is_about("Moran", "Ann Lee Moran")
        assert not is_about("", "Ann Lee Moran")


PAGES = {
    "The Long Tide": "The Long Tide is a 1954 film directed by Ann Lee Moran.",
    "Ann Lee Moran": "Ann Lee Moran was born in Norrhamn, where her father kept the light.",
}


@contextmanager
def web_of_pages() -> Iterator[tuple[str, list[str]]]:
    """A SearXNG that finds a page by its title alone; and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            words = parse_qs(urlsplit(self.path).query)["q"][0]
            asked.append(words)
            found = [
                {"url": f"https://example.org/{at}", "title": title, "content": text}
                for at, (title, text) in enumerate(PAGES.items())
                if title in words
            ]
            data = json.dumps({"results": found}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the standard library)
            """Keep the output of tests clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_what_a_page_names_is_looked_for_in_turn(tmp_path: Path) -> None:
    settings = load_settings(env={}, overrides={"graph.extractor": "light", "documents.isolate": False}).settings
    with web_of_pages() as (url, asked):
        web = load_web_search("searxng", base_url=url)
        with Engine.open(tmp_path / "i", settings=settings, embedder=HashEmbedder(), web=web) as engine:
            engine.add(text="Gulls and terns nest on the outer skerries in spring.", name="birds.txt")
            result = engine.search(CHAIN, crag_enabled=True, explain=True)
    assert "Ann Lee Moran" in asked
    found = [item.metadata.get("title") if item.metadata else None for item in result.results]
    assert found[:2] == ["The Long Tide", "Ann Lee Moran"]
    scores = [item.score for item in result.results]
    assert scores == sorted(scores, reverse=True)
    assert result.crag is not None
    assert [action.kind for action in result.crag.actions if action.helped] == [CorrectiveActionKind.WEB_SEARCH]
