"""The HTTP server of a node: listens, limits connections, and throttles repeated log lines."""
