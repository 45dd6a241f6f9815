"""Whole matrices: products of any size as a kernel computes them, and one output explained step by step."""
