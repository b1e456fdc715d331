"""Models of TensorFlow: frozen graphs, read without TensorFlow."""
