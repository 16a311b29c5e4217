"""Query in -> classify, expand, plan."""
