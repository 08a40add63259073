"""The connection to a Redis server, which live state and hints share."""
