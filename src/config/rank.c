#include "rank.h"
#include "config_values.h"
#include "profile/profile.h"

#include <stddef.h>

/* The rank in a variable, or PROCESS_NO_RANK. */
static int32_t rank_in(char *const *environment, const char *name)
{
    uint64_t number;
    const char *value = value_in(environment, name);
    bool is_rank = value && parse_number(value, &number) && number <= INT32_MAX;
    return is_rank ? (int32_t)number : PROCESS_NO_RANK;
}

/*
 * MPI's own launchers come first: Open MPI, PMIx (Open MPI 5, Slurm with --mpi=pmix), PMI (MPICH, Intel MPI,
 * Slurm with --mpi=pmi2), MVAPICH2. Slurm sets its variable in batch scripts too, and what mpirun starts
 * there inherits it. So it is a rank only in a step of several tasks.
 */
int32_t rank_find(char *const *environment)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int32_t rank = rank_in(environment, names[i]);
        if (rank >= 0)
            return rank;
    }
    return rank_in(environment, "SLURM_STEP_NUM_TASKS") > 1 ? rank_in(environment, "SLURM_PROCID")
                                                            : PROCESS_NO_RANK;
}
