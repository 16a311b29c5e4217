"""HybridRAG: search your own documents by keyword, meaning and knowledge graph at once."""
