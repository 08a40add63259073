"""What a node takes: it claims jobs as slots become free, and starts their bodies."""
