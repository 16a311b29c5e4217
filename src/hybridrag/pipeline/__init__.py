"""A question's way through the stages: understand, find, rerank, verify, show; and the cache and spans around it."""
