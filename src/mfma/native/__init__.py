"""Native code without a compiler on the machine: vector programs in LLVM IR, built by llvmlite and cached.

`mfma.native.simd` is a small notation for vector kernels, `mfma.native.jit` turns a kernel into machine code
for this CPU (once: the object file is kept on disk), and `mfma.native.threads` runs pieces of work on threads.
"""
