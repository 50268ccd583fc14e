/* Rank 0 works, and all others wait for it in MPI_Recv; then all meet. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { WORK_CPU_SECONDS = 1 };

static volatile unsigned long sink;

__attribute__((noinline)) void work_of_rank_0(void)
{
    clock_t end = clock() + WORK_CPU_SECONDS * CLOCKS_PER_SEC;
    while (clock() < end) {
        for (int i = 0; i < 100000; i++)
            sink += (unsigned long)i;
    }
}

int main(int argc, char **argv)
{
    int rank, size, token = 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        work_of_rank_0();
        for (int to = 1; to < size; to++)
            MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d: %d\n", rank, size, token);
    return MPI_Finalize();
}
