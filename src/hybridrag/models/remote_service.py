"""A remote service that a search waits for: `JsonService` with one time limit for all of a call, GET, small answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from hybridrag.models.in_time import in_time
from hybridrag.models.json_service import GRACE_SECONDS, JsonService, Patience, _TryAgain

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 8 << 20
"""A hundred scores or web results are a few hundred kilobytes at most."""
PAUSE_SECONDS = 0.2
"""Somebody waits for the search; a service that needs longer to recover is done without."""
LEAST_SECONDS = 0.001
BEARER = "Authorization"


class _Params(dict[str, Any]):
    """A body that goes into the address: marks a call as GET."""


class RemoteService(JsonService):
    """A service whose every call ends within its time, retries included; thread-safe.

    RemoteService("http://localhost:8080", key_setting="web.api_key").get("/search", {"q": "tea"}) -> the answer

    The key is sent as a bearer token, or in a header of its own, and never shown.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        key_setting: str,
        key_header: str = BEARER,
        timeout_seconds: float = 5.0,
        max_retries: int = 1,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        key = (api_key or "").strip() or None
        own_header = {key_header: key} if key and key_header != BEARER else {}
        super().__init__(
            base_url,
            api_key=None if own_header else key,
            key_setting=key_setting,
            headers={"Accept": "application/json", **own_header},
            patience=Patience(timeout_seconds, timeout_seconds, max_retries, PAUSE_SECONDS),
            max_answer_bytes=max_answer_bytes,
        )
        self._secret = key
        self._timeout_seconds = timeout_seconds

    def post(self, path: str, body: Mapping[str, Any], *, within: float | None = None) -> Any:
        """The answer to `body`, parsed; `within` seconds instead of the service's own limit.

        Raises:
            ProviderError: refused, unreachable, too slow, too large, or not JSON.
        """
        limit = max(LEAST_SECONDS, self._timeout_seconds if within is None else within)
        return self._in_time(partial(super().post, path, body, within=limit), limit)

    def get(self, path: str, params: Mapping[str, Any], *, within: float | None = None) -> Any:
        """The answer to a question in the address, parsed; redirects are not followed.

        Raises:
            ProviderError: as `post`.
        """
        return self.post(path, _Params(params), within=within)

    def _in_time(self, ask: Callable[[], Any], limit: float) -> Any:
        try:
            return in_time(ask, limit + 2 * GRACE_SECONDS)
        except TimeoutError as cause:
            raise self.error(f"no answer within {limit:.3g} s") from cause

    def _ask(self, path: str, body: Mapping[str, Any], timeout: float) -> AbstractContextManager[httpx.Response]:
        if not isinstance(body, _Params):
            return super()._ask(path, body, timeout)
        return self._open_client().stream("GET", self._base_url + path, params=body, timeout=timeout)

    def _wait(self, seconds: float, deadline: float, again: _TryAgain, *, limit: float) -> None:
        if again.wait_seconds is None and time.monotonic() + seconds >= deadline:
            raise self.error(again.reason, status=again.status)  # its time is spent; a retry was nobody's wish
        super()._wait(seconds, deadline, again, limit=limit)

    def _scrub(self, words: str) -> str:
        return words.replace(self._secret, "***") if self._secret else words
