"""File in -> text -> chunks."""
