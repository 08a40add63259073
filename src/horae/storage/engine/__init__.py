"""One database and the ways to it: connections, threads, dialects, what its errors mean."""
