"""The contract of the engine as frozen pydantic models: ids, documents, queries, results, graph."""
