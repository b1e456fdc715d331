"""Scripts that make the models need packages that the project does not: pytest leaves them alone."""

collect_ignore_glob = ["make_*.py", "torch_*.py"]
