"""The live state of running jobs, and requests to cancel them."""
