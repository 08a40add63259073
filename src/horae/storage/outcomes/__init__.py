"""How jobs end: settled by their node, or ended by somebody else."""
