"""Jobs that run in the thread that starts them, under the rules of a node."""
