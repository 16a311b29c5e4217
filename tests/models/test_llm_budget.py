from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from hybridrag.errors import StageError
from hybridrag.models.budget import Budget, Usage
from hybridrag.protocols import TokenPrices
from hybridrag.result import Err, Ok

PRICES = TokenPrices(per_million_input=2.0, per_million_output=8.0)


def refusal(budget: Budget, input_tokens: int, output_tokens: int) -> str:
    result = budget.reserve(input_tokens, output_tokens)
    assert isinstance(result, Err)
    assert isinstance(result.error, StageError)
    return str(result.error)


def test_no_limit_lets_everything_through() -> None:
    budget = Budget()
    budget.settle(budget.reserve(10**12, 10**12).unwrap(), input_tokens=10**12, output_tokens=10**12)
    assert isinstance(budget.reserve(10**12, 10**12), Ok)
    assert budget.used.tokens == 2 * 10**12


def test_a_call_whose_worst_case_does_not_fit_is_refused() -> None:
    budget = Budget(max_tokens_total=1000)
    assert isinstance(budget.reserve(800, 200), Ok)
    assert refusal(Budget(max_tokens_total=1000), 900, 200) == (
        "The LLM has used 0 of 1,000 tokens, and the next call may use 1,100 more."
        " Raise `llm.max_tokens_total` to go on."
    )


def test_what_others_are_about_to_use_counts_until_they_are_done() -> None:
    budget = Budget(max_tokens_total=1000)
    first = budget.reserve(300, 300).unwrap()
    assert "600 more beside 1 under way" in refusal(budget, 300, 300)
    budget.settle(first, input_tokens=300, output_tokens=20)
    assert isinstance(budget.reserve(300, 300), Ok)


def test_what_was_really_used_counts_even_past_the_limit() -> None:
    budget = Budget(max_tokens_total=1000)
    budget.settle(budget.reserve(10, 10).unwrap(), input_tokens=1500, output_tokens=0)
    assert "has used 1,500 of 1,000 tokens" in refusal(budget, 1, 0)


def test_a_failed_call_gives_back_what_it_set_aside() -> None:
    budget = Budget(max_tokens_total=100, max_cost=1.0, prices=PRICES)
    for _ in range(50):
        budget.release(budget.reserve(50, 50).unwrap())
    assert budget.used == Usage()
    assert isinstance(budget.reserve(50, 50), Ok)


def test_cost_is_counted_by_the_prices_and_limited() -> None:
    budget = Budget(max_cost=10.0, prices=PRICES)
    budget.settle(budget.reserve(10**6, 10**6).unwrap(), input_tokens=10**6, output_tokens=500_000)
    assert budget.used == Usage(calls=1, input_tokens=10**6, output_tokens=500_000, cost=6.0)
    assert refusal(budget, 10**6, 500_000) == (
        "The LLM has cost 6 of 10, and the next call may cost 6 more. Raise `llm.max_cost` to go on."
    )


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40), st.integers(1, 500))
def test_calls_that_keep_to_their_estimate_never_pass_the_limit(calls: list[tuple[int, int]], limit: int) -> None:
    budget = Budget(max_tokens_total=limit)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda call: _spend(budget, *call), calls))
    assert budget.used.tokens <= limit
    assert isinstance(budget.reserve(0, limit - budget.used.tokens), Ok)


def _spend(budget: Budget, input_tokens: int, output_tokens: int) -> None:
    result = budget.reserve(input_tokens, output_tokens)
    if isinstance(result, Ok):
        budget.settle(result.value, input_tokens=input_tokens, output_tokens=output_tokens)
