"""Rules, the search for their matches, and the engine that applies them."""
