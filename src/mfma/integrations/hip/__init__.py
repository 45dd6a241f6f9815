"""HIP programs on the emulator: a library of the name of AMD's HIP runtime, and what compiles and starts programs.

`mfma.integrations.hip.library` builds the library from the C in ``runtime/``; the program's loader takes it for AMD's.
At the first call it starts Python in the program's process, and `mfma.integrations.hip.runtime` fills its table of
functions. What a program sees:

* Memory of the device and of `hipHostMalloc` has one address on both sides, and host and kernels see the same bytes.
* A launch, like all that goes into a stream, has happened when the call returns; kernels of several threads run one
  after the other. So a kernel that waits for what the host does later waits for ever.
* A fault, a trap, a failed assertion and a launch that takes too long end the program by SIGABRT, after a sentence on
  stderr; what is in buffers of C's streams is written before.
* A function, an instruction or a kind of file that is not implemented ends it with exit code 70, and a sentence, too.
* Wrong calls give the statuses of AMD's runtime. Unlike in ROCm before 7, success does not clear `hipGetLastError`.
* hipRTC compiles for gfx942 with the clang that compiles whole programs; see `mfma.integrations.hip.rtc`.
* Time between events is the host's, not a GPU's.
"""
