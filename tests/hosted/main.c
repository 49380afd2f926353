/* Ironchase as a program of Linux: the same kernels, sampler, run loop and reports, on the bench that
 * an operating system offers. This page is the table of contents. */
#include "tests/hosted/session.h"
#include "version.h"

/* From here to where each step's work ends; a step that is not OK has said why. */
static enum status (*const step[])(struct session *) = {
    session_arguments, /* what is asked for */
    session_recover,   /* a journal instead of a measurement */
    session_machine,   /* which processor this is, and how fast its clock ticks */
    session_bench,     /* memory, page sizes, counters */
    session_plan,      /* the ordered list of measurements */
    session_files,     /* a new folder */
    session_run,       /* measure, print, save */
};

/* What a shell is told. */
static int exit_status(enum status status)
{
    enum { SUCCESS, FAILURE, MISUSE };
    return status == OK || status == STOPPED ? SUCCESS : status == BAD_SETTING ? MISUSE : FAILURE;
}

int main(int count, char **argument)
{
    static struct session session; /* its pages are present before anything is measured */
    enum status status = OK;
    session.count = count;
    session.argument = argument;
    session.results.program = (struct program){ .version = IRONCHASE_VERSION,
                                                .commit = IRONCHASE_COMMIT,
                                                .compiler = IRONCHASE_COMPILER,
                                                .platform = "linux" };
    for (size_t i = 0; i < sizeof step / sizeof *step && status == OK; i++) {
        status = step[i](&session);
    }
    session_close(&session);
    return exit_status(status);
}
