"""Where bodies run."""
