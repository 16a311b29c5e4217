from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from hybridrag.errors import ProviderError
from hybridrag.models.json_service import JsonService, Patience, _pause, _retry_after
from hybridrag.models.rate_limit import RateLimit
from model_server import hang_up, reply, serving, stall, trickle

KEY = "sk-very-secret-0123456789"
QUICK = Patience(timeout_seconds=5, deadline_seconds=10, max_retries=2, pause_seconds=0.01)
HASTY = Patience(timeout_seconds=0.2, deadline_seconds=10, max_retries=1, pause_seconds=0.01)
OK = reply(200, {"fine": True})


def service(url: str, patience: Patience = QUICK) -> JsonService:
    return JsonService(url, patience=patience, api_key=KEY, key_setting="embedding.api_key")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    with serving(reply(status, {"error": {"message": "busy"}}), OK) as server:
        remote = service(server.url)
        assert remote.post("/x", {"a": 1}) == {"fine": True}
        assert server.bodies == [{"a": 1}, {"a": 1}]
        remote.close()


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    with serving(reply(status, {"error": {"message": "input is too long."}}), OK) as server:
        remote = service(server.url)
        with pytest.raises(ProviderError, match=f"HTTP {status}: input is too long") as caught:
            remote.post("/x", {})
        assert caught.value.status == status
        assert len(server.bodies) == 1
        remote.close()


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_the_setting_and_never_the_key(status: int) -> None:
    with serving(reply(status, {"error": {"message": f"Incorrect API key provided: {KEY}"}})) as server:
        remote = service(server.url)
        with pytest.raises(ProviderError) as caught:
            remote.post("/x", {})
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
        remote.close()
    assert "embedding.api_key" in str(caught.value)
    for shown in (str(caught.value), repr(caught.value), repr(remote), repr(caught.value.__dict__)):
        assert KEY not in shown


def test_a_name_and_password_in_the_address_are_not_shown() -> None:
    assert service("https://me:hidden@host.example:81/v1").name == "host.example:81"


def test_after_the_last_try_the_reason_and_the_number_of_tries_are_said() -> None:
    with serving(reply(500, b"<html>Oops</html>")) as server:
        remote = service(server.url)
        with pytest.raises(ProviderError, match="HTTP 500, after 3 tries"):
            remote.post("/x", {})
        assert len(server.bodies) == 3
        remote.close()


def test_a_broken_connection_is_tried_again() -> None:
    with serving(hang_up, OK) as server:
        remote = service(server.url)
        assert remote.post("/x", {}) == {"fine": True}
        remote.close()


def test_silence_is_tried_again_and_then_said() -> None:
    with serving(stall(1.0)) as server:
        remote = service(server.url, HASTY)
        with pytest.raises(ProviderError, match=r"no answer within 0\.2 s, after 2 tries"):
            remote.post("/x", {})
        remote.close()


def test_an_answer_that_only_trickles_in_is_given_up() -> None:
    with serving(trickle) as server:
        remote = service(server.url, HASTY)
        with pytest.raises(ProviderError, match="too slowly, after 2 tries"):
            remote.post("/x", {})
        remote.close()


def test_the_wish_of_the_service_when_to_be_asked_again_is_honoured() -> None:
    with serving(reply(429, {}, Retry_After="0"), reply(503, {}, Retry_After="0.01"), OK) as server:
        remote = service(server.url)
        assert remote.post("/x", {}) == {"fine": True}
        remote.close()


def test_a_wait_that_would_pass_the_deadline_is_not_begun() -> None:
    with serving(reply(429, {"detail": "slow down"}, Retry_After="3600")) as server:
        remote = service(server.url)
        with pytest.raises(
            ProviderError, match="HTTP 429: slow down; trying again in 3600 s would pass the limit of 10 s"
        ):
            remote.post("/x", {})
        assert len(server.bodies) == 1
        remote.close()


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    assert _retry_after({"retry-after": "7"}) == 7.0
    assert _retry_after({"retry-after": "0.5"}) == 0.5
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < (_retry_after({"retry-after": later}) or 0) <= 90
    assert _retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert _retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}) == 0.0
    assert _retry_after({"retry-after": "soon"}) is None
    assert _retry_after({}) is None


def test_pauses_double_and_are_bounded() -> None:
    for attempt in range(12):
        pause = _pause(attempt, 0.5)
        assert min(0.5 * 2**attempt, 20) / 2 <= pause <= min(0.5 * 2**attempt, 20)


def test_a_service_that_does_not_run_is_said_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    remote = service(f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ProviderError, match=rf"127\.0\.0\.1:{port}: nothing answers there\. Start the service"):
        remote.post("/x", {})
    remote.close()


def test_a_name_that_cannot_be_looked_up_means_offline() -> None:
    remote = service("https://no-such-host.invalid/v1")
    with pytest.raises(ProviderError, match="this computer seems to be offline"):
        remote.post("/x", {})
    remote.close()


def test_a_service_without_a_secure_connection_is_said() -> None:
    with serving(OK) as server:
        remote = service(server.url.replace("http://", "https://"))
        with pytest.raises(ProviderError, match="no secure connection"):
            remote.post("/x", {})
        remote.close()


@pytest.mark.parametrize("url", ["http://[bad", "http://host:port/v1", "no-address"])
def test_an_address_that_is_none_is_said(url: str) -> None:
    remote = service(url)
    with pytest.raises(ProviderError):
        remote.post("/x", {})
    remote.close()


@pytest.mark.parametrize("content", [b"", b"<html>login</html>", b"[" * 100_000, b"\xff\xfe"])
def test_an_answer_that_is_not_json_is_said(content: bytes) -> None:
    with serving(reply(200, content)) as server:
        remote = service(server.url)
        with pytest.raises(ProviderError, match="not JSON"):
            remote.post("/x", {})
        remote.close()


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with serving(reply(302, b"", Location="http://elsewhere.invalid/")) as server:
        remote = service(server.url)
        with pytest.raises(ProviderError, match="HTTP 302"):
            remote.post("/x", {})
        remote.close()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"error": "plain"}, "HTTP 400: plain"),
        ({"error": {"message": "nested\n twice"}}, "HTTP 400: nested twice"),
        ({"message": "top"}, "HTTP 400: top"),
        ({"detail": [{"loc": ["body"]}]}, "HTTP 400."),
        (["list"], "HTTP 400."),
        ({"error": "x" * 1000}, "HTTP 400: " + "x" * 200 + "."),
    ],
)
def test_the_words_of_the_service_are_passed_on_in_one_short_line(content: object, expected: str) -> None:
    with serving(reply(400, content)) as server:
        remote = service(server.url)
        with pytest.raises(ProviderError) as caught:
            remote.post("/x", {})
        remote.close()
    assert expected in str(caught.value)


def test_a_closed_service_opens_again_when_asked() -> None:
    with serving(OK) as server:
        remote = service(server.url)
        remote.post("/x", {})
        remote.close()
        remote.close()
        assert remote.post("/x", {}) == {"fine": True}
        remote.close()


def test_calls_beyond_the_limit_wait_for_their_turn() -> None:
    now = [100.0]
    limit = RateLimit(2, clock=lambda: now[0])
    assert [limit.reserve() for _ in range(5)] == [0.0, 0.0, 60.0, 60.0, 120.0]
    now[0] += 200.0
    assert limit.reserve() == 0.0


def test_no_limit_means_no_wait() -> None:
    limit = RateLimit(0)
    assert {limit.reserve() for _ in range(1000)} == {0.0}
