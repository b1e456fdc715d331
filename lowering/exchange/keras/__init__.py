"""Models of Keras: architecture and weights from ``.keras`` and ``.h5`` files, read without Keras."""
