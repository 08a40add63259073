"""One script a revision, frozen once released."""
