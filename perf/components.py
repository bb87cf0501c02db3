"""The components that can be compared, and how Open MPI is asked about them."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "contrib"))
import openmpi

# One row per component: mpirun's arguments. pt2pt stands for messages, whatever adapters there are.
COMPONENTS = {
    **{name: " ".join(openmpi.mca_options(parameters)) for name, parameters in openmpi.COMPONENTS.items()},
    "pt2pt": " ".join(openmpi.mca_options({**openmpi.BY_TCP, **openmpi.COMPONENTS["pt2pt"]})),
    "default": "",  # whatever this installation chooses for itself
    "mpich": "",    # another MPI
}

# Rows that are not Open MPI's: the launcher, and the program beside rma_bench that belongs to it.
OTHER_MPI = {"mpich": ("mpirun.mpich", "rma_bench_mpich")}

LOCK = "osc_rmalock_lock"


def ompi_info(*arguments):
    """What ompi_info prints; nothing if there is none."""
    program = shutil.which("ompi_info")
    if not program:
        return ""
    return subprocess.run([program, "--parsable", *arguments], capture_output=True,
                          text=True).stdout


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One MCA parameter of rmalock as ompi_info shows it. The help text ends with what is allowed:
    `(low to high)` or `(one|other)`."""
    name: str
    default: str
    low: int = None
    high: int = None
    choices: tuple = ()
    help: str = ""


def rmalock_parameters():
    """name -> Parameter, in ompi_info's order; empty where rmalock is not found."""
    text = ompi_info("--param", "osc", "rmalock", "--level", "9")
    fields = {}
    for name, field, value in re.findall(r"^mca:osc:rmalock:param:(\w+):(value|help):(.*)$", text, re.M):
        fields.setdefault(name, {})[field] = value
    return {name: parameter_of(name, known) for name, known in fields.items()}


def parameter_of(name, fields):
    text, default = fields.get("help", ""), fields.get("value", "")
    if found := re.search(r"\((-?\d+) to (-?\d+)\)$", text):
        return Parameter(name, default, int(found[1]), int(found[2]), help=text)
    if found := re.search(r"\((\w+(?:\|\w+)+)\)$", text):
        return Parameter(name, default, choices=tuple(found[1].split("|")), help=text)
    return Parameter(name, default, help=text)


def lock_names():
    """The lock algorithms that rmalock knows, without auto, which chooses one of them."""
    lock = rmalock_parameters().get(LOCK)
    return [name for name in lock.choices if name != "auto"] if lock else []


def expand(names):
    """`rmalock/*` becomes one row for every lock. Without rmalock it stays: a row with a reason."""
    locks = [f"rmalock/{lock}" for lock in lock_names()]
    return [each for name in names
            for each in (locks if name == "rmalock/*" and locks else [name])]


def arguments_of(name, known):
    """mpirun's arguments for a component's row, or None if there is no such row. A row of rmalock
    may name the lock, and values of its parameters: rmalock/pf_mcs/t_w=16."""
    component, *parts = name.split("/")
    if name in known:
        return known[name]
    if component != "rmalock" or not parts:
        return None
    arguments = [known[component]]
    for number, part in enumerate(parts):
        parameter, equals, value = part.partition("=")
        if not equals and number > 0:
            return None
        arguments.append(f"--mca osc_rmalock_{parameter} {value}" if equals
                         else f"--mca {LOCK} {part}")
    return " ".join(arguments)


# The locks' thresholds in the order in which RMA-RW (section 6) sets them, and ours beside T_R.
THRESHOLDS = ("t_dc", "t_r", "reader_batch", "t_l", "passes", "t_w")


def thresholds_of(lock, parameters):
    """short name -> Parameter, of those thresholds that this lock uses: their help begins with the
    locks they are for."""
    found = {}
    for short in THRESHOLDS:
        parameter = parameters.get(f"osc_rmalock_{short}")
        named = re.match(r"([a-z_]+(?:, [a-z_]+)*): ", parameter.help) if parameter else None
        if parameter and (lock == "auto" or not named or lock in named[1].split(", ")):
            found[short] = parameter
    return found


def mca_environment():
    """The environment's MCA settings, which apply to every component."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("OMPI_MCA_")}


def absent_component(arguments):
    """The osc component that these mpirun arguments ask for, if Open MPI does not have it.

    mpirun 4.1 at times loses the message that says so; ompi_info looks in the same places."""
    asked = re.search(r"--mca osc (\w+)", arguments)
    listed = ompi_info() if asked else ""
    return None if not listed or f"mca:osc:{asked[1]}:" in listed else asked[1]
