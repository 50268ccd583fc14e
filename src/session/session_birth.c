#include "session_birth.h"
#include "base/clock.h"
#include "export/profile_path.h"
#include "sample/proc_tasks.h"

#include <unistd.h>

void session_birth_init(struct session_birth *birth)
{
    birth->pid = getpid();
    birth->user = geteuid();
    birth->start_ns = clock_monotonic_ns();
    birth->start_utc_ns = clock_read_ns(CLOCK_REALTIME);
}

uint32_t session_birth_cookie(const struct session_birth *birth)
{
    return (uint32_t)(birth->start_ns >> 7) ^ (uint32_t)birth->pid;
}

struct process_record session_birth_describe(const struct session_birth *birth, int32_t rank,
                                             char program[PATH_MAX])
{
    return (struct process_record){
        .name = profile_path_program_name(program, PATH_MAX), .pid = birth->pid, .rank = rank, .ending = ""};
}

uint64_t session_birth_process_utc_ns(struct session_birth *birth, int task_directory)
{
    struct proc_task task;
    if (birth->process_utc_ns == 0)
        birth->process_utc_ns = proc_tasks_stat(task_directory, birth->pid, &task)
                                    ? birth->start_utc_ns - (birth->start_ns - task.start_ns)
                                    : birth->start_utc_ns;
    return birth->process_utc_ns;
}
