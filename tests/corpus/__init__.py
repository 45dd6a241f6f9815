"""Compiled gfx942 kernels with expectations that no emulator computed."""
