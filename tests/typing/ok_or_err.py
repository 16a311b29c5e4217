"""`Ok | Err`: what a stage returns keeps its type through `map`, `unwrap` and `match`."""

from typing import assert_type

from hybridrag.errors import ProviderError, RAGError
from hybridrag.result import Err, Ok, Result


def stage(number: int) -> Result[int]:
    return Ok(number) if number else Err(ProviderError("cohere", "answered 500"))


result = stage(1)
assert_type(result.unwrap(), int)
assert_type(result.map(str), Ok[str] | Err[RAGError])
assert_type(result.map(lambda number: [number]), Ok[list[int]] | Err[RAGError])
match result:
    case Ok(value):
        assert_type(value, int)
    case Err(error):
        assert_type(error, RAGError)

wider: Result[object] = result
# E: Incompatible types in assignment (expression has type "Ok[int] | Err[RAGError]",
#    variable has type "Ok[str] | Err[RAGError]")  [assignment]
narrower: Result[str] = result
# E: Value of type variable "E_co" of "Err" cannot be "ValueError"  [type-var]
Err(ValueError("x"))
# E: Item "Err[RAGError]" of "Ok[int] | Err[RAGError]" has no attribute "value"  [union-attr]
value = result.value
