"""What a node gives back: it writes how bodies ended, and acts on what is committed."""
