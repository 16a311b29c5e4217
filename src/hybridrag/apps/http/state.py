"""What the requests of one server process share: the engine, the keys, the threads that work, the counters."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from hybridrag import DeadlineExceeded, Engine, Settings
from hybridrag.apps.http.jobs import Jobs
from hybridrag.apps.http.limits import RateLimit
from hybridrag.apps.http.metrics import Metrics
from hybridrag.apps.http.problems import RETRY_SECONDS, Refused
from hybridrag.apps.keys import Keys, data_dir
from hybridrag.types.results import TraceStep

T = TypeVar("T")


class ServerState:
    """One process of the server; made when it starts and closed when it ends."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        folder = data_dir(settings)
        self.settings = settings
        self.engine = engine
        self.keys = Keys(folder)
        self.jobs = Jobs(folder, settings, engine)
        self.metrics = Metrics()
        self.rate = RateLimit(settings.server.requests_per_minute)
        self.not_ready: str | None = "The models are being loaded."
        self._pool = ThreadPoolExecutor(settings.server.threads, thread_name_prefix="hybridrag-request")
        self._in_work = 0

    async def work(self, call: Callable[[], T]) -> T:
        """Do the engine's work in a thread, within the time of a request.

        Raises:
            Refused: too many requests wait already.
            DeadlineExceeded: it took longer than a request may.
        """
        server = self.settings.server
        if self._in_work >= server.threads + server.max_waiting:
            raise Refused(
                503,
                "overloaded",
                "The server is working on as many requests as it can.",
                hint="Try again in a moment.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        self._in_work += 1
        self.metrics.busy.set(self._in_work)
        loop = asyncio.get_running_loop()
        # The context carries the trace of the request into the thread.
        future = self._pool.submit(contextvars.copy_context().run, call)
        future.add_done_callback(lambda _: self._over(loop))
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), server.request_seconds)
        except TimeoutError:
            _forget(future)
            raise DeadlineExceeded("The request", seconds=server.request_seconds) from None

    def count_step(self, step: TraceStep) -> None:
        """Count a step of a search."""
        self.metrics.steps.labels(step.step.value, step.state.value).observe(step.processing_time / 1000)

    def close(self) -> None:
        """End the threads and close the index."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.engine.close()

    def _over(self, loop: asyncio.AbstractEventLoop) -> None:
        def count() -> None:
            self._in_work -= 1
            self.metrics.busy.set(self._in_work)

        if not loop.is_closed():
            loop.call_soon_threadsafe(count)


def _forget(future: Future[T]) -> None:
    """Nobody waits for it any more: what has not begun need not begin, and its error is nobody's."""
    future.cancel()
