/* Every function that AMD's library exports, as a jump through a table that Python fills at the first call.

   An entry leaves all registers and the stack as the caller made them, so that a table of addresses is enough for
   functions of every signature. Which versions the symbols have is said by the linker's version script. */

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime.h"

/* Where the table begins: a function that is written in C is there from the start, as mfma_c_ and its name. */
#define SYMBOL(number, name) extern void mfma_c_##name(void) __attribute__((weak, visibility("hidden")));
#include "symbols.h"
#undef SYMBOL

#define SYMBOL(number, name) (void *)mfma_c_##name,
__attribute__((visibility("hidden"))) void *mfma_functions[] = {
#include "symbols.h"
};
#undef SYMBOL

#define SYMBOL(number, name) #name,
static const char *const names[] = {
#include "symbols.h"
};
#undef SYMBOL

#define SYMBOL(number, name)                                                                                           \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "mov $" #number ", %eax\njmp mfma_enter\n.size " #name ", . - " #name "\n");
#include "symbols.h"
#undef SYMBOL

/* In: rax, the number of the function. The first call of a function that Python provides goes through mfma_resolve. */
__asm__(".text\n.hidden mfma_enter\n.type mfma_enter, @function\nmfma_enter:\n"
        "lea mfma_functions(%rip), %r11\n"
        "mov (%r11, %rax, 8), %r11\n"
        "test %r11, %r11\n"
        "jz 1f\n"
        "jmp *%r11\n"
        "1:\n"
        "push %rbp\n"
        "mov %rsp, %rbp\n"
        "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\n"
        "sub $128, %rsp\n"
        "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\nmovups %xmm3, 48(%rsp)\n"
        "movups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\nmovups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"
        "mov %eax, %edi\n"
        "and $-16, %rsp\n"
        "call mfma_resolve\n"
        "lea -176(%rbp), %rsp\n"
        "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\nmovups 48(%rsp), %xmm3\n"
        "movups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\nmovups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"
        "add $128, %rsp\n"
        "pop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
        "pop %rbp\n"
        "jmp *%rax\n"
        ".size mfma_enter, . - mfma_enter\n");

static int *last_error(void) {
    static __thread int value;
    return &value;
}

struct runtime mfma_runtime = {
    mfma_functions, sizeof names / sizeof *names, names, &mfma_registrations, last_error, mfma_functions, 0,
};

void mfma_end(const char *what, const char *more) {
    fflush(stdout);
    fprintf(stderr, "mfma: %s%s\n", what, more);
    fflush(NULL);
    _exit(EXIT_UNSUPPORTED);
}

__attribute__((used, visibility("hidden"))) void *mfma_resolve(unsigned number) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, mfma_start);
    if (!mfma_functions[number])
        mfma_end(names[number], " is not implemented by this HIP runtime; do without it, or run the program on a GPU.");
    return mfma_functions[number];
}
