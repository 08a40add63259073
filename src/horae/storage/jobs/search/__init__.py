"""What jobs are found by: their parameters and tags; and the changes of all jobs that a search
finds.
"""
