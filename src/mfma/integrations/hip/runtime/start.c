/* Starts Python in the program's process. Python.h is not needed, and no Python is linked: its library is the one of
   the environment's MFMA_HIP_LIBPYTHON, and what is used of it has been the same in every Python since 3.11. */

#include <dlfcn.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "runtime.h"

#define SET_UP "run the program with `mfma run`, which sets up its environment."

static void *python;

static void *function(const char *name) {
    void *found = dlsym(python, name);
    if (!found)
        mfma_end("the Python of MFMA_HIP_LIBPYTHON lacks ", name);
    return found;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (!value || !*value)
        mfma_end(name, " is not set; " SET_UP);
    return value;
}

static void run(const char *code) {
    if (((int (*)(const char *, void *))function("PyRun_SimpleStringFlags"))(code, NULL))
        mfma_end("the HIP runtime cannot start, for the reason above; ", SET_UP);
}

/* Start an interpreter that believes to be the executable of MFMA_HIP_PYTHON, so that it finds its modules and those
   of its virtual environment. The locale stays the program's, and so do its signals: even without handlers, importing
   Python's module `signal` later would take SIGINT. */
static void initialise(void) {
    const char *executable = variable("MFMA_HIP_PYTHON"), *path = variable("MFMA_HIP_LIBPYTHON");
    python = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!python)
        mfma_end("cannot load Python: ", dlerror());
    char *locale = setlocale(LC_ALL, NULL), *before = locale ? strdup(locale) : NULL;
    wchar_t *(*decode)(const char *, size_t *) = (wchar_t * (*)(const char *, size_t *)) function("Py_DecodeLocale");
    void (*name)(const wchar_t *) = (void (*)(const wchar_t *))function("Py_SetProgramName");
    name(decode(executable, NULL));
    struct sigaction interrupt;
    sigaction(SIGINT, NULL, &interrupt);
    ((void (*)(int))function("Py_InitializeEx"))(0);
    run("import signal\n");
    sigaction(SIGINT, &interrupt, NULL);
    if (before)
        setlocale(LC_ALL, before);
    free(before);
}

void mfma_start(void) {
    int (*running)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    int embedded = running && running();
    int held = 0;
    if (embedded) {
        python = RTLD_DEFAULT;
        held = ((int (*)(void))function("PyGILState_Ensure"))();
    } else {
        initialise();
    }
    char code[256];
    const char *text = "import os, sys\n"
                       "sys.path.append(os.environ['MFMA_HIP_PATH'])\n"
                       "from mfma.integrations.hip.runtime import install\n"
                       "install(%zu, %d == 0)\n";
    variable("MFMA_HIP_PATH");
    snprintf(code, sizeof code, text, (size_t)&mfma_runtime, embedded);
    run(code);
    if (embedded)
        ((void (*)(int))function("PyGILState_Release"))(held);
    else
        ((void *(*)(void))function("PyEval_SaveThread"))();
}
