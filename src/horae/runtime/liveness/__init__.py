"""Whether nodes are alive, and the rescue of the jobs of dead ones."""
