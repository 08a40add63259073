"""Records which bodies a node has begun, in a file that outlives the node."""
