"""Virtual hosts on one machine: what the command `vcluster` is made of.

A host is a set of namespaces (network, UTS, IPC, mount) that a sleeping process keeps alive; one more such
process keeps the network between them. Nothing has a name outside of these namespaces, so clusters do
not collide, and the kernel removes all of it when the last process in it is gone. What is known
about a cluster lies in its state folder, in cluster.json.
"""

import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
TMP = "/tmp"  # the folder of which every host has its own
STATE = "cluster.json"
UNSHARE = ["unshare", "--propagation", "unchanged"]
NAMESPACES = ["--net", "--uts", "--ipc", "--mount"]
MAX_HOSTS, MAX_RACKS = 200, 50
UNAVAILABLE = 77  # exit status: such hosts cannot be had on this machine; make check takes it as SKIP


class Error(Exception):
    """Something went wrong; the message is for the user."""

    status = 1


class Unavailable(Error):
    """This machine, or this user, cannot have virtual hosts."""

    status = UNAVAILABLE


def parse_spec(text):
    """Slots of each host: `4x2` is [2, 2, 2, 2], `1,2,3` is [1, 2, 3], `2x3,1` is [3, 3, 1]."""
    slots = []
    for part in text.split(","):
        found = re.fullmatch(r"(?:(\d+)x)?(\d+)", part)
        if not found or int(found[1] or 1) < 1 or int(found[2]) < 1:
            raise Error(f"'{text}' names no hosts; wanted is HOSTSxRANKS or RANKS,RANKS,... (4x2, or 1,2,3)")
        if len(slots) + int(found[1] or 1) > MAX_HOSTS:
            raise Error(f"'{text}': {MAX_HOSTS} hosts are the most")
        slots += int(found[1] or 1) * [int(found[2])]
    return slots


def default_folder():
    return os.path.abspath(os.environ.get("VCLUSTER_DIR", os.path.join(TMP, "vcluster")))


def folder_for_one_run():
    """VCLUSTER_DIR where it is given, else one that nobody else has."""
    if "VCLUSTER_DIR" in os.environ:
        return default_folder()
    return tempfile.mkdtemp(prefix="vcluster-", dir=TMP)


# --- Processes -------------------------------------------------------------------------------------------


def began(pid):
    """When the process began, in clock ticks since boot; None if there is no such process, or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def identity(pid):
    """A process, told from later ones that get the same number."""
    return [pid, began(pid)]


def is_alive(process):
    return process is not None and process[1] is not None and began(process[0]) == process[1]


def namespace(pid, kind="net"):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def has_environment(pid, setting):
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return setting.encode() in environ.read().split(b"\0")
    except OSError:
        return False


def members(state):
    """Numbers of the processes that are in one of the cluster's hosts, or keep one.

    The number of a namespace is given out again once it is gone: it is trusted only while the process that
    keeps the namespace lives. What is left without one is known by its environment.
    """
    kept = {h["net"] for h in keepers_of(state) if is_alive(h["process"])}
    mark = f"VCLUSTER_ID={state['id']}"
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            if namespace(name) in kept or (namespace(name) is not None and has_environment(name, mark)):
                found.append(int(name))
    return found


def keepers_of(state):
    return [h for h in state["hosts"] + [state.get("network")] if h and "process" in h]


def run(command, problem, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(f"{problem}: {(done.stderr or done.stdout).strip() or f'exit status {done.returncode}'}")
    return done.stdout


# --- What a machine must allow -----------------------------------------------------------------------------

# What is mounted in a host must not show up outside. Where / is no mount point (in a chroot) mount cannot
# change it, and then all has to be private already.
PRIVATE = """
mount --make-rprivate / 2>/dev/null || ! grep ' shared:' /proc/self/mountinfo
"""
PROBE = """
mount -t tmpfs none /dev/shm
mount -t sysfs sysfs /sys
ip link add probe0 type bridge
ip link add probe1 type veth peer name probe2
"""


def require_permission():
    """Raises Unavailable, with the reason, unless hosts can be made here."""
    for tool, package in (("ip", "iproute2"), ("unshare", "util-linux"), ("nsenter", "util-linux")):
        if shutil.which(tool) is None:
            raise Unavailable(f"needs the program {tool} (Debian package {package})")
    done = subprocess.run([*UNSHARE, *NAMESPACES, "sh", "-ec", PRIVATE + PROBE], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise Unavailable("cannot make hosts here, it takes root with CAP_SYS_ADMIN and CAP_NET_ADMIN: "
                          + done.stderr.strip().replace("\n", "; "))


# --- Up ------------------------------------------------------------------------------------------------------

# Runs in a host's new namespaces: $1 state folder, $2 name of the host, then the folders to share. Ends
# as the process that keeps the host. A fresh sysfs shows the devices of this host's network; the control
# groups that lay on the old one are put back.
KEEP_HOST = PRIVATE + """
folder=$1 name=$2
shift 2
hostname "$name"
mount -t tmpfs -o mode=1777 vcluster /dev/shm
mount --rbind /sys/fs/cgroup "$folder/mount"
mount -t sysfs sysfs /sys
mount --move "$folder/mount" /sys/fs/cgroup
mount --bind "$folder/hosts" /etc/hosts
mount -t tmpfs -o mode=1777 vcluster "$folder/mount"
for share do
    mkdir -p "$folder/mount/${share#/tmp/}"
    mount --bind "$share" "$folder/mount/${share#/tmp/}"
done
mount --move "$folder/mount" /tmp
echo ready
exec sleep infinity </dev/null >/dev/null 2>&1
"""
KEEP_NETWORK = "echo ready; exec sleep infinity </dev/null >/dev/null 2>&1"


def keep(script, arguments, namespaces, environment, what):
    """Starts a process that keeps new namespaces; returns once it has set them up."""
    process = subprocess.Popen([*UNSHARE, *namespaces, "sh", "-ec", script, "vcluster", *arguments],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment, start_new_session=True, cwd="/")
    if process.stdout.readline() != b"ready\n":
        problem = process.stderr.read().decode(errors="replace").strip()
        process.wait()
        raise Error(f"{what} could not be set up: {problem}")
    process.stdout.close()
    process.stderr.close()
    return {"process": identity(process.pid), "net": namespace(process.pid)}


def inside(keeper, command, *, only_network=False):
    """The command line that runs `command` in the namespaces of a keeper."""
    flags = ["--net"] if only_network else [*NAMESPACES, "--root", "--wd"]
    return ["nsenter", "--target", str(keeper["process"][0]), *flags, "--", *command]


def configure(keeper, lines, what):
    run(inside(keeper, ["ip", "-batch", "-"], only_network=True), what, "\n".join(lines) + "\n")


def describe(slots, racks):
    """The hosts, as far as that is known before there are any; racks get neighbours."""
    hosts = []
    for i, count in enumerate(slots):
        rack = i * racks // len(slots) + 1
        hosts.append({"name": f"node{i + 1}", "slots": count, "rack": rack, "address": f"10.77.{rack}.{i + 1}"})
    return hosts


def shares_from(given):
    """The folders below /tmp that hosts must see, outer ones first and none twice."""
    wanted = [HERE, os.getcwd(), *os.environ.get("VCLUSTER_SHARE", "").split(), *given]
    found = set()
    for folder in wanted:
        real = os.path.realpath(folder)
        if not os.path.isdir(real):
            raise Error(f"cannot share {folder} with the hosts: there is no such folder")
        found.update(path for path in (os.path.abspath(folder), real) if path.startswith(TMP + "/"))
    return sorted(found)


def make_network(state, environment):
    """A bridge for each rack, and a router between them."""
    racks = sorted({h["rack"] for h in state["hosts"]})
    network = keep(KEEP_NETWORK, [], ["--net"], environment, "the network")
    state["network"] = network
    lines = ["link set lo up"]
    for rack in racks:
        lines += [f"link add rack{rack} type bridge", f"link set rack{rack} up",
                  f"address add 10.77.{rack}.254/24 dev rack{rack}"]
    configure(network, lines, "the bridges could not be made")
    if len(racks) > 1:
        set_in_network(network, ["net.ipv4.ip_forward=1"])


def set_in_network(network, settings):
    """What sysctl does, which lives in a package that may be missing."""
    for setting in settings:
        name, value = setting.split("=")
        command = ["sh", "-c", 'echo "$1" >"$2"', "sh", value, "/proc/sys/" + name.replace(".", "/")]
        run(inside(network, command, only_network=True), f"{name} could not be set")


def make_host(state, host, folder, shares, environment):
    host.update(keep(KEEP_HOST, [folder, host["name"], *shares], NAMESPACES, environment, host["name"]))
    save(folder, state)
    port, rack = "to-" + host["name"], host["rack"]
    configure(state["network"], [f"link add {port} type veth peer name eth0 netns {host['process'][0]}",
                                 f"link set {port} master rack{rack} up"], "a cable could not be laid")
    configure(host, ["link set lo up", "link set eth0 up", f"address add {host['address']}/24 dev eth0",
                     f"route add 10.77.0.0/16 via 10.77.{rack}.254"], f"{host['name']} got no address")


def add_delay(state, folder, environment):
    """Sends what goes from one rack to another through a program that holds it up (delay.c)."""
    if not os.path.exists("/dev/net/tun"):
        raise Unavailable("a delay needs /dev/net/tun, which is not there")
    program = os.path.join(folder, "delay")
    compiler = os.environ.get("CC", "cc").split()
    if shutil.which(compiler[0]) is None:
        raise Error(f"a delay needs a C compiler, and there is no {compiler[0]} (Debian package gcc)")
    run([*compiler, "-O2", "-o", program, os.path.join(HERE, "delay.c")], "delay.c could not be compiled")
    with open(os.path.join(folder, "delay.log"), "wb") as log:
        process = subprocess.Popen(inside(state["network"], [program, "hop", str(state["delay"])], only_network=True),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                   env=environment, start_new_session=True, cwd="/")
    if process.stdout.readline() != b"ready\n":
        with open(os.path.join(folder, "delay.log"), encoding="utf-8", errors="replace") as log:
            raise Error(f"the delay could not be set up: {log.read().strip()}")
    process.stdout.close()
    racks = sorted({h["rack"] for h in state["hosts"]})
    # A packet that comes back from the program enters by `hop`, and is routed as always.
    configure(state["network"], ["link set hop up", "route add default dev hop table 77"] +
              [f"rule add iif rack{rack} lookup 77" for rack in racks], "the delay got no routes")
    set_in_network(state["network"], ["net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.hop.rp_filter=0"])


def write_files(folder, hosts):
    with open(os.path.join(folder, "hosts"), "w", encoding="ascii") as file:
        file.write("127.0.0.1 localhost\n" + "".join(f"{h['address']} {h['name']}\n" for h in hosts))
    with open(os.path.join(folder, "hostfile"), "w", encoding="ascii") as file:
        file.write("".join(f"{h['name']} slots={h['slots']}\n" for h in hosts))
    os.makedirs(os.path.join(folder, "mount"), exist_ok=True)


def up(folder, slots, *, racks=1, delay=0, share=(), owner=None):
    """Makes the hosts. `owner` is the process whose death makes the cluster a stale one."""
    if not 1 <= racks <= min(len(slots), MAX_RACKS):
        raise Error(f"{len(slots)} hosts cannot stand in {racks} racks")
    if delay < 0 or (delay > 0 and racks < 2):
        raise Error("a delay is what lies between racks: it takes 2 of them, and is not negative")
    require_permission()
    shares = shares_from(share)
    remove_stale()
    with locked(folder):
        old = load(folder)
        if old and not is_stale(old):
            raise Error(f"there is a cluster in {folder} already; `vcluster down` removes it")
        if old:
            remove(folder, old)
            os.makedirs(folder, exist_ok=True)
        make(folder, slots, racks, delay, shares, owner)


def make(folder, slots, racks, delay, shares, owner):
    state = {"id": uuid.uuid4().hex, "owner": owner, "delay": delay, "hosts": describe(slots, racks),
             "network": None}
    environment = dict(os.environ, VCLUSTER_DIR=folder, VCLUSTER_ID=state["id"])
    # Hosts see the state folder and what lies in it: their launcher needs that.
    seen = sorted(set(shares) | {f for f in (folder, os.path.realpath(folder)) if f.startswith(TMP + "/")})
    save(folder, state)
    try:
        write_files(folder, state["hosts"])
        make_network(state, environment)
        for host in state["hosts"]:
            make_host(state, host, folder, seen, environment)
        if delay > 0:
            add_delay(state, folder, environment)
        state["up"] = True
        save(folder, state)
    except BaseException:
        remove(folder, state)
        raise


# --- State -----------------------------------------------------------------------------------------------------


def save(folder, state):
    path = os.path.join(folder, STATE)
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump(state, file, indent=1)
    os.rename(path + ".new", path)


def load(folder):
    """The state of the cluster in this folder, or None."""
    try:
        with open(os.path.join(folder, STATE), encoding="ascii") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def load_running(folder):
    state = load(folder)
    if state is None:
        raise Error(f"there is no cluster in {folder}; `vcluster up` makes one (VCLUSTER_DIR says where)")
    return state


def is_stale(state):
    """Nobody will take it down: the process that was to do it is dead, or its hosts are gone."""
    if state["owner"] is not None:
        return not is_alive(state["owner"])
    return not any(is_alive(keeper["process"]) for keeper in keepers_of(state))


@contextlib.contextmanager
def locked(folder):
    """One up or down at a time. The folder itself is locked, since that leaves nothing behind. A process
    that gets the lock of a folder that was removed meanwhile tries again."""
    while True:
        os.makedirs(folder, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), os.stat(folder)):
                    yield
                    return
        finally:
            os.close(lock)


# --- Down --------------------------------------------------------------------------------------------------------


def remove(folder, state, patience=20):
    """Ends everything in the hosts, and so the hosts; then forgets the cluster."""
    until = time.monotonic() + patience
    while (left := members(state)):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            raise Error(f"processes {left} in the hosts of {folder} do not end")
        time.sleep(0.01)
    shutil.rmtree(folder)


def down(folder):
    """False if there was nothing."""
    if not os.path.isdir(folder):
        return False
    with locked(folder):
        state = load(folder)
        if state is None:
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # what folder_for_one_run made, or locked()
            return False
        if namespace("self") in {h["net"] for h in keepers_of(state)}:
            raise Error("a host cannot take its own cluster down; leave it first")
        remove(folder, state)
    return True


def remove_stale():
    """Removes the clusters of `vcluster run` that was killed together with its keeper."""
    for path in glob.glob(os.path.join(TMP, "vcluster*", STATE)):
        folder = os.path.dirname(path)
        with contextlib.suppress(OSError, ValueError):
            state = load(folder)
            if state and state["owner"] is not None and is_stale(state):
                with locked(folder):
                    state = load(folder)
                    if state and is_stale(state):
                        remove(folder, state)


# --- Running something in a host -----------------------------------------------------------------------------------


def environment_for_mpi(state, folder):
    """With this, mpirun in a host starts its processes on all hosts, without any option.

    Names are those of Open MPI 4.1, then those of 5.0. Hosts share the machine's cores: nothing is bound,
    and waiters give their cores away if there are more slots than cores. What the caller has set is
    left as it is.
    """
    slots = sum(host["slots"] for host in state["hosts"])
    agent, hostfile = f"{HERE}/vcluster agent", os.path.join(folder, "hostfile")
    wanted = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_plm_rsh_agent": agent, "PRTE_MCA_plm_ssh_agent": agent,
        "OMPI_MCA_orte_default_hostfile": hostfile, "PRTE_MCA_prte_default_hostfile": hostfile,
        "OMPI_MCA_rmaps_base_mapping_policy": "slot:oversubscribe",
        "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
        "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": str(int(slots > len(os.sched_getaffinity(0)))),
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "UCX_TLS": "tcp,posix,sysv,cma,self", "UCX_NET_DEVICES": "eth0", "UCX_LOG_FILE": "stderr",
    }
    environment = {**wanted, **os.environ}
    environment.update(VCLUSTER_DIR=folder, VCLUSTER_ID=state["id"],
                       VCLUSTER_SLOTS=",".join(str(h["slots"]) for h in state["hosts"]))
    environment.pop("TMPDIR", None)  # every host has its own /tmp
    return environment


ENTER = 'cd "$1" || { echo "vcluster: $HOSTNAME does not see $1; name it in --share or VCLUSTER_SHARE" >&2; exit 1; }'


def command_in(state, name, command, where=None):
    """The command line that runs `command` in a host, in the folder that is the current one here."""
    host = next((h for h in state["hosts"] if h["name"] == name), None)
    if host is None:
        raise Error(f"there is no host {name}; hosts are node1 to node{len(state['hosts'])}")
    if not is_alive(host.get("process")):
        raise Error(f"{name} is not there any more; `vcluster down`, then `vcluster up`")
    enter = ENTER.replace("$HOSTNAME", name) + '; shift; exec "$@"'
    return inside(host, ["sh", "-c", enter, "vcluster", where or os.getcwd(), *command])
