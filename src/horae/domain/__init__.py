"""The rules, pure: values in, values out; no I/O, no clock, no dice of their own."""
