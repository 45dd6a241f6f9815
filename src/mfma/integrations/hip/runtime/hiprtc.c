/* libhiprtc.so, in which newer ROCm has the functions of hipRTC. Each is a jump to the function of the same name in the
   library of the HIP runtime, so that a process has one runtime however its program is linked. */

#include <dlfcn.h>
#include <stddef.h>

#define SYMBOL(number, name) NULL,
__attribute__((visibility("hidden"))) void *mfma_hiprtc[] = {
#include "hiprtc_symbols.h"
};
#undef SYMBOL

#define SYMBOL(number, name) #name,
static const char *const names[] = {
#include "hiprtc_symbols.h"
};
#undef SYMBOL

#define SYMBOL(number, name)                                                                                           \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "jmp *mfma_hiprtc+8*" #number "(%rip)\n.size " #name ", . - " #name "\n");
#include "hiprtc_symbols.h"
#undef SYMBOL

/* RUNTIME is the name of the library that this one is linked with, so it is loaded already. RTLD_NEXT would not do: a
   program may name that library first. */
__attribute__((constructor)) static void find(void) {
    void *runtime = dlopen(RUNTIME, RTLD_NOW);
    for (size_t number = 0; runtime && number < sizeof names / sizeof *names; number++)
        mfma_hiprtc[number] = dlsym(runtime, names[number]);
}
