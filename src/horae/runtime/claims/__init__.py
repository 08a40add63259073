"""From a claim to its settlement: what a node takes, begins and writes back."""
