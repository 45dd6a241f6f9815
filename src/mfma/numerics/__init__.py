"""The arithmetic of the matrix instructions, twice: exact Python integers, and fast native kernels."""
