"""Claims jobs as slots become free, and starts their bodies."""
