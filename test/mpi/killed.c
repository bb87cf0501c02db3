// A job of two ranks that is killed while it creates a window whose segment has a name. Rank 0 makes the file,
// and kills itself in that moment: the launcher must have heard of the name before. check_parameters looks at
// what is left.
#define _GNU_SOURCE // O_TMPFILE
#include "hide.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int has_begun; // to create the window

/// Stands in for the C library's.
int open(const char* path, int flags, ...) {
    static const char said[] = "killed when the segment had a name\n";
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (has_begun && file >= 0 && (flags & O_CREAT) != 0 && strstr(path, "/rmalock.") != NULL &&
        write(STDOUT_FILENO, said, strlen(said)) > 0)
        kill(getpid(), SIGKILL);
    return file;
}

int main(int argc, char** argv) {
    void* base;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    hide();
    has_begun = 1;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    puts("the window was made");
    MPI_Abort(MPI_COMM_WORLD, 0);
}
