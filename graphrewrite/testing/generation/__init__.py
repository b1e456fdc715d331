"""Random well-typed graphs, and instances of patterns in them, from the definitions of the ops alone."""
