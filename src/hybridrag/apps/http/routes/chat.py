"""The chat protocol of OpenAI, so that chat programs can ask the documents: a model for each workspace.

The last message of the user is the question. What it leaves unsaid ("When was it founded?") is filled in with what the
questions before it named.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from hybridrag import Answer, InvalidInput, NotFound, SearchFilters, SearchQuery, classify
from hybridrag.apps.access import Access
from hybridrag.apps.http.depend import PROBLEMS, Searching, State
from hybridrag.apps.http.events import ALIVE, ALIVE_SECONDS, EventStream
from hybridrag.apps.http.problems import problem_of
from hybridrag.apps.places import place_of

router = APIRouter(prefix="/v1", tags=["chat"], responses=PROBLEMS)

EVERYTHING = "hybridrag"
"""The model that asks every workspace of the caller; `hybridrag/team` asks that one."""

LONGEST_QUESTION = 1000
EARLIER = 6
"""Questions back to which a name is looked for."""


class Lenient(BaseModel):
    """What programs send: fields that are of no use here are passed over."""

    model_config = ConfigDict(extra="ignore")


class ContentPart(Lenient):
    """A part of a message; only text is read."""

    type: str
    text: str = ""


class ChatMessage(Lenient):
    """A message of the conversation."""

    role: str
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        """Its text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type == "text")


class ChatRequest(Lenient):
    """A question with what was said before."""

    model: str = EVERYTHING
    messages: list[ChatMessage] = Field(min_length=1, max_length=1000)
    stream: bool = False


class ChatModel(BaseModel):
    """A model that can be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = EVERYTHING


class ChatModels(BaseModel):
    """The models of the caller."""

    object: Literal["list"] = "list"
    data: list[ChatModel]


@router.get("/models")
async def models(state: State, access: Searching) -> ChatModels:
    """What can be asked: everything, and each workspace."""
    spaces = await state.work(access.workspaces)
    return ChatModels(
        data=[ChatModel(id=name) for name in (EVERYTHING, *(f"{EVERYTHING}/{space}" for space in spaces))]
    )


@router.post(
    "/chat/completions",
    responses={200: {"content": {"application/json": {}, "text/event-stream": {}}, "description": "The answer."}},
)
async def chat(request: ChatRequest, state: State, access: Searching) -> Response:
    """An answer with its sources below, in one piece or as a stream."""
    query = _query(request, access)
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": request.model}

    def work() -> Answer:
        return access.answer(query, on_step=state.count_step)

    if request.stream:
        return EventStream(_stream(asyncio.ensure_future(state.work(work)), head))
    answer = await state.work(work)
    message = {"role": "assistant", "content": written(answer)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    body = head | {"object": "chat.completion", "choices": [choice], "usage": _usage(query.text, message["content"])}
    return Response(json.dumps(body, ensure_ascii=False), media_type="application/json")


def written(answer: Answer) -> str:
    """The answer with its sources in a list, as Markdown."""
    sources = [
        f"[{one.number}] {one.sources.file_name}" + (f", {place}" if (place := place_of(one.sources)) else "")
        for one in answer.citations
        if one.sources is not None
    ]
    return answer.text + ("\n\n" + "\n".join(sources) if sources else "")


def self_contained(questions: Sequence[str]) -> str:
    """The last question, with the names of the one before it that named something where it names nothing itself.

    ["Who founded Orin Works?", "When was it founded?"] -> "When was it founded? (Orin Works)"
    """
    last = questions[-1].strip()[-LONGEST_QUESTION:]
    if classify(last).extracted_entities:
        return last
    for earlier in reversed(questions[-EARLIER - 1 : -1]):
        names = classify(earlier.strip()[-LONGEST_QUESTION:] or last).extracted_entities
        longer = f"{last} ({', '.join(names)})"
        if names:
            return longer if len(longer) <= LONGEST_QUESTION else last
    return last


def _query(request: ChatRequest, access: Access) -> SearchQuery:
    questions = [text for message in request.messages if message.role == "user" and (text := message.text).strip()]
    if not questions:
        raise InvalidInput("The conversation holds no question.", hint="Send a message of the role user.")
    family, _, space = request.model.partition("/")
    if family != EVERYTHING or (space and space not in access.workspaces()):
        raise NotFound("model", request.model, hint="GET /v1/models lists them.")
    filters = SearchFilters(workspace_ids=(space,) if space else None)
    return access.scoped(SearchQuery(text=self_contained(questions), filters=filters))


async def _stream(work: asyncio.Future[Any], head: dict[str, Any]) -> AsyncIterator[bytes]:
    def chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _data(head | {"object": "chat.completion.chunk", "choices": [choice]})

    try:
        yield chunk({"role": "assistant", "content": ""})
        while not work.done():
            await asyncio.wait({work}, timeout=ALIVE_SECONDS)
            if not work.done():
                yield ALIVE
        try:
            answer: Answer = work.result()
        except Exception as error:  # noqa: BLE001 (the answer has begun: what went wrong can only be told in it)
            problem = problem_of(error, trace_id="")[0]
            yield _data({"error": {"message": problem.detail, "type": problem.code, "code": problem.code}})
            return
        for line in written(answer).splitlines(keepends=True):
            yield chunk({"content": line})
        yield chunk({}, "stop")
        yield b"data: [DONE]\n\n"
    finally:
        work.cancel()


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _usage(question: str, answer: str) -> dict[str, int]:
    """Words in place of tokens: nothing is charged, and programs only show it."""
    asked, said = len(question.split()), len(answer.split())
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
