/* Adds to the clock of a process what a file says, in seconds as a native long; loaded by LD_PRELOAD.
 * The monotonic clocks are left alone, as they are when a machine's clock is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long right = 0;
static const volatile long *wrong = &right;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CLOCK_OFFSET");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *page = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED)
        wrong = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *wrong;
    return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec told;
    int result = clock_gettime(CLOCK_REALTIME, &told);
    (void)zone;
    now->tv_sec = told.tv_sec;
    now->tv_usec = told.tv_nsec / 1000;
    return result;
}

time_t time(time_t *where)
{
    struct timespec told;
    clock_gettime(CLOCK_REALTIME, &told);
    if (where)
        *where = told.tv_sec;
    return told.tv_sec;
}
