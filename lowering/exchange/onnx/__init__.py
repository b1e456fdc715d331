"""ONNX models: their nodes read and written by one table, control flow, functions, and data beside the file."""
