"""Definitions of ops and mapping rules as data: of ONNX, TensorFlow and deeplearning4j."""
