/* What the C part of the HIP runtime shares: with itself, and, as `struct runtime`, with the Python part. */

#ifndef MFMA_RUNTIME_H
#define MFMA_RUNTIME_H

#include <stddef.h>

/* sysexits.h's EX_SOFTWARE: what the program asked for is not there, which is no error of the program. */
#define EXIT_UNSUPPORTED 70

/* What a static initialiser of the program announced. */
enum kind { FAT_BINARY, FUNCTION, VARIABLE };

struct registration {
    struct registration *next;
    struct registration *owner; /* the fat binary that a function or variable is in */
    const void *address;        /* of the fat binary's wrapper, of the function's stub or the variable's shadow */
    const char *name;           /* in the code object */
    size_t size;
    int kind;
    int dead; /* unloaded with the shared library that it came with */
};

/* What Python gets the address of; `mfma.integrations.hip.interface.Runtime` mirrors it. */
struct runtime {
    void **functions; /* one for each line of symbols.txt, NULL where nothing implements it */
    size_t count;
    const char *const *names;
    struct registration *const *first;
    int *(*last_error)(void); /* the calling thread's */
    const void *self;         /* an address in this library */
    size_t changes;           /* how often something was announced, or went */
};

extern struct runtime mfma_runtime;
extern struct registration *mfma_registrations;

/* Starts Python, once, and lets it fill `functions`; ends the program if that is not possible. */
void mfma_start(void);

/* Writes one line to stderr, after what is in stdout's buffer, and ends the program. */
_Noreturn void mfma_end(const char *what, const char *more);

#endif
