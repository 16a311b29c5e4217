from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from onnx import TensorProto

from hybridrag.errors import ModelUnavailable
from hybridrag.models.hf_download import find_model
from hybridrag.models.onnx_embedder import OnnxEmbedder
from hybridrag.models.prefixes import Prefixes, prefixes_of
from hybridrag.models.sentence_model import choose_onnx, read_sentence_model
from hybridrag.testing.embedders import check_embedder
from model_builders import write_sentence_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_sentence_model(tmp_path / "tiny-bert")


def embedder(folder: Path, name: str = "tiny-bert") -> OnnxEmbedder:
    return OnnxEmbedder(name, find_folder=lambda: folder, threads=2)


def rewrite(folder: Path, file: str, value: object) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(json.dumps(value), encoding="utf-8")


def test_a_model_in_a_folder_keeps_the_contract(folder: Path) -> None:
    check_embedder(embedder(folder))


def test_a_model_with_prefixes_keeps_the_contract(folder: Path) -> None:
    rewrite(folder, "config_sentence_transformers.json", {"prompts": {"query": "when: ", "document": "the: "}})
    prefixed = embedder(folder)
    check_embedder(prefixed)
    passages = prefixed.embed_passages(["harbour", ""], tokens=True)
    assert passages.tokens is not None
    assert [len(matrix) for matrix in passages.tokens] == [1, 0]


@pytest.mark.parametrize(
    ("inputs", "integer"),
    [
        (("input_ids",), TensorProto.INT64),
        (("input_ids", "attention_mask"), TensorProto.INT32),
        (("input_ids", "attention_mask", "token_type_ids", "position_ids"), TensorProto.INT64),
    ],
)
def test_a_graph_gets_the_inputs_that_it_asks_for(tmp_path: Path, inputs: tuple[str, ...], integer: int) -> None:
    check_embedder(embedder(write_sentence_model(tmp_path / "model", inputs=inputs, integer=integer)))


def test_a_graph_that_pools_itself_gives_no_token_vectors(tmp_path: Path) -> None:
    pooled = embedder(write_sentence_model(tmp_path / "model", pooled=True))
    check_embedder(pooled)
    assert pooled.embed_query("harbour", tokens=True).tokens is None


def test_a_graph_that_asks_for_more_than_text_is_refused(tmp_path: Path) -> None:
    strange = embedder(write_sentence_model(tmp_path / "model", inputs=("input_ids", "pixels")))
    with pytest.raises(ModelUnavailable, match="'pixels'"):
        strange.embed_query("harbour")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
        ({"pooling_mode": ["cls"]}, "cls"),
        (None, "mean"),
    ],
)
def test_pooling_follows_the_folder(tmp_path: Path, config: dict[str, object] | None, expected: str) -> None:
    folder = write_sentence_model(tmp_path / "model", pooling=config)
    assert read_sentence_model(folder, name="m").pooling == expected
    passages = embedder(folder).embed_passages(["harbour built"], tokens=True)
    assert passages.tokens is not None
    assert np.isfinite(passages.pooled).all()


def test_each_pooling_gives_its_own_vector_and_fingerprint(tmp_path: Path) -> None:
    modes = ("mean", "cls", "max", "lasttoken")
    models = [
        embedder(write_sentence_model(tmp_path / mode, pooling={"pooling_mode": mode}), name="same") for mode in modes
    ]
    vectors = np.concatenate([model.embed_query("the harbour of the town").pooled for model in models])
    assert len(np.unique(vectors.round(4), axis=0)) == len(modes)
    assert len({model.info.fingerprint for model in models}) == len(modes)


@pytest.mark.parametrize("mode", [["cls", "mean"], "weightedmean"])
def test_an_unknown_pooling_is_refused(folder: Path, mode: object) -> None:
    rewrite(folder, "1_Pooling/config.json", {"pooling_mode": mode})
    with pytest.raises(ModelUnavailable, match=r"pooling .* is not known\. Run: pip install 'hybridrag\[sentence-tr"):
        _ = embedder(folder).info


def test_a_layer_that_the_graph_lacks_is_named(folder: Path) -> None:
    kinds = ["models.Transformer", "models.Pooling", "models.Normalize"]
    rewrite(folder, "modules.json", [{"type": f"sentence_transformers.{kind}"} for kind in kinds])
    assert embedder(folder).info.dimension == 16
    rewrite(folder, "modules.json", [{"type": "sentence_transformers.models.Dense"}])
    with pytest.raises(ModelUnavailable, match="Dense layer"):
        _ = embedder(folder).info


def test_the_room_for_tokens_leaves_out_special_tokens_and_prefix(folder: Path) -> None:
    assert embedder(folder).info.max_tokens == 64 - 2
    rewrite(folder, "sentence_bert_config.json", {"max_seq_length": 32})
    assert embedder(folder).info.max_tokens == 32 - 2
    # [UNK] for "passage", and ":"
    assert embedder(folder, "intfloat/multilingual-e5-base").info.max_tokens == 32 - 2 - 2


@pytest.mark.parametrize(("positions", "expected"), [(514, 512), (512, 512), (8194, 8192), (None, 512)])
def test_positions_that_a_model_never_uses_do_not_count(folder: Path, positions: int | None, expected: int) -> None:
    rewrite(folder, "config.json", {"hidden_size": 16, "max_position_embeddings": positions})
    assert read_sentence_model(folder, name="m").max_tokens == expected


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("onnx/model.onnx", "no ONNX file"),
        ("tokenizer.json", "no tokenizer.json"),
        ("config.json", "says no `hidden_size`"),
    ],
)
def test_a_missing_part_is_named(folder: Path, file: str, reason: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ModelUnavailable, match=reason):
        embedder(folder).embed_query("x")


@pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json", "config.json", "modules.json"])
def test_a_damaged_part_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"damaged")
    with pytest.raises(ModelUnavailable, match=file):
        embedder(folder).embed_query("x")


def test_a_copied_folder_keeps_its_fingerprint_and_another_model_has_another(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    other = write_sentence_model(tmp_path / "other", dimension=24)
    assert embedder(copy).info == embedder(folder).info
    assert embedder(other).info.fingerprint != embedder(folder).info.fingerprint


def test_the_exact_model_is_preferred_over_quantised_ones() -> None:
    files = ["README.md", "onnx/model_O4.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx"]
    assert choose_onnx(files) == "onnx/model.onnx"
    assert choose_onnx(files[:3]) == "onnx/model_quantized.onnx"
    assert choose_onnx(files[:2]) == "onnx/model_O4.onnx"
    assert choose_onnx(files[:1]) is None


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("multilingual-e5-small", "query: "),
        ("intfloat/multilingual-e5-large-instruct", "Instruct: "),
        ("cl-nagoya/ruri-v3-310m", "検索クエリ: "),
        ("cl-nagoya/ruri-large", "クエリ: "),
        ("BAAI/bge-base-en-v1.5", "Represent"),
        ("BAAI/bge-m3", ""),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: "),
        ("sentence-transformers/all-MiniLM-L6-v2", ""),
    ],
)
def test_models_that_want_prefixes_are_known_by_name(name: str, query: str) -> None:
    found = prefixes_of(name)
    assert found.query.startswith(query)
    assert bool(found.query) == bool(query)
    assert isinstance(found, Prefixes)


class Hub:
    """Enough of Hugging Face's HTTP interface to list and download a repository."""

    def __init__(self, repositories: dict[str, Path]) -> None:
        self.repositories = repositories
        self.requests: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def find(self, path: str) -> bytes | None:
        """The content of a path: a listing as JSON, or a file."""
        for name, folder in self.repositories.items():
            files = [file for file in folder.rglob("*") if file.is_file()]
            if path.startswith(f"/api/models/{name}/tree/"):
                return json.dumps([self.entry(file, folder) for file in files]).encode()
            if path in {f"/api/models/{name}", f"/api/models/{name}/revision/main"}:
                siblings = [{"rfilename": file.relative_to(folder).as_posix()} for file in files]
                return json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode()
            start = f"/{name}/resolve/"
            if path.startswith(start):
                file = folder / path.removeprefix(start).partition("/")[2]
                return file.read_bytes() if file.is_file() else None
        return None

    @staticmethod
    def entry(file: Path, folder: Path) -> dict[str, object]:
        content = file.read_bytes()
        oid = hashlib.sha1(content).hexdigest()  # noqa: S324 (git's own name for a blob)
        return {"type": "file", "path": file.relative_to(folder).as_posix(), "size": len(content), "oid": oid}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(urlsplit(self.path).path)
                hub.requests.append(path)
                content = hub.find(path)
                self.send_response(200 if content is not None else 404)
                if content is None:
                    self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Type", "application/json" if path.startswith("/api") else "text/plain")
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("ETag", f'"{hashlib.sha256(content or b"").hexdigest()}"')
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(content or b"")

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the standard library)
                """Keep the test's output clean."""

        return Handler


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_text("{}", encoding="utf-8")
    model = write_sentence_model(tmp_path / "served")
    (model / "pytorch_model.bin").write_bytes(b"large and not needed")
    hub = Hub({"someone/tiny-test-model": model, "someone/without-onnx": bare})
    yield hub
    hub.close()


def test_a_model_is_downloaded_once_and_then_found_without_the_network(hub: Hub, tmp_path: Path) -> None:
    told: list[float] = []
    cache = tmp_path / "cache"
    first = find_model(
        "someone/tiny-test-model", cache_dir=cache, endpoint=hub.url, on_progress=lambda _, share: told.append(share)
    )
    assert told == [0.0, 1.0]
    assert not (first / "pytorch_model.bin").exists()
    check_embedder(embedder(first))
    asked = len(hub.requests)
    assert find_model("someone/tiny-test-model", cache_dir=cache, endpoint=hub.url) == first
    assert len(hub.requests) == asked


def test_a_repository_without_an_onnx_file_suggests_the_other_library(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no ONNX file on Hugging Face.*hybridrag\[sentence-transformers\]"):
        find_model("someone/without-onnx", cache_dir=tmp_path / "cache", endpoint=hub.url)


def test_a_model_that_does_not_exist_is_said(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no public model of that name"):
        find_model("someone/no-such-model", cache_dir=tmp_path / "cache", endpoint=hub.url)


def test_a_name_that_cannot_be_one_is_said(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no name of a model, and no folder\. Use owner/name"):
        find_model("a//b?c", cache_dir=tmp_path / "cache", endpoint=hub.url)


def test_offline_is_said_in_one_sentence(hub: Hub, tmp_path: Path) -> None:
    hub.close()
    with pytest.raises(ModelUnavailable, match="not on this computer, and Hugging Face cannot be reached") as caught:
        find_model("someone/tiny-test-model", cache_dir=tmp_path / "cache", endpoint=hub.url)
    assert "\n" not in str(caught.value)
