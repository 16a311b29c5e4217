"""The chat protocol: OpenAI's own client against a running server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import openai
import pytest

from hybridrag.apps.http.routes.chat import self_contained
from hybridrag.apps.keys import Scope
from server_home import RunningServer, fill, make_key, plain_settings, serving

DOCUMENTS = {
    "red": {
        "fees.md": "# Fees\n\nThe entrance fee is twelve crowns.",
        "history.md": "Orin Works was founded in 1987 by Ada Brandt in Malmö.",
    },
    "blue": {"secret.md": "The blue password is heron."},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    settings = plain_settings(tmp_path_factory.mktemp("chat") / "index")
    fill(settings, DOCUMENTS)
    make_key(settings, Scope.SEARCH)
    with serving(settings) as running:
        yield running


Client = Callable[..., openai.OpenAI]


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    """A client whose key reaches these workspaces, or all."""
    with ExitStack() as stack:

        def make(*workspaces: str) -> openai.OpenAI:
            key = make_key(server.settings, Scope.SEARCH, workspaces=workspaces or None)
            return stack.enter_context(openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0))

        yield make


def ask(asked: openai.OpenAI, question: str, model: str = "hybridrag") -> str:
    answer = asked.chat.completions.create(model=model, messages=[{"role": "user", "content": question}])
    return answer.choices[0].message.content or ""


def test_an_answer_carries_its_sources(client: Client) -> None:
    answer = ask(client(), "What is the entrance fee?")
    assert "twelve crowns" in answer
    assert "[1] fees.md" in answer


def test_a_stream_says_what_the_answer_says(client: Client) -> None:
    asked = client()
    stream = asked.chat.completions.create(
        model="hybridrag", messages=[{"role": "user", "content": "What is the entrance fee?"}], stream=True
    )
    parts = [part.choices[0] for part in stream]
    assert "".join(part.delta.content or "" for part in parts) == ask(asked, "What is the entrance fee?")
    assert parts[-1].finish_reason == "stop"


def test_every_workspace_of_the_key_is_a_model_and_no_other(client: Client) -> None:
    assert [one.id for one in client().models.list()] == ["hybridrag", "hybridrag/blue", "hybridrag/red"]
    red = client("red")
    assert [one.id for one in red.models.list()] == ["hybridrag", "hybridrag/red"]
    assert "heron" not in ask(red, "What is the blue password?").replace("blue password", "")
    assert "heron" in ask(client(), "What is the blue password?", "hybridrag/blue")
    with pytest.raises(openai.NotFoundError):
        ask(red, "What is the blue password?", "hybridrag/blue")


def test_a_follow_up_is_filled_in_with_what_was_named_before(client: Client) -> None:
    answer = client().chat.completions.create(
        model="hybridrag",
        messages=[
            {"role": "user", "content": "Who founded Orin Works?"},
            {"role": "assistant", "content": "Ada Brandt."},
            {"role": "user", "content": [{"type": "text", "text": "When was it founded?"}]},
        ],
    )
    assert "1987" in (answer.choices[0].message.content or "")


@pytest.mark.parametrize(
    ("questions", "asked"),
    [
        (["Who founded Orin Works?", "When was it founded?"], "When was it founded? (Orin Works)"),
        (["Who founded Orin Works?", "Where was Ada Brandt born?"], "Where was Ada Brandt born?"),
        (["how much is it?"], "how much is it?"),
    ],
)
def test_a_question_that_names_something_stays_as_it_is(questions: list[str], asked: str) -> None:
    assert self_contained(questions) == asked


def test_a_conversation_without_a_question_is_one_sentence(client: Client) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        client().chat.completions.create(model="hybridrag", messages=[{"role": "system", "content": "Be kind."}])
    assert refused.value.response.json()["detail"] == "The conversation holds no question."


def test_the_server_runs_without_the_extra_for_agents() -> None:
    # The chat route took a function from the tools of MCP, so that the server asked for that package too.
    code = "import sys; sys.modules['mcp'] = None; import hybridrag.apps.http.app"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
