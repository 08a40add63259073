"""Keeps the background work of a Python application."""
