"""The native engine: instructions compiled to machine code, and a driver that runs a wave through them."""
