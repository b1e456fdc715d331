"""Layers of neural networks: convolutions, pooling, activations, normalisations, recurrent layers."""
