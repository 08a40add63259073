"""What responses say: each view is a value made of a stored one."""
