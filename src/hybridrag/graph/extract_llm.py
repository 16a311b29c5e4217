"""Chunks -> their names and relations, as an LLM reads them; the local extractor stands in where it fails.

Asking costs time and money, so: an estimate comes before, every answer is kept, no text is asked about twice, and a
service that fails again and again is left alone for a while.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from hybridrag.errors import RAGError, StageError
from hybridrag.graph.extract import Extractor, Passage
from hybridrag.graph.llm_cache import ExtractionCache, MemoryCache
from hybridrag.graph.llm_prompt import AGAIN, PROMPT_VERSION, SCHEMA, SYSTEM, follow_up, question
from hybridrag.graph.read_llm_answer import Answer, bear_out, parse_answer
from hybridrag.protocols import Completion, Llm, Message
from hybridrag.result import Err
from hybridrag.types.extraction import NOTHING_SAID, ChunkGraph, Mention

MAX_ANSWER_TOKENS = 2000
"""Some ten times what a chunk of usual size needs; a model that repeats itself is stopped here."""
TEMPERATURE = 0.0
"""The same text is to give the same names."""
GIVE_UP_AFTER = 5
"""Failed calls in a row, each with its retries, after which a service is left alone."""
LEFT_ALONE_SECONDS = 60.0

# For estimates only: an answer repeats each name and copies its sentence, and wraps both into JSON.
ANSWER_BASE_TOKENS = 40
ANSWER_TOKENS_PER_TOKEN = 1.5
LATER_ANSWER_SHARE = 0.3
"""How long the answer to "what did you miss" is beside the first one."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What reading passages would take."""

    passages: int
    calls: int
    """At most: a round that finds nothing new is the last one, and equal texts are asked about once."""
    input_tokens: int
    output_tokens: int
    cost: float
    """In the currency of the prices in the settings; 0 where none are set."""

    @property
    def tokens(self) -> int:
        """Both ways."""
        return self.input_tokens + self.output_tokens

    def __str__(self) -> str:
        cost = f", {self.cost:.2f} in cost" if self.cost else ""
        return f"{self.passages:,} passages: at most {self.calls:,} calls, about {self.tokens:,} tokens{cost}"


@dataclass(frozen=True, slots=True)
class FellBack:
    """A passage that the local extractor read instead, and why."""

    passage: Passage
    reason: str


@dataclass(frozen=True, slots=True)
class LlmReport:
    """What reading passages took, and what came of it."""

    passages: int = 0
    calls: int = 0
    from_cache: int = 0
    """Answers that were known."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """Of answers that came; what a failed call took is known to the LLM's own budget alone."""
    dropped: int = 0
    """Names and relations that the model gave and the text does not bear out."""
    fell_back: tuple[FellBack, ...] = ()


@dataclass(slots=True)
class _Reading:
    """One text on its way through the rounds."""

    answer: Answer | None = None
    error: RAGError | None = None
    """Why there is no answer."""
    calls: int = 0
    from_cache: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def count(self, completion: Completion) -> None:
        self.input_tokens += completion.input_tokens
        self.output_tokens += completion.output_tokens


class LlmExtractor:
    """Reads chunks by an LLM, and is an `Extractor` like the others.

    LlmExtractor(llm, local=LightExtractor()).extract([Passage("Ann founded Acme.")]) -> [ChunkGraph(...)]

    A passage whose question fails is read by `local`, and listed in `report`; a later call asks about those only.
    `local` also gives the aliases: "Retrieval-Augmented Generation (RAG)" needs no LLM. `rounds` is how often the model
    is asked for what it missed. Once `stop` is set, nothing is asked any more. Calls are thread-safe.
    """

    def __init__(
        self,
        llm: Llm,
        *,
        local: Extractor,
        cache: ExtractionCache | None = None,
        rounds: int = 1,
        concurrency: int = 4,
        max_tokens: int = MAX_ANSWER_TOKENS,
        stop: threading.Event | None = None,
    ) -> None:
        self._llm = llm
        self._local = local
        self._cache = MemoryCache() if cache is None else cache
        self._rounds = rounds
        self._concurrency = concurrency
        self._max_tokens = max_tokens
        self._stop = stop or threading.Event()
        self._lock = threading.Lock()
        self._report = LlmReport()
        self._breaker = _Breaker()

    @property
    def llm(self) -> Llm:
        """What it asks."""
        return self._llm

    @property
    def name(self) -> str:
        """Such as "llm 1 (gpt-4o-mini), light 3"."""
        return f"llm {PROMPT_VERSION} ({self._llm.info.name}), {self._local.name}"

    @property
    def report(self) -> LlmReport:
        """Everything since this extractor was made, or since its report was taken."""
        with self._lock:
            return self._report

    def take_report(self) -> LlmReport:
        """The report, which starts anew: who takes it for every file does not gather passages in memory."""
        with self._lock:
            taken, self._report = self._report, LlmReport()
            return taken

    def extract(self, passages: Sequence[Passage]) -> list[ChunkGraph]:
        """What each passage says: by the LLM, else by the local extractor."""
        local = self._local.extract(passages)
        readings = self._read_all(_texts(passages))
        graphs: list[ChunkGraph] = []
        fell_back: list[FellBack] = []
        dropped = 0
        for passage, found in zip(passages, local, strict=True):
            reading = readings.get(passage.text)
            if reading is None:
                graphs.append(NOTHING_SAID)
            elif reading.answer is None:
                fell_back.append(FellBack(passage, str(reading.error)))
                graphs.append(found)
            else:
                borne = bear_out(reading.answer, passage.text)
                dropped += borne.dropped
                graphs.append(_with_aliases(ChunkGraph(borne.mentions, (), borne.facts), found))
        self._note(list(readings.values()), passages=len(passages), dropped=dropped, fell_back=tuple(fell_back))
        return graphs

    def estimate(self, passages: Sequence[Passage]) -> Estimate:
        """What reading these would take, without what is known already; asks nothing."""
        calls = input_tokens = output_tokens = 0
        fixed = self._llm.count_tokens(SYSTEM) + self._llm.count_tokens(json.dumps(SCHEMA))
        for text in _texts(passages):
            length = self._llm.count_tokens(text)
            said = 0
            for number in range(self._rounds + 1):
                expected = self._expected_tokens(length, number)
                if self._cache.get(self.key(text, number)) is None:
                    calls += 1
                    input_tokens += fixed + length + said + (self._llm.count_tokens(AGAIN) if number else 0)
                    output_tokens += expected
                said += expected
        cost = self._llm.info.prices.cost(input_tokens, output_tokens)
        return Estimate(len(passages), calls, input_tokens, output_tokens, cost)

    def key(self, text: str, number: int = 0) -> str:
        """What the answer about a text is kept under, by round: changes with text, model and prompt."""
        said = json.dumps([text, self._llm.info.name, PROMPT_VERSION, number])
        return hashlib.sha256(said.encode()).hexdigest()

    def keys(self, text: str) -> list[str]:
        """The keys of every round: what the cache is to keep for as long as the text is in the index."""
        return [self.key(text, number) for number in range(self._rounds + 1)]

    def _expected_tokens(self, length: int, number: int) -> int:
        share = LATER_ANSWER_SHARE if number else 1.0
        return min(self._max_tokens, ANSWER_BASE_TOKENS + int(share * ANSWER_TOKENS_PER_TOKEN * length))

    def _read_all(self, texts: Sequence[str]) -> dict[str, _Reading]:
        if not texts:
            return {}
        pool = ThreadPoolExecutor(min(self._concurrency, len(texts)), thread_name_prefix="hybridrag-llm")
        try:
            return dict(zip(texts, pool.map(self._read, texts), strict=True))
        finally:
            # Who interrupts this does not want the rest to be paid for.
            pool.shutdown(cancel_futures=True)

    def _read(self, text: str) -> _Reading:
        """Every round about one text; a later round that fails leaves what the earlier ones found."""
        reading = _Reading()
        asked = question(text)
        for number in range(self._rounds + 1):
            said = self._known(text, number, reading) or self._ask(asked, self.key(text, number), reading)
            if said is None:
                break
            found = parse_answer(said)
            if reading.answer is None:
                reading.answer = found
            elif not reading.answer.add(found):
                break
            asked = follow_up(asked, said)
        return reading

    def _known(self, text: str, number: int, reading: _Reading) -> str | None:
        said = self._cache.get(self.key(text, number))
        if said is None or not _is_usable(said):
            return None
        reading.from_cache += 1
        return said

    def _ask(self, messages: Sequence[Message], key: str, reading: _Reading) -> str | None:
        """The model's answer, which is kept; None where there is none that can be used, and why."""
        refusal = StageError("Reading was stopped.") if self._stop.is_set() else self._breaker.refusal()
        if refusal is not None:
            reading.error = refusal
            return None
        reading.calls += 1
        result = self._llm.complete(messages, schema=SCHEMA, max_tokens=self._max_tokens, temperature=TEMPERATURE)
        self._breaker.note(result.error if isinstance(result, Err) else None)
        if isinstance(result, Err):
            reading.error = result.error
            return None
        reading.count(result.value)
        said = result.value.text
        if not _is_usable(said):
            reading.error = StageError(f"{self._llm.info.name} did not answer in the form that it was asked for.")
            return None
        self._cache.put(key, said)
        return said

    def _note(
        self, readings: Sequence[_Reading], *, passages: int, dropped: int, fell_back: tuple[FellBack, ...]
    ) -> None:
        input_tokens = sum(it.input_tokens for it in readings)
        output_tokens = sum(it.output_tokens for it in readings)
        with self._lock:
            before = self._report
            self._report = LlmReport(
                passages=before.passages + passages,
                calls=before.calls + sum(it.calls for it in readings),
                from_cache=before.from_cache + sum(it.from_cache for it in readings),
                input_tokens=before.input_tokens + input_tokens,
                output_tokens=before.output_tokens + output_tokens,
                cost=before.cost + self._llm.info.prices.cost(input_tokens, output_tokens),
                dropped=before.dropped + dropped,
                fell_back=before.fell_back + fell_back,
            )


class _Breaker:
    """Says when a service has failed so often in a row that it is left alone, and for how long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._last: RAGError | None = None

    def note(self, error: RAGError | None) -> None:
        """How a call ended."""
        with self._lock:
            self._failures = 0 if error is None else self._failures + 1
            self._last = error
            if self._failures >= GIVE_UP_AFTER:
                self._until = self._clock() + LEFT_ALONE_SECONDS

    def refusal(self) -> RAGError | None:
        """Why nothing is asked now; None where it may be. When the time is over, one failure is enough."""
        with self._lock:
            if self._failures < GIVE_UP_AFTER or self._clock() >= self._until:
                return None
            return StageError(f"Not asked, after {self._failures} failures in a row; the last was: {self._last}")


def _texts(passages: Sequence[Passage]) -> list[str]:
    """What there is to read, each text once."""
    return [text for text in dict.fromkeys(passage.text for passage in passages) if text.strip()]


def _is_usable(said: str) -> bool:
    try:
        parse_answer(said)
    except ValueError:
        return False
    return True


def _with_aliases(graph: ChunkGraph, local: ChunkGraph) -> ChunkGraph:
    """The aliases that the text itself gives, with the mentions of them that the model left out."""
    keys = {key for record in local.aliases for key in (record.name_key, record.alias_key)}
    taken = {place for mention in graph.mentions for place in range(mention.start, mention.end)}
    missing = [it for it in local.mentions if it.key in keys and taken.isdisjoint(range(it.start, it.end))]
    mentions = sorted([*graph.mentions, *missing], key=_start)
    return replace(graph, mentions=tuple(mentions), aliases=local.aliases)


def _start(mention: Mention) -> int:
    return mention.start
