"""What the server counts, as Prometheus reads it. Labels hold routes, never names of documents or questions."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters of one server process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "hybridrag_http_requests_total",
            "Requests by route, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "hybridrag_http_request_seconds",
            "How long requests took, by route.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.steps = Histogram(
            "hybridrag_step_seconds",
            "How long the steps of searches took, by step and how it ended.",
            ("step", "state"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.busy = Gauge("hybridrag_requests_in_work", "Requests that the engine works on.", registry=self.registry)
        self.jobs = Gauge("hybridrag_jobs", "Jobs by state.", ("state",), registry=self.registry)
        self.files = Gauge("hybridrag_files", "Files in the index.", registry=self.registry)
        self.chunks = Gauge("hybridrag_chunks", "Chunks in the index.", registry=self.registry)

    def text(self) -> bytes:
        """Everything, in the text format of Prometheus."""
        return generate_latest(self.registry)
