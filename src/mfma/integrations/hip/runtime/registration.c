/* What compiled HIP programs call by themselves: at their start, to announce device code, which is only noted here, so
   that a program that never uses the GPU never starts Python; and around the <<<>>> of a launch. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime.h"

#define ENTRY __attribute__((visibility("hidden"), used))

struct dim3 {
    uint32_t x, y, z;
};

struct configuration {
    struct configuration *below;
    struct dim3 grid, block;
    size_t shared;
    void *stream;
};

struct registration *mfma_registrations;
static struct registration **last = &mfma_registrations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct configuration *configurations;

static struct registration *note(struct registration given) {
    struct registration *made = malloc(sizeof *made);
    if (!made)
        mfma_end("there is no memory for what the program registers", ".");
    *made = given;
    pthread_mutex_lock(&lock);
    *last = made;
    last = &made->next;
    mfma_runtime.changes++;
    pthread_mutex_unlock(&lock);
    return made;
}

ENTRY void **mfma_c___hipRegisterFatBinary(const void *wrapper) {
    return (void **)note((struct registration){.address = wrapper, .kind = FAT_BINARY});
}

ENTRY void mfma_c___hipRegisterFunction(void **binary, const void *stub, char *stub_name, const char *name,
                                        unsigned threads, void *thread, void *block, struct dim3 *block_size,
                                        struct dim3 *grid_size, int *wave) {
    (void)stub_name, (void)threads, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)wave;
    note((struct registration){.owner = (void *)binary, .address = stub, .name = name, .kind = FUNCTION});
}

ENTRY void mfma_c___hipRegisterVar(void **binary, void *shadow, char *host_name, char *name, int external, size_t size,
                                   int constant, int global) {
    (void)host_name, (void)external, (void)constant, (void)global;
    note((struct registration){
        .owner = (void *)binary, .address = shadow, .name = name, .size = size, .kind = VARIABLE});
}

/* Textures and surfaces may be registered; the functions that use them end the program. */
ENTRY void mfma_c___hipRegisterTexture(void) {}
ENTRY void mfma_c___hipRegisterSurface(void) {}

ENTRY void mfma_c___hipUnregisterFatBinary(void **binary) {
    pthread_mutex_lock(&lock);
    for (struct registration *one = mfma_registrations; one; one = one->next)
        if (one == (void *)binary || one->owner == (void *)binary)
            one->dead = 1;
    mfma_runtime.changes++;
    pthread_mutex_unlock(&lock);
}

ENTRY int mfma_c___hipPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, void *stream) {
    struct configuration *made = malloc(sizeof *made);
    if (!made)
        return 2; /* hipErrorOutOfMemory */
    *made = (struct configuration){configurations, grid, block, shared, stream};
    configurations = made;
    return 0;
}

ENTRY int mfma_c___hipPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void **stream) {
    struct configuration *top = configurations;
    if (!top)
        return 52; /* hipErrorMissingConfiguration */
    *grid = top->grid, *block = top->block, *shared = top->shared, *stream = top->stream;
    configurations = top->below;
    free(top);
    return 0;
}
