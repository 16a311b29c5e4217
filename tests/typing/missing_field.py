"""Refused: a required field left out, an unknown one, a value of the wrong type."""

from hybridrag.types.queries import SearchQuery, SearchWeights

# E: Missing named argument "text" for "SearchQuery"  [call-arg]
SearchQuery()
# E: Argument "text" to "SearchQuery" has incompatible type "None"; expected "str"  [arg-type]
SearchQuery(text=None)
# E: Unexpected keyword argument "lang" for "SearchQuery"  [call-arg]
SearchQuery(text="x", lang="en")
# E: Missing named argument "graph" for "SearchWeights"  [call-arg]
SearchWeights(keyword=0.5, semantic=0.5)
SearchQuery(text="limits")
