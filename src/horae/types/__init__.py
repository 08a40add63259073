"""Job types: what to do, under which rules."""
