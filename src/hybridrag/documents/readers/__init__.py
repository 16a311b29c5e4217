"""One reader per format: a `Source` in, a `Document` out. Libraries are loaded when the first file needs them."""
