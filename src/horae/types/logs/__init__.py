"""Log records: the fields of the job that a record belongs to, and the lines that are written."""
