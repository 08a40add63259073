"""The checks of `horae doctor`: each is a function that says what it found, what that means, and what to do."""
