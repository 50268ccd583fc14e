#include "real.h"

#include <dlfcn.h>
#include <stdint.h>

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

struct real_table real_table;

/* dlsym returns an object pointer; POSIX guarantees that it converts. */
#define RESOLVE(field) (real->field = (__typeof__(real->field))(uintptr_t)next(#field))

const struct real *real_resolve(void)
{
    struct real *real = &real_table.functions;
    RESOLVE(pthread_create);
    RESOLVE(pthread_join);
    RESOLVE(thrd_create);
    RESOLVE(sigaction);
    RESOLVE(sigprocmask);
    RESOLVE(pthread_sigmask);
    RESOLVE(raise);
    RESOLVE(gsignal);
    RESOLVE(kill);
    RESOLVE(killpg);
    RESOLVE(tgkill);
    RESOLVE(sigqueue);
    RESOLVE(pthread_kill);
    RESOLVE(pthread_sigqueue);
    RESOLVE(setitimer);
    RESOLVE(timer_create);
    RESOLVE(mq_notify);
    RESOLVE(getaddrinfo_a);
    RESOLVE(aio_read);
    RESOLVE(aio_write);
    RESOLVE(aio_fsync);
    RESOLVE(lio_listio);
    RESOLVE(fcntl);
    RESOLVE(signalfd);
    RESOLVE(pthread_attr_setsigmask_np);
    RESOLVE(pthread_attr_getsigmask_np);
    RESOLVE(dlclose);
    RESOLVE(fork);
    RESOLVE(_Fork);
    RESOLVE(daemon);
    RESOLVE(forkpty);
    RESOLVE(clock_nanosleep);
    RESOLVE(poll);
    RESOLVE(ppoll);
    RESOLVE(select);
    RESOLVE(pselect);
    RESOLVE(epoll_wait);
    RESOLVE(epoll_pwait);
    RESOLVE(epoll_pwait2);
    RESOLVE(sem_wait);
    RESOLVE(sem_timedwait);
    RESOLVE(sem_clockwait);
    RESOLVE(semop);
    RESOLVE(semtimedop);
    RESOLVE(msgsnd);
    RESOLVE(msgrcv);
    RESOLVE(sigtimedwait);
    RESOLVE(sigsuspend);
    RESOLVE(pause);
    RESOLVE(aio_suspend);
    RESOLVE(syscall);
    RESOLVE(read);
    RESOLVE(readv);
    RESOLVE(write);
    RESOLVE(writev);
    RESOLVE(getrandom);
    RESOLVE(sendfile);
    RESOLVE(copy_file_range);
    RESOLVE(tcdrain);
    RESOLVE(setsockopt);
    RESOLVE(accept);
    RESOLVE(accept4);
    RESOLVE(connect);
    RESOLVE(recv);
    RESOLVE(recvfrom);
    RESOLVE(recvmsg);
    RESOLVE(recvmmsg);
    RESOLVE(send);
    RESOLVE(sendto);
    RESOLVE(sendmsg);
    RESOLVE(sendmmsg);
    RESOLVE(posix_spawn);
    RESOLVE(posix_spawnp);
    RESOLVE(popen);
    RESOLVE(system);
    RESOLVE(execve);
    RESOLVE(execvpe);
    RESOLVE(fexecve);
    RESOLVE(execveat);
    RESOLVE(unshare);
    RESOLVE(setns);
    RESOLVE(capset);
    RESOLVE(prctl);
    RESOLVE(wait4);
    RESOLVE(waitid);
    RESOLVE(_exit);
    RESOLVE(abort);
    __atomic_store_n(&real_table.is_resolved, 1, __ATOMIC_RELEASE); /* partner: the acquire in real.h */
    return real;
}
