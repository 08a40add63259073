"""How a job is created.

`new_job` makes one value of a type, options and parameters, without the database; `creation` guards
its rules and inserts it in one transaction; `contention` repeats that while another transaction is
in the way. A job that a rule forbids leaves nothing behind.
"""
