"""Models of other tools: what an ONNX file says, as our graph, and back, both by one declarative table."""
