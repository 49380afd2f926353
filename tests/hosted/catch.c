#include "tests/hosted/catch.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

enum { STACK_BYTES = 64 * KIB, PAGE_FAULT = 14 };

/* Of the one body that runs: a signal handler has no argument of ours. */
static struct {
    volatile sig_atomic_t inside;
    sigjmp_buf out;
    struct fault fault;
} running;

static void handle(int signal_number, siginfo_t *info, void *context)
{
    const greg_t *reg = ((const ucontext_t *)context)->uc_mcontext.gregs;
    (void)info;
    if (!running.inside) {
        /* The instruction is tried again, and then the signal has its way. */
        (void)signal(signal_number, SIG_DFL);
        return;
    }
    running.fault = (struct fault){
        .vector = (uint64_t)reg[REG_TRAPNO],
        .code = (uint64_t)reg[REG_ERR],
        .ip = (uint64_t)reg[REG_RIP],
        .address = reg[REG_TRAPNO] == PAGE_FAULT ? (uint64_t)reg[REG_CR2] : 0,
    };
    siglongjmp(running.out, 1);
}

enum status catch_prepare(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
    static char stack[STACK_BYTES]; /* a body may have run out of its own */
    const stack_t alternative = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    bool done = sigaltstack(&alternative, NULL) == 0 && sigemptyset(&action.sa_mask) == 0;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        done = done && sigaction(signals[i], &action, NULL) == 0;
    }
    return done ? OK : IO_ERROR;
}

enum status catch_run(void (*body)(void *), void *arg, struct fault *fault)
{
    if (sigsetjmp(running.out, 1) != 0) {
        running.inside = 0;
        *fault = running.fault;
        return FAULTED;
    }
    running.inside = 1;
    body(arg);
    running.inside = 0;
    return OK;
}
