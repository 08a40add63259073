"""One body: run, watched, stopped, and what came of it."""
