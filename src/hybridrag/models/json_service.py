"""POST JSON to a remote service, politely: retries with growing pauses, its own wishes honoured, never past a deadline.

What is tried again: no answer in time, a broken connection, 408, 429 and 5xx. What is not: any other refusal, and a
service that cannot be reached at all, since a search should go on without it at once.
"""

from __future__ import annotations

import json
import random
import re
import socket
import ssl
import threading
import time
import weakref
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from hybridrag.errors import ProviderError
from hybridrag.models.in_time import in_time
from hybridrag.models.rate_limit import RateLimit

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 32 << 20
"""Of an answer as text: 64 vectors of 4,096 numbers are 5 MB. As Python values it may take twenty times as much."""
GRACE_SECONDS = 0.2
"""For limits of the connection, which say more about what went wrong, to come first."""
_STEP_BYTES = 1 << 20
LONGEST_PAUSE_SECONDS = 20.0
_REASON_CHARS = 200
_HOST = re.compile(r"\w+://(?:[^/?#]*@)?([^/?#]+)")
"""Without a name and password before the @."""
_TRY_AGAIN = frozenset({408, 429})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often a service is asked."""

    timeout_seconds: float = 30.0
    """For one try."""
    deadline_seconds: float = 120.0
    """For a call with all its tries and the pauses between them."""
    max_retries: int = 3
    pause_seconds: float = 0.5
    """Before the first retry; doubled each time, with chance taking off up to half."""


class JsonService:
    """One remote service and its key; calls are thread-safe.

    JsonService("https://api.example.com/v1", api_key=key).post("/embeddings", {...}) -> the answer as Python values

    The key is sent and never shown: not in errors, not in `repr`.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        key_setting: str = "api_key",
        headers: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        requests_per_minute: int = 0,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self._max_answer_bytes = max_answer_bytes
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._key_setting = key_setting
        self._headers = dict(headers or {})
        self._patience = patience or Patience()
        self._limit = RateLimit(requests_per_minute)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def __repr__(self) -> str:
        return f"JsonService({self.name!r})"

    @property
    def name(self) -> str:
        """The host, as errors call the service: `api.openai.com`, `localhost:8080`."""
        found = _HOST.match(self._base_url)
        return found.group(1) if found else "the service"

    def post(self, path: str, body: Mapping[str, Any], *, within: float | None = None) -> Any:
        """The answer to `body`, parsed; `within` seconds instead of the service's own deadline.

        Raises:
            ProviderError: refused, unreachable, too slow after every retry, or not JSON.
        """
        patience = self._patience
        limit = patience.deadline_seconds if within is None else within
        deadline = time.monotonic() + limit
        for attempt in range(patience.max_retries + 1):
            deadline += self._take_turn(deadline, within)
            try:
                return self._try(path, body, deadline)
            except _TryAgain as again:
                if attempt == patience.max_retries:
                    tries = "1 try" if attempt == 0 else f"{attempt + 1} tries"
                    raise self.error(f"{again.reason}, after {tries}", status=again.status) from again
                pause = _pause(attempt, patience.pause_seconds) if again.wait_seconds is None else again.wait_seconds
                self._wait(pause, deadline, again, limit=limit)
        msg = "the last try returns or raises"
        raise AssertionError(msg)

    def close(self) -> None:
        """Drop open connections; a later call opens them again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _try(self, path: str, body: Mapping[str, Any], deadline: float) -> Any:
        import httpx  # noqa: PLC0415 (keeps start-up fast)

        left = deadline - time.monotonic()
        timeout = min(self._patience.timeout_seconds, max(left, 0.001))
        try:
            response, content = in_time(lambda: self._exchange(path, body, timeout), timeout + GRACE_SECONDS)
        except TimeoutError as cause:
            # Headers that trickle in obey no limit of the connection; without it their thread ends too.
            self.close()
            raise _TryAgain(f"no answer within {timeout:.3g} s") from cause
        except httpx.TimeoutException as cause:
            raise _TryAgain(f"no answer within {timeout:.3g} s") from cause
        except httpx.ConnectError as cause:
            raise self._unreachable(cause) from cause
        except httpx.TransportError as cause:
            raise _TryAgain("the connection broke off") from cause
        except (httpx.InvalidURL, httpx.HTTPError, UnicodeError) as cause:
            raise self.error(f"{type(cause).__name__} when asking it", hint="Check its address.") from cause
        return self._judge(response, content)

    def _exchange(self, path: str, body: Mapping[str, Any], timeout: float) -> tuple[httpx.Response, bytes]:
        until = time.monotonic() + timeout
        with self._ask(path, body, timeout) as response:
            return response, b"".join(self._read(response, until))

    def _ask(self, path: str, body: Mapping[str, Any], timeout: float) -> AbstractContextManager[httpx.Response]:
        return self._open_client().stream("POST", self._base_url + path, json=body, timeout=timeout)

    def _read(self, response: httpx.Response, until: float) -> Iterator[bytes]:
        """The body, as long as it comes in time and stays within reason."""
        size = 0
        for block in self._unpacked(response):
            size += len(block)
            if size > self._max_answer_bytes:
                raise self.error(f"it answered with more than {self._max_answer_bytes:,} bytes")
            if time.monotonic() > until:
                # httpx counts the time between two blocks; a trickle would never end.
                raise _TryAgain("its answer came too slowly")
            yield block

    def _unpacked(self, response: httpx.Response) -> Iterator[bytes]:
        """The blocks of the body, unpacked in steps; httpx would unpack each whole, and packings inside packings."""
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        if packing not in {"gzip", "identity"}:
            raise self.error(f"its answer is packed as {packing!r}, which nobody asked for")
        inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        for block in response.iter_raw():
            if packing == "identity":
                yield block
                continue
            left = block
            while left and not inflater.eof:
                yield self._inflated(inflater, left)
                left = inflater.unconsumed_tail

    def _inflated(self, inflater: zlib._Decompress, block: bytes) -> bytes:
        try:
            return inflater.decompress(block, _STEP_BYTES)
        except zlib.error as cause:
            raise self.error("its answer is damaged") from cause

    def _judge(self, response: httpx.Response, content: bytes) -> Any:
        status = response.status_code
        if status in _TRY_AGAIN or status >= 500:
            wait = _retry_after(response.headers)
            raise _TryAgain(self._reason(status, content), status=status, wait_seconds=wait)
        if status in {401, 403}:
            hint = f"Check `{self._key_setting}`."
            raise self.error(f"it refused the key ({self._reason(status, content)})", status=status, hint=hint)
        if status >= 300:
            raise self.error(self._reason(status, content), status=status)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as cause:
            raise self.error("its answer is not JSON", status=status, hint="Check its address.") from cause

    def _reason(self, status: int, content: bytes) -> str:
        """`HTTP 400: input is too long`, from whichever place the service puts its words."""
        try:
            said: Any = json.loads(content)
        except (ValueError, RecursionError):
            said = None
        for key in ("error", "message", "detail"):
            said = said.get(key, said) if isinstance(said, dict) else said
        words = said if isinstance(said, str) else ""
        line = re.sub(r"\s+", " ", self._scrub(words)).strip()[:_REASON_CHARS]
        return f"HTTP {status}: {line.rstrip('.')}" if line else f"HTTP {status}"

    def _unreachable(self, cause: httpx.ConnectError) -> ProviderError:
        for link in _causes(cause):
            if isinstance(link, socket.gaierror):
                return self.error("its name cannot be looked up; this computer seems to be offline")
            if isinstance(link, ssl.SSLError):
                return self.error("no secure connection could be made", hint="Check its address and certificate.")
            if isinstance(link, ConnectionRefusedError):
                return self.error("nothing answers there", hint="Start the service, or check its address.")
        return self.error("it cannot be reached; this computer seems to be offline")

    def _take_turn(self, deadline: float, within: float | None) -> float:
        """Wait for this call's slot under the limit of calls; the seconds that are not held against the deadline.

        Keeping to the limit is the user's wish and no fault of the service, unless the caller set a time for all of it.
        """
        if within is None:
            turn = self._limit.reserve() or 0.0
            time.sleep(turn)
            return turn
        turn_in_time = self._limit.reserve(within=deadline - time.monotonic())
        if turn_in_time is None:
            raise self.error(f"`requests_per_minute` allows no call within {within:.3g} s", hint="Raise it, or wait.")
        time.sleep(turn_in_time)
        return 0.0

    def _wait(self, seconds: float, deadline: float, again: _TryAgain, *, limit: float) -> None:
        if seconds <= 0:
            return
        if time.monotonic() + seconds >= deadline:
            raise self.error(
                f"{again.reason}; trying again in {seconds:.0f} s would pass the limit of {limit:.3g} s",
                status=again.status,
            )
        time.sleep(seconds)

    def error(self, reason: str, *, status: int | None = None, hint: str | None = None) -> ProviderError:
        """An error of this service that does not show the key, whatever `reason` quotes."""
        return ProviderError(self.name, self._scrub(reason), status=status, hint=hint)

    def _scrub(self, words: str) -> str:
        return words.replace(self._api_key, "***") if self._api_key else words

    def _open_client(self) -> httpx.Client:
        import httpx  # noqa: PLC0415 (keeps start-up fast)

        with self._lock:
            if self._client is None:
                key = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
                self._client = httpx.Client(
                    headers={"Accept-Encoding": "gzip", **key, **self._headers}, follow_redirects=False
                )
                weakref.finalize(self, self._client.close)
            return self._client


class _TryAgain(Exception):
    """A try that failed in a way that may pass."""

    def __init__(self, reason: str, *, status: int | None = None, wait_seconds: float | None = None) -> None:
        self.reason = reason
        self.status = status
        self.wait_seconds = wait_seconds
        super().__init__(reason)


def _pause(attempt: int, first: float) -> float:
    """Doubled each time; chance keeps many callers from coming back at the same moment."""
    longest = min(first * 2.0**attempt, LONGEST_PAUSE_SECONDS)
    chance: float = random.uniform(0.5, 1.0)  # noqa: S311 (no secret depends on it)
    return longest * chance


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until the service wants to be asked again: `Retry-After: 3`, or a date."""
    said = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", said):
        return float(said)
    try:
        moment = parsedate_to_datetime(said)
    except (ValueError, IndexError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
