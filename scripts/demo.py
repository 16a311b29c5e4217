"""`make demo`: check a question, and show everything that decides its answer."""

from __future__ import annotations

import json

from hybridrag import InvalidQuery, default_weights, parse_query

QUESTION = {"text": "How does BM25 differ from vector search?", "type": "relationship", "options": {"limit": 5}}
WRONG = {"text": "How does BM25 differ from vector search?", "options": {"limt": 5}}


def main() -> None:
    query = parse_query(QUESTION)
    print("A query with every default filled in, as the JSON that clients send:\n")
    print(json.dumps(query.model_dump(mode="json"), indent=2, ensure_ascii=False))
    weights = default_weights(query.type)
    print(f"\nRecommended weights for a {query.type.value} question:")
    print(f"  keyword {weights.keyword:.2f}, semantic {weights.semantic:.2f}, graph {weights.graph:.2f}")
    print("\nA misspelt option is an error that names it:\n")
    try:
        parse_query(WRONG)
    except InvalidQuery as error:
        print(f"  {error}")


if __name__ == "__main__":
    main()
