"""Tasks for the tests of the runner of experiments, where worker processes can import them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from recrawl.lab.experiment import ExperimentTask, run_experiment


def square(shared, log, number, kill_at=None):
    if number == kill_at:
        os.kill(os.getpid(), 9)
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
    return {"square": number**2, "shared": shared}


def halves(_, size):
    return {"halves": np.arange(size) / 2, "size": np.asarray(size)}


def squares(log, settings="a", kill_at=None):
    return [
        ExperimentTask(f"number {i}", settings, square, (str(log), i, kill_at)) for i in range(5)
    ]


if __name__ == "__main__":
    run_experiment(squares(sys.argv[1], kill_at=3), Path(sys.argv[2]))


class Threads:
    """Stands for an experiment; tells how many threads its libraries use."""

    def count(self):
        import lightgbm  # noqa: F401
        import sklearn.ensemble  # noqa: F401
        from threadpoolctl import threadpool_info

        return [pool["num_threads"] for pool in threadpool_info()]
