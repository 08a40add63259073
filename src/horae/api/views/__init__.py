"""Models of responses, made from stored values."""
