"""The reference engine: the nodes of every instruction's program, evaluated one after the other with NumPy."""
