"""The only folder that imports model SDKs: embedders, rerankers, LLMs."""
