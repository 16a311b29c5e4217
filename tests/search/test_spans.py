"""OpenTelemetry spans: every step one, below the search, and no text of the question or of documents in them."""

from __future__ import annotations

from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.testing.embedders import HashEmbedder

QUESTION = "How high is the secretword?"


def test_a_search_is_a_span_and_its_steps_are_spans_below_it(tmp_path: Path) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    settings = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path / "index", settings=settings, embedder=HashEmbedder()) as engine:
        engine.add(text="The secretword is ninety metres high.", name="a.txt")
        engine.search(QUESTION)
    spans = {span.name: span for span in kept.get_finished_spans()}
    whole = spans["hybridrag.search"]
    for name in ("classify", "plan", "keyword", "semantic", "graph", "fuse", "rerank"):
        step = spans[f"hybridrag.{name}"]
        assert step.parent is not None
        assert step.parent.span_id == whole.context.span_id
    assert "secretword" not in " ".join(span.to_json() for span in spans.values())
