"""The checks of `horae doctor`: each is a function that returns its findings, their meaning, and
what to do.
"""
