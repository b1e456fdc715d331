"""Scripts that need a framework, run by hand: pytest does not import them to look for doctests."""

collect_ignore_glob = ["record_*.py", "torch_*.py"]
