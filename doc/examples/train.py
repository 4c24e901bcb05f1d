"""train.py - a training job that hangs: see doc/my-training-job-hangs.md."""
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, rank):
        self.rank = rank

    def __len__(self):
        return 64

    def __getitem__(self, index):
        bad = self.rank == 3 and index == 42
        return torch.full((8,), float("nan") if bad else 1.0)


def average_gradients(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train_step(model, batch):
    loss = model(batch).mean()
    if torch.isnan(loss):
        return  # and with it the all_reduce, which the other ranks enter
    loss.backward()
    average_gradients(model)


def save_checkpoint():
    dist.barrier()


def main():
    dist.init_process_group("gloo")
    model = torch.nn.Linear(8, 1)
    samples = Samples(dist.get_rank())
    for batch in DataLoader(samples, batch_size=8, num_workers=2):
        train_step(model, batch)
    save_checkpoint()


main()
