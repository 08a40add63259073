"""What operators do: queues, the overview, the record of changes."""
