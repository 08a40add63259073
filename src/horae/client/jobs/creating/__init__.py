"""How a job is created: checked, counted, inserted, and retried while another transaction creates
one.
"""
