"""How `horae run` stays in the foreground."""
