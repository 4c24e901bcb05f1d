"""pipeline.py [first] - four processes compute, and one collects the results.

It hangs: it waits for their end before it takes what they send, which is more
than a pipe holds. With "first" it takes the results first, and ends."""
import multiprocessing
import sys


def compute(part, to):
    """Send the results of one part."""
    to.send([part * step for step in range(100000)])


def collect(workers, sources, first):
    """The sum of all results."""
    results = []
    if first:
        results = [source.recv() for source in sources]
    for worker in workers:
        worker.join()
    if not first:
        results = [source.recv() for source in sources]
    return sum(map(sum, results))


def main():
    """Start the processes, and print what they have found."""
    workers, sources = [], []
    for part in range(4):
        source, to = multiprocessing.Pipe(duplex=False)
        workers.append(multiprocessing.Process(target=compute, args=(part, to)))
        sources.append(source)
        workers[-1].start()
    print(collect(workers, sources, sys.argv[1:] == ["first"]))


if __name__ == "__main__":
    main()
