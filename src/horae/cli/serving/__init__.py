"""The foreground process of `horae run`: signals, logging, limits and servers."""
