"""The database: its connections, threads and dialects, and what its errors mean."""
