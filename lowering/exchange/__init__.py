"""Exchange with ONNX: import and export by one declarative table."""
