#!/usr/bin/env python3
"""How Open MPI is told what tests, benchmarks and the scripts of this folder need: options of mpirun, and MCA parameters.

As a command, for shell scripts:
    openmpi.py ARGUMENTS    mpirun with these arguments, permitted to root, and with more ranks than cores
"""

import os
import sys

UCX_WITHOUT_DEVICE = {"opal_common_ucx_tls": "any", "opal_common_ucx_devices": "any"}

# Component: the MCA parameters that select it and nothing else. Distributions switch some of them off in their
# default configuration; naming a component overrides that.
COMPONENTS = {
    "rmalock": {"osc": "rmalock"},
    "sm": {"osc": "sm"},
    "rdma": {"osc": "rdma"},
    "ucx": {"osc": "ucx", "pml": "ucx", **UCX_WITHOUT_DEVICE},
    "pt2pt": {"osc": "pt2pt"},
}

# Messages by TCP, and by shared memory within a host. Open MPI 5.0 takes the name vader, too.
BY_TCP = {"pml": "ob1", "btl": "tcp,vader,self"}


def component_path(folder):
    """A value of mca_base_component_path: the components of a build folder beside those that are installed."""
    return f"SYS_DEFAULT:{os.path.abspath(folder)}/.libs:USR_DEFAULT"


def mca_options(parameters):
    """MCA parameters as options of mpirun."""
    return [word for name, value in parameters.items() for word in ("--mca", name, value)]


def mpirun(*arguments, launcher=None, crowded=True):
    """mpirun refuses root unless told. Crowded: it refuses more ranks than cores as well, and binds each to one."""
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    shared_cores = ["--oversubscribe", "--bind-to", "none"] if crowded else []
    return [launcher or os.environ.get("MPIRUN") or "mpirun", *as_root, *shared_cores, *arguments]


if __name__ == "__main__":
    command = mpirun(*sys.argv[1:])
    os.execvp(command[0], command)
