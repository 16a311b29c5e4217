"""How much an LLM may cost, over all threads: looked at before each call, and counted after it."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from hybridrag.errors import StageError
from hybridrag.protocols import TokenPrices
from hybridrag.result import Err, Ok, Result

NO_PRICES = TokenPrices()


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used so far."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Both ways."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call that is under way may use at most."""

    input_tokens: int
    output_tokens: int


class Budget:
    """The most that may be used in all; a limit of 0 is no limit.

    Budget(max_tokens_total=1000).reserve(900, 200) -> Err: "... has used 0 ... and the next call may use 1,100 ..."

    A call is let through only if its worst case fits beside what is spent and what others are about to spend, so that
    the limit holds with many threads. What a failed call cost is not known, and not counted.
    """

    def __init__(self, *, max_tokens_total: int = 0, max_cost: float = 0.0, prices: TokenPrices = NO_PRICES) -> None:
        self.prices = prices
        self._max_tokens = max_tokens_total
        self._max_cost = max_cost
        self._lock = threading.Lock()
        self._used = Usage()
        self._reserved_tokens = 0
        self._reserved_cost = 0.0
        self._under_way = 0

    @property
    def used(self) -> Usage:
        """What the finished calls took."""
        with self._lock:
            return self._used

    def reserve(self, input_tokens: int, output_tokens: int) -> Result[Reservation]:
        """Set aside what a call may use at most; to be followed by `settle` or `release`."""
        tokens = input_tokens + output_tokens
        cost = self.prices.cost(input_tokens, output_tokens)
        with self._lock:
            if 0 < self._max_tokens < self._used.tokens + self._reserved_tokens + tokens:
                return Err(self._too_many_tokens(tokens))
            if 0 < self._max_cost < self._used.cost + self._reserved_cost + cost:
                return Err(self._too_expensive(cost))
            self._reserved_tokens += tokens
            self._reserved_cost += cost
            self._under_way += 1
        return Ok(Reservation(input_tokens, output_tokens))

    def settle(self, reservation: Reservation, *, input_tokens: int, output_tokens: int) -> None:
        """Count what the call really took, even if that is more than was set aside."""
        with self._lock:
            self._give_back(reservation)
            self._used = Usage(
                calls=self._used.calls + 1,
                input_tokens=self._used.input_tokens + input_tokens,
                output_tokens=self._used.output_tokens + output_tokens,
                cost=self._used.cost + self.prices.cost(input_tokens, output_tokens),
            )

    def release(self, reservation: Reservation) -> None:
        """The call failed: nothing is counted."""
        with self._lock:
            self._give_back(reservation)

    def _give_back(self, reservation: Reservation) -> None:
        self._under_way -= 1
        self._reserved_tokens -= reservation.input_tokens + reservation.output_tokens
        self._reserved_cost -= self.prices.cost(reservation.input_tokens, reservation.output_tokens)

    def _too_many_tokens(self, tokens: int) -> StageError:
        return StageError(
            f"The LLM has used {self._used.tokens:,} of {self._max_tokens:,} tokens, and the next call may use"
            f" {tokens:,} more{self._beside()}.",
            hint="Raise `llm.max_tokens_total` to go on.",
        )

    def _too_expensive(self, cost: float) -> StageError:
        return StageError(
            f"The LLM has cost {self._used.cost:.4g} of {self._max_cost:.4g}, and the next call may cost"
            f" {cost:.2g} more{self._beside()}.",
            hint="Raise `llm.max_cost` to go on.",
        )

    def _beside(self) -> str:
        return f" beside {self._under_way} under way" if self._under_way else ""
