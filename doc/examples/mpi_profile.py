"""mpi_profile.py SESSION-FILE COUNT - a profiler of a running MPI job.

    python3 mpi_profile.py session 4 &
    mpirun -n 4 ./mpi_be session

It asks all ranks which of them computes longest, and that one alone for all of
its times."""

import sys

import coppice

LONGEST = coppice.TAG_FIRST + 1
TIMES = coppice.TAG_FIRST + 2


def profile(path: str, count: int) -> None:
    with coppice.launch(shape="2x2", session_path=path) as network:
        while len(network.backends) < count:
            network.event(timeout=30)
        words = coppice.Packet(0, "%as", ["max", "with:0", "avg"])
        everyone = network.open(up_filter="fields", parameters=words)
        everyone.send(LONGEST)
        longest, rank, mean = everyone.receive(timeout=10)
        node = network.node(rank)
        print(f"{node.label} on {node.host} computes longest, "
              f"{longest / mean:.1f} times the mean:")
        some = network.open(sync="do_not_wait")
        some.send_to([rank], coppice.Packet(TIMES))
        for phase, seconds in zip(*some.receive(timeout=10)):
            print(f"    {seconds:.3f} s in {phase}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: mpi_profile.py SESSION-FILE COUNT")
    profile(sys.argv[1], int(sys.argv[2]))
