"""Who asks, what they may do, and what is refused before anybody is asked."""
