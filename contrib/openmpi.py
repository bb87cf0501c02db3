#!/usr/bin/env python3
"""How Open MPI is told what tests, benchmarks and the scripts of this folder need: options of mpirun, and MCA parameters.

As a command, for shell scripts:
    openmpi.py ARGUMENTS                mpirun with these arguments, permitted to root, and with more ranks than cores
    openmpi.py --uncrowded ARGUMENTS    the same with as many ranks as there is room for, bound as mpirun binds them
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

# Options of mpirun: ranks go to the hosts in turn, however few they are; the job goes on when a process fails.
SPREAD = ["--map-by", "node"]
SURVIVING = ["--with-ft", "ulfm"]

UNCROWDED = "--uncrowded"  # an option of this command alone


def component_path(folder):
    """A value of mca_base_component_path: the components of a build folder beside those that are installed."""
    return f"SYS_DEFAULT:{os.path.abspath(folder)}/.libs:USR_DEFAULT"


def mca_options(parameters):
    """MCA parameters as options of mpirun."""
    return [word for name, value in parameters.items() for word in ("--mca", name, value)]


def on_hosts(hosts, ranks):
    """So many ranks on each of these hosts."""
    return ["--host", ",".join(f"{host}:{ranks}" for host in hosts)]


def mpirun(*arguments, launcher=None, crowded=True):
    """mpirun refuses root unless told. Crowded: it refuses more ranks than cores as well, and binds each to one."""
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    shared_cores = ["--oversubscribe", "--bind-to", "none"] if crowded else []
    return [launcher or os.environ.get("MPIRUN") or "mpirun", *as_root, *shared_cores, *arguments]


if __name__ == "__main__":
    words = sys.argv[1:]
    plain = words[:1] == [UNCROWDED]
    command = mpirun(*words[plain:], crowded=not plain)
    os.execvp(command[0], command)
