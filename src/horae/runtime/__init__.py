"""The node: membership, claims, bodies, settling, sweeping."""
