"""Authentication, permissions, and checks of every request."""
