"""Integrations of Horae with other libraries; each needs the extra of its name."""
