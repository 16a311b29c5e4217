"""From settings to an embedder: which provider, which model, and what to say when it cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hybridrag.errors import InvalidSettings, ModelUnavailable
from hybridrag.models.e5_prepare import PreparedModel, find_prepared_model, prepare_default_model
from hybridrag.models.e5_weights import MODEL as UNTAUGHT
from hybridrag.models.e5_weights import find_package_weights
from hybridrag.models.progress import Progress
from hybridrag.protocols import Embedder

Provider = Literal["auto", "package", "huggingface", "sentence-transformers", "openai", "fake"]

DEFAULT_MODEL = "hybridrag-e5-small"
PACKAGED = (DEFAULT_MODEL, UNTAUGHT)
HUB_NAMES = dict.fromkeys(PACKAGED, f"intfloat/{UNTAUGHT}")
"""Where a model that a package carries is found on Hugging Face; the taught layers are in no other place, so that where
the word vectors are not installed the untaught model is taken."""

__all__ = ["DEFAULT_MODEL", "UNTAUGHT", "PreparedModel", "Provider", "load_embedder", "prepare_default_model"]


def load_embedder(
    *,
    model: str = DEFAULT_MODEL,
    provider: Provider = "auto",
    cache_dir: Path,
    threads: int = 0,
    base_url: str | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    batch_size: int = 32,
    timeout_seconds: float = 30.0,
    max_retries: int = 3,
    requests_per_minute: int = 0,
    on_progress: Progress | None = None,
) -> Embedder:
    """The embedder that the settings name; nothing is read, downloaded or asked before it is used.

    load_embedder(cache_dir=folder) -> hybridrag-e5-small, else multilingual-e5-small from Hugging Face

    `auto` takes the service when `base_url` is set, else weights that need no download, else Hugging Face. A path of
    a folder as `model` opens the model in it.

    Raises:
        InvalidSettings: OpenAI's own service without a key.
        ModelUnavailable: the package is asked for a model that it does not carry.
    """
    chosen = _choose(provider, model, cache_dir, base_url)
    if chosen == "package":
        return _packaged(model, cache_dir, threads, on_progress)
    if chosen == "huggingface":
        return _hugging_face(model, cache_dir, threads, on_progress)
    if chosen == "sentence-transformers":
        from hybridrag.models.sentence_transformers_embedder import (  # noqa: PLC0415 (only what is used is loaded)
            SentenceTransformersEmbedder,
        )

        name = HUB_NAMES.get(model, model)
        return SentenceTransformersEmbedder(name, cache_dir=cache_dir, batch_size=batch_size)
    if chosen == "openai":
        from hybridrag.models.json_service import Patience  # noqa: PLC0415 (same)
        from hybridrag.models.openai_embedder import OpenAIEmbedder  # noqa: PLC0415 (same)

        _require_key(base_url, api_key)
        return OpenAIEmbedder(
            model,
            base_url=base_url,
            api_key=api_key,
            dimensions=dimensions,
            batch_size=batch_size,
            patience=Patience(
                timeout_seconds=timeout_seconds,
                deadline_seconds=timeout_seconds * (max_retries + 1),
                max_retries=max_retries,
            ),
            requests_per_minute=requests_per_minute,
        )
    from hybridrag.models.hash_embedder import HashEmbedder  # noqa: PLC0415 (same)

    return HashEmbedder(dimension=dimensions) if dimensions else HashEmbedder()


def _choose(provider: Provider, model: str, cache_dir: Path, base_url: str | None) -> Provider:
    if provider != "auto":
        return provider
    if base_url is not None:
        return "openai"
    if model in PACKAGED and (find_package_weights() or find_prepared_model(cache_dir)):
        return "package"
    return "huggingface"


def _packaged(model: str, cache_dir: Path, threads: int, on_progress: Progress | None) -> Embedder:
    from hybridrag.models.e5_embedder import E5Embedder  # noqa: PLC0415 (only what is used is loaded)

    if model not in PACKAGED:
        raise ModelUnavailable(
            model,
            f"the package carries {' and '.join(PACKAGED)} only",
            hint="Set `embedding.provider` to `auto` or `huggingface`.",
        )
    return E5Embedder(cache_dir, model=model, threads=threads, on_progress=on_progress)


def _hugging_face(model: str, cache_dir: Path, threads: int, on_progress: Progress | None) -> Embedder:
    from hybridrag.models.hf_download import find_model  # noqa: PLC0415 (only what is used is loaded)
    from hybridrag.models.onnx_embedder import OnnxEmbedder  # noqa: PLC0415 (same)

    folder = Path(model).expanduser()
    if folder.is_dir():
        return OnnxEmbedder(folder.resolve().name, find_folder=lambda: folder, threads=threads)
    name = HUB_NAMES.get(model, model)

    def find_folder() -> Path:
        return find_model(name, cache_dir=cache_dir, on_progress=on_progress)

    return OnnxEmbedder(UNTAUGHT if model in PACKAGED else model, find_folder=find_folder, threads=threads)


def _require_key(base_url: str | None, api_key: str | None) -> None:
    if base_url is None and not api_key:
        raise InvalidSettings(
            where="settings",
            key="embedding.api_key",
            expected="is needed for OpenAI's own service",
            hint="Set HYBRIDRAG_EMBEDDING_API_KEY, or `embedding.base_url` for a service without a key.",
        )
