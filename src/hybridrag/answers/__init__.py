"""Answers: a short answer, the sentences around it, citations, abstention."""
