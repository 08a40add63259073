"""The values of parameters: checked, stored, and given back as they were."""
