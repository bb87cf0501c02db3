"""Machines under QEMU that have an adapter: they boot, take commands, and are gone whatever happens.

Nothing leaves this machine: one machine has no network; of two each has an adapter whose packets are UDP packets between
two ports of the loopback device. QEMU emulates the processor (TCG), so that no permission is needed.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time

import image

HERE = os.path.dirname(os.path.abspath(__file__))
BOOTING = 900  # seconds; alone it takes 20 to 40, on a machine with much else to do minutes
LISTENING = 60
LEAVING = 20
MEMORY = 2048  # MiB of each machine
CORES = 2
# Without these two features the kernel copies 8 bytes at once, as adapters do; with them QEMU copies byte by byte.
PROCESSOR = "max,-erms,-fsrm"
PR_SET_PDEATHSIG = 1


class Machines:
    """`count` machines (1 or 2), in a `with` statement. `atomics`: by cpu (the kernel's own rdma_rxe) or adapter, which
    then waits `gap` microseconds between load and store. `folders` are seen at the same places, and not written to."""

    def __init__(self, built, count=1, atomics="cpu", gap=0, slots=2, folders=(), shim=None, component=""):
        self.built, self.count = built, count
        self.words = {"machines": count, "atomics": atomics, "gap": gap, "slots": slots, "component": component}
        self.folders = outermost(folders)
        self.shim = shim
        self.share = None
        self.processes = []
        self.jobs = 0

    def __enter__(self):
        self.share = tempfile.mkdtemp(prefix="rmalock-roce-")
        try:
            self.fill_share()
            for number in range(1, self.count + 1):
                self.processes.append(self.start(number))
                self.wait_until_linkable(number)
            for number in range(1, self.count + 1):
                self.wait_until_up(number)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            for number in range(1, self.count + 1):
                self.submit(number, "poweroff", "")
            for process in self.processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(LEAVING)
        self.end()

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.share, ignore_errors=True)

    def place(self, *names):
        return os.path.join(self.share, *names)

    def fill_share(self):
        shutil.copytree(os.path.join(HERE, "guest"), self.place("guest"))
        if self.shim:
            shutil.copy(self.shim, self.place("all_atomics.so"))
        for number in range(1, self.count + 1):
            for way in ("in", "out"):
                os.makedirs(self.place(f"node{number}", way))
        image.write(self.place("folders"),
                    "".join(f"folder{index} {folder}\n" for index, folder in enumerate(self.folders)))

    def start(self, number):
        command = ["nice", "-n", "10", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", PROCESSOR,
                   "-smp", str(CORES), "-m", str(MEMORY), "-machine", "q35", "-no-reboot", "-display", "none",
                   "-monitor", "none", "-serial", "file:" + self.place(f"node{number}", "console"),
                   "-kernel", self.built.path("vmlinuz"), "-initrd", self.built.path("initrd.img"),
                   "-append", self.kernel_command_line(number),
                   "-drive", f"file={self.built.path('root.img')},if=virtio,format=raw,snapshot=on",
                   "-device", "virtio-rng-pci", *share_options("host", self.share, ""), *self.network_options(number)]
        for index, folder in enumerate(self.folders):
            command += share_options(f"folder{index}", folder, ",readonly=on")
        with open(self.place(f"node{number}", "qemu"), "w", encoding="ascii") as said:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                    preexec_fn=end_with_parent)

    def network_options(self, number):
        """The second machine connects to the first. A socket of UDP would lose packets of a machine that has no core, and
        the adapter repeats them only after minutes (guest/environment)."""
        if self.count == 1:
            return ["-nic", "none"]
        server = "on" if number == 1 else "off"
        return ["-netdev", f"stream,id=link,server={server},addr.type=unix,addr.path={self.place('link')}",
                "-device", f"virtio-net-pci,netdev=link,mac=52:54:00:00:00:0{number},romfile="]

    def wait_until_linkable(self, number):
        """Until the second machine can connect to the first."""
        end = time.monotonic() + LISTENING
        while self.count > 1 and number == 1 and not os.path.exists(self.place("link")):
            if self.processes[0].poll() is not None or time.monotonic() > end:
                raise image.Error("node1 does not listen:\n" + self.last_words(1))
            time.sleep(0.05)

    def kernel_command_line(self, number):
        words = {**self.words, "number": number}
        # Where others take the cores, the kernel finds its timer late, and would give up.
        return ("console=ttyS0 quiet mitigations=off nokaslr tsc=reliable no_timer_check nowatchdog "
                "net.ifnames=0 panic=1 " +
                " ".join(f"roce.{key}={value}" for key, value in words.items()))

    def wait_until_up(self, number):
        end = time.monotonic() + BOOTING
        while not os.path.exists(self.place(f"node{number}", "out", "up")):
            gone = self.processes[number - 1].poll() is not None
            if gone or time.monotonic() > end:
                raise image.Error(f"node{number} {'ended' if gone else f'was not up after {BOOTING} s'}:\n" +
                                  self.last_words(number))
            time.sleep(0.2)

    def last_words(self, number):
        said = [image.read(self.place(f"node{number}", name), "") for name in ("qemu", "console")]
        return "\n".join(text[-2000:] for text in said)

    def up(self, number=1):
        """What the machine says of its adapter and network."""
        return image.read(self.place(f"node{number}", "out", "up"))

    def submit(self, number, job, text):
        image.write(self.place(f"node{number}", "in", job + ".new"), text)
        os.rename(self.place(f"node{number}", "in", job + ".new"), self.place(f"node{number}", "in", job + ".sh"))

    def run(self, text, seconds, number=1):
        """Runs a shell script; (exit status, what it said). The status is 124 when its time was up."""
        self.jobs += 1
        job = f"job{self.jobs}"
        self.submit(number, job, f"timeout -k 5 {seconds} bash <<'END OF JOB'\n{text}\nEND OF JOB\n")
        status = self.place(f"node{number}", "out", job + ".status")
        end = time.monotonic() + seconds + 60
        while not os.path.exists(status) and time.monotonic() < end:
            if self.processes[number - 1].poll() is not None:
                raise image.Error(f"node{number} has gone:\n" + self.last_words(number))
            time.sleep(0.1)
        said = image.read(self.place(f"node{number}", "out", job + ".log"), "")
        return int(image.read(status, "124")), said


def outermost(folders):
    """Each once; of two, one of which is in the other, the outer one."""
    real = sorted({os.path.realpath(folder) for folder in folders})
    return [folder for folder in real if not any(folder.startswith(other + "/") for other in real)]


def share_options(tag, folder, more):
    return ["-virtfs", f"local,path={folder},mount_tag={tag},security_model=none,multidevs=remap{more}"]


def end_with_parent():
    """However this process dies: the machine goes with it. Its terminal's signals are for this process, which ends it."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
