"""Models of PyTorch: exported programs, and modules that are exported."""
