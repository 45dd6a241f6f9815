"""Cycles, peak figures and wait states: how fast the matrix instructions are, and what they wait for."""
