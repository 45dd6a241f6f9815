"""Triton's kernels are sources for a compiler: collecting them would import it."""

collect_ignore_glob = ["triton_kernels*.py"]
