# hung_torch.py - four ranks of torch.distributed that hang; the argument says how:
#
# skip    rank 3 leaves out a collective call, and is one ahead of the others
# read    rank 2 opens a file that nobody writes: FIFO, the third argument
# lock    rank 2 has two threads that hold each other's locks
# loader  a worker of rank 1 waits for a lock that was held when it was forked
import os
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

first, second = threading.Lock(), threading.Lock()
held = threading.Event()


def reduce():
    dist.all_reduce(torch.ones(100))


def save():
    dist.barrier()


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def take(mine, other, meeting):
    with mine:
        meeting.wait()
        with other:
            pass


def hold():
    with first:
        held.set()
        while True:
            time.sleep(0.01)


class Images(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        with first:
            return torch.ones(3)


def fetch():
    return list(DataLoader(Images(), num_workers=2))


def main(how, folder):
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", init_method="file://" + folder + "/meet",
                            rank=rank, world_size=4)
    reduce()
    if how == "skip" and rank == 3:
        save()
    if how == "read" and rank == 2:
        read(folder + "/fifo")
    if how == "lock" and rank == 2:
        meeting = threading.Barrier(2)
        threads = [threading.Thread(target=take, args=pair + (meeting,))
                   for pair in ((first, second), (second, first))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if how == "loader" and rank == 1:
        threading.Thread(target=hold, daemon=True).start()
        held.wait()
        fetch()
    reduce()
    time.sleep(3600)


main(sys.argv[1], sys.argv[2])
