"""What Django's own tests of its tasks need to run against Horae's backend."""
