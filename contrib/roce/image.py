"""What the machines of `roce` boot: a root file system, Debian's kernel, and adapters that do atomics.

Everything comes from the package sources that apt has on this machine; contrib/depends names the packages. The image is
built once into a folder of its own and once more when one of its inputs changes. No file system is mounted for it:
mke2fs fills the image from a folder.
"""

import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
DEPENDS = os.path.join(os.path.dirname(HERE), "depends")
UNAVAILABLE = 77  # exit status: such machines cannot be had here; make check takes it as SKIP
TOOLS = ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "cpio", "dpkg-deb", "apt-get")
SIZE = "3G"  # of the root file system; the file has holes
# Modules that reach the root file system and the folders of the host; depmod knows what they need.
FOR_ROOT = ("virtio_pci", "virtio_blk", "ext4", "9pnet_virtio", "9p")
RXE = "drivers/infiniband/sw/rxe"


class Error(Exception):
    """Something went wrong; the message is for the user."""

    status = 1


class Unavailable(Error):
    """This machine, or this user, cannot have such machines."""

    status = UNAVAILABLE


def default_folder():
    return os.environ.get("RMALOCK_ROCE_DIR") or f"/var/tmp/rmalock-roce-{release()}"


def release():
    with open("/etc/os-release", encoding="utf-8") as text:
        found = re.search(r"^VERSION_CODENAME=(\w+)", text.read(), re.M)
    if not found:
        raise Unavailable("/etc/os-release does not name a Debian release")
    return found[1]


def check_here():
    """Raises Unavailable, with the reason."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)} (contrib/depends --roce installs it)")
    if os.uname().machine != "x86_64":
        raise Unavailable(f"{os.uname().machine}: the machines are x86-64")
    if os.geteuid() != 0:
        raise Unavailable("only root can build the root file system")


def run(what, command, **options):
    """Its standard output; the end of what it said is in the error."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          **options)
    if done.returncode != 0:
        raise Error(f"{what} failed: {' '.join(command)[:200]}\n{done.stderr[-1500:]}")
    return done.stdout


def packages():
    return run("the list of packages", [DEPENDS, "--roce-image"]).split()


def kernel():
    """The kernel that the installed headers are of, such as 6.1.0-44-amd64: modules are built for it."""
    found = sorted(glob.glob("/usr/src/linux-headers-*-amd64"), key=version_of)
    if not found:
        raise Unavailable("no headers of a kernel (contrib/depends --roce installs them)")
    return os.path.basename(found[-1]).removeprefix("linux-headers-")


def version_of(name):
    return [int(number) for number in re.findall(r"\d+", name)]


def kernel_source(version):
    """Debian's packed source of that kernel."""
    series = re.match(r"\d+\.\d+", version)[0]
    path = f"/usr/src/linux-source-{series}.tar.xz"
    if not os.path.exists(path):
        raise Unavailable(f"{path} is not there (contrib/depends --roce installs it)")
    return path


def sources():
    """apt's own, as files that mmdebstrap takes."""
    found = [path for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*"))]
             if os.path.isfile(path) and path.endswith((".list", ".sources"))]
    if not found:
        raise Unavailable("apt has no package sources here")
    return found


class Image:
    """The files of the image in a folder, each built when it is missing or its inputs have changed."""

    def __init__(self, folder, say=print):
        self.folder = folder
        self.say = say
        self.root = self.path("root")
        self.version = kernel()

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self):
        """One process at a time; the others wait, and find it there."""
        os.makedirs(self.folder, exist_ok=True)
        with open(self.path("lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            source = kernel_source(self.version)
            here = read(os.path.abspath(__file__))
            begin = self.step("packages of the root file system (2 minutes)", "root-stamp",
                              [*packages(), *map(read, sources())], self.install_packages)
            begin = self.step(f"kernel {self.version}", "kernel-stamp", [begin, self.version], self.install_kernel)
            begin = self.step("the adapter that does atomics (1 minute)", "module-stamp",
                              [begin, read(os.path.join(HERE, "adapter.py")), source], self.build_module)
            self.step("image", "image-stamp", [begin, here], self.pack)

    def step(self, what, stamp, inputs, function):
        """Returns the digest of the inputs, for those of the next step."""
        digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
        if read(self.path(stamp), "") != digest:
            self.say(f"roce: {what}", flush=True)
            remove(self.path(stamp))
            function()
            write(self.path(stamp), digest)
        return digest

    def install_packages(self):
        shutil.rmtree(self.root, ignore_errors=True)
        leave_out = [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "locale", "man")]
        run("making the root file system",
            ["nice", "-n", "10", "mmdebstrap", "--variant=minbase", "--include=" + ",".join(packages()),
             '--aptopt=APT::Install-Recommends "false"', *leave_out, release(), self.root, *sources()])

    def install_kernel(self):
        """Unpacked, not installed: that would make an initial file system of its own, and a boot loader's entries."""
        package, unpacked = self.path("package"), self.path("unpacked")
        for folder in (package, unpacked):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        try:
            run("fetching the kernel", ["apt-get", "download", f"linux-image-{self.version}"], cwd=package)
        except Error as error:
            raise Unavailable(f"linux-image-{self.version} cannot be had: {error}") from error
        run("unpacking the kernel", ["dpkg-deb", "-x", *glob.glob(package + "/*.deb"), unpacked])
        modules = os.path.join(self.root, "usr/lib/modules")
        shutil.rmtree(modules, ignore_errors=True)
        # Debian 12 has the modules in /lib, 13 in /usr/lib.
        shutil.move(next(folder for folder in (unpacked + "/usr/lib/modules", unpacked + "/lib/modules")
                         if os.path.isdir(folder)), modules)
        shutil.move(f"{unpacked}/boot/vmlinuz-{self.version}", self.path("vmlinuz"))
        run("listing the modules", ["chroot", self.root, "depmod", self.version])
        for folder in (package, unpacked):
            shutil.rmtree(folder)

    def build_module(self):
        import adapter  # beside this file
        folder = self.path("module")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        archive = kernel_source(self.version)
        top = os.path.basename(archive).removesuffix(".tar.xz")
        run("unpacking the adapter's source",
            ["nice", "-n", "10", "tar", "-xJf", archive, "-C", folder, "--strip-components=5", f"{top}/{RXE}"])
        adapter.edit(folder)
        run("compiling the adapter", ["nice", "-n", "10", "make", "-C", f"/usr/src/linux-headers-{self.version}",
                                      f"M={folder}", "CONFIG_RDMA_RXE=m", "modules"])
        run("dropping debug information", ["strip", "-g", folder + "/rdma_rxe.ko"])
        shutil.copy(folder + "/rdma_rxe.ko", self.root + "/rdma_rxe_atomics.ko")

    def pack(self):
        self.pack_initrd()
        image = self.path("root.img")
        remove(image)
        run("filling the image", ["mke2fs", "-q", "-t", "ext4", "-d", self.root, image, SIZE])

    def pack_initrd(self):
        """A busybox that loads what the root file system needs, in order."""
        folder = self.path("initrd")
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("bin", "dev", "mod", "new", "proc", "sys"):
            os.makedirs(os.path.join(folder, name))
        shutil.copy(self.root + "/bin/busybox", folder + "/bin/busybox")
        for number, module in enumerate(self.modules_for_root()):
            shutil.copy(self.root + module, f"{folder}/mod/{number:02}-{os.path.basename(module)}")
        shutil.copy(os.path.join(HERE, "initrd-init"), folder + "/init")
        os.chmod(folder + "/init", 0o755)
        names = run("listing the initial file system", ["find", ".", "-print"], cwd=folder)
        with open(self.path("initrd.img"), "wb") as packed:
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], input=names.encode(), stdout=packed, cwd=folder,
                           check=True)

    def modules_for_root(self):
        ordered = []
        for module in FOR_ROOT:
            shown = run("finding modules", ["chroot", self.root, "modprobe", "-S", self.version, "--show-depends", module])
            ordered += [path for path in re.findall(r"^insmod (\S+)", shown, re.M) if path not in ordered]
        return ordered


def read(path, otherwise=None):
    try:
        with open(path, encoding="utf-8") as text:
            return text.read()
    except FileNotFoundError:
        if otherwise is None:
            raise
        return otherwise


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def remove(path):
    if os.path.exists(path):
        os.remove(path)
