"""The values of parameters: checked, stored, and restored unchanged."""
