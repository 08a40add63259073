"""The methods of `Jobs`, one class for each kind: start, read, change, group, change many."""
