#!/usr/bin/env python3
"""Tests of contrib/vcluster: hosts are apart, are linked, and leave nothing behind however they end."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.realpath(os.path.join(HERE, "..", "..", "contrib", "vcluster"))
VCLUSTER = os.path.join(TOOL, "vcluster")
sys.path.insert(0, TOOL)
sys.dont_write_bytecode = True
import cluster  # noqa: E402

# Answers one byte of every message; says where it listens.
SERVER = ("import socket; s = socket.create_server(('', 0)); print(s.getsockname()[1], flush=True); c = s.accept()[0]\n"
          "while c.recv(1): c.send(b'.')")
# The shortest of 20 round trips, in seconds.
CLIENT = ("import socket, sys, time; c = socket.create_connection((sys.argv[1], int(sys.argv[2]))); best = 9\n"
          "for _ in range(20):\n"
          "    begin = time.monotonic(); c.send(b'.'); c.recv(1); best = min(best, time.monotonic() - begin)\n"
          "print(best)")

# Says where it runs. mpirun of Open MPI 5.0.7 may wait for ever for processes that end without MPI_Init.
WHERE = ["-c", "from mpi4py import MPI; print(MPI.Get_processor_name())"]


def python_with_mpi4py():
    """Debian's Python before whatever comes first in PATH: the package is for that one."""
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import mpi4py"], capture_output=True, check=False).returncode == 0:
            return python
    return None


PYTHON = python_with_mpi4py()


def clean_environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("VCLUSTER_")}
    return {**kept, **more}


def vcluster(*arguments, folder=None, **options):
    environment = clean_environment(**({"VCLUSTER_DIR": folder} if folder else {}))
    return subprocess.run([VCLUSTER, *arguments], capture_output=True, text=True, env=environment,
                          stdin=subprocess.DEVNULL, timeout=60, check=False, **options)


def until(condition, what, seconds=20):
    """Waits for something that another process does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.02)


def hosts_in(text):
    """mpirun may run lines of several ranks into each other."""
    return sorted(re.findall(r"node\d", text))


class Spec(unittest.TestCase):
    def test_what_it_means(self):
        self.assertEqual(cluster.parse_spec("4x2"), [2, 2, 2, 2])
        self.assertEqual(cluster.parse_spec("1,2,3"), [1, 2, 3])
        self.assertEqual(cluster.parse_spec("2x3,1"), [3, 3, 1])

    def test_what_is_refused(self):
        for text in ("", "0x2", "4x0", "4x", "x2", "1,,2", "-1", "a", "201x1"):
            with self.assertRaises(cluster.Error, msg=text):
                cluster.parse_spec(text)

    def test_the_command_says_so(self):
        done = vcluster("run", "4x", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'4x' names no hosts", done.stderr)

    def test_impossible_racks_and_delays(self):
        for options in (("--racks", "3"), ("--racks", "0"), ("--delay", "100"), ("--racks", "2", "--delay", "-1")):
            self.assertEqual(vcluster("run", "2x1", *options, "--", "true").returncode, 1, options)

    def test_without_permission(self):
        if os.geteuid() != 0:
            self.skipTest("root can become somebody else, others cannot")
        done = vcluster("run", "2x1", "--", "true", user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.returncode, cluster.UNAVAILABLE, done.stderr)
        self.assertIn("cannot make hosts here", done.stderr)


class Up(unittest.TestCase):
    """One cluster of three hosts in two racks for all of these."""

    DELAY = 2000

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="test-vcluster-", dir="/tmp")
        cls.shared = tempfile.mkdtemp(prefix="test-share-", dir="/tmp")
        done = vcluster("up", "1,2,3", "--racks", "2", "--delay", str(cls.DELAY), "--share", cls.shared, "--share", TOOL,
                        folder=cls.folder)
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    @classmethod
    def tearDownClass(cls):
        done = vcluster("down", folder=cls.folder)
        os.rmdir(cls.shared)
        if done.returncode != 0 or os.path.exists(cls.folder):
            raise AssertionError(f"down left {cls.folder}: {done.stderr}")

    def on(self, host, *command):
        done = vcluster("exec", host, *command, folder=self.folder, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_names(self):
        self.assertEqual([self.on(h, "hostname") for h in ("node1", "node3")], ["node1", "node3"])

    def test_namespaces_differ(self):
        for kind in ("net", "uts", "ipc", "mnt"):
            seen = {self.on(f"node{k}", "readlink", f"/proc/self/ns/{kind}") for k in (1, 2, 3)}
            self.assertEqual(len(seen | {os.readlink(f"/proc/self/ns/{kind}")}), 4, kind)

    def test_folders_of_one_host(self):
        for folder in ("/tmp", "/dev/shm"):
            mark = os.path.join(folder, "only-on-node1")
            self.on("node1", "touch", mark)
            self.on("node2", "test", "!", "-e", mark)
            self.assertFalse(os.path.exists(mark))

    def test_shared_folder(self):
        path = os.path.join(self.shared, "for-all")
        self.on("node1", "sh", "-c", f"echo hello >{path}")
        self.assertEqual(self.on("node3", "cat", path), "hello")
        os.remove(path)

    def test_a_folder_that_is_not_shared(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as other:
            done = vcluster("exec", "node1", "true", folder=self.folder, cwd=other)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"node1 does not see {other}; name it in --share", done.stderr)

    def test_devices(self):
        self.assertEqual(self.on("node2", "ls", "/sys/class/net").split(), ["eth0", "lo"])

    def test_hostfile_and_status(self):
        self.assertEqual(vcluster("hostfile", folder=self.folder).stdout,
                         "node1 slots=1\nnode2 slots=2\nnode3 slots=3\n")
        done = vcluster("status", folder=self.folder)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(re.findall(r"^(node\d) .* rack (\d)", done.stdout, re.M),
                         [("node1", "1"), ("node2", "1"), ("node3", "2")])

    def test_second_up_is_refused(self):
        done = vcluster("up", "2x1", folder=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is a cluster in", done.stderr)

    def test_unknown_host(self):
        done = vcluster("exec", "node4", "true", folder=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no host node4", done.stderr)

    def test_no_down_from_inside(self):
        done = vcluster("exec", "node1", VCLUSTER, "down", folder=self.folder, cwd="/")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot take its own cluster down", done.stderr)

    def round_trip(self, there, back):
        environment = clean_environment(VCLUSTER_DIR=self.folder)
        with subprocess.Popen([VCLUSTER, "exec", there, sys.executable, "-c", SERVER], cwd="/",
                              stdout=subprocess.PIPE, text=True, env=environment) as server:
            port = server.stdout.readline().strip()
            seconds = float(self.on(back, sys.executable, "-c", CLIENT, there, port))
            self.assertEqual(server.wait(timeout=20), 0)
        return seconds

    def test_racks_are_further_apart(self):
        across, within = self.round_trip("node3", "node1"), self.round_trip("node2", "node1")
        self.assertGreaterEqual(across, 2 * self.DELAY / 1e6)
        self.assertLess(within, across)

    def test_agent_is_like_ssh(self):
        environment = clean_environment(VCLUSTER_DIR=self.folder, WORD="of mpirun")
        done = subprocess.run([VCLUSTER, "agent", "-x", "node2", "A=1;", "echo", '"$A', '$WORD"', "; hostname"],
                              capture_output=True, text=True, env=environment, timeout=60, check=False)
        self.assertEqual(done.stdout, "1 of mpirun\nnode2\n", done.stderr)

    @unittest.skipUnless(PYTHON, "needs python3-mpi4py")
    def test_mpirun(self):
        said = self.on("node1", "mpirun", PYTHON, *WHERE)
        self.assertEqual(hosts_in(said), ["node1", "node2", "node2", "node3", "node3", "node3"])


class Run(unittest.TestCase):
    """`vcluster run`, and how it may end."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vcluster-test-", dir="/tmp")
        self.mark = f"VCLUSTER_DIR={self.folder}"

    def tearDown(self):
        self.assertFalse(os.path.exists(self.folder))
        self.assertEqual(self.processes(), [])

    def processes(self):
        """Those of this test's cluster that are alive."""
        return [pid for pid in os.listdir("/proc") if pid.isdigit() and cluster.began(pid) is not None
                and cluster.has_environment(pid, self.mark) and int(pid) != os.getpid()]

    def start(self, *command):
        """`run` with a command that says when it runs; both in a session of their own."""
        process = subprocess.Popen([VCLUSTER, "run", "2x1", "--", "sh", "-c", "echo runs; " + " ".join(command)],
                                   stdout=subprocess.PIPE, text=True, start_new_session=True, cwd="/",
                                   env=clean_environment(VCLUSTER_DIR=self.folder))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)  # should the test fail before it is gone
        self.assertEqual(process.stdout.readline(), "runs\n")
        return process

    def test_exit_status(self):
        for status in (0, 7):
            done = vcluster("run", "2x1", "--", "sh", "-c", f"exit {status}", folder=self.folder)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_waiting_ranks_yield_where_cores_are_shared(self):
        cores, name = len(os.sched_getaffinity(0)), "OMPI_MCA_mpi_yield_when_idle"
        environment = clean_environment(VCLUSTER_DIR=self.folder)
        environment.pop(name, None)
        for slots, yields in ((cores, "0"), (cores + 1, "1")):
            done = subprocess.run([VCLUSTER, "run", f"1x{slots}", "--", "printenv", name], capture_output=True,
                                  text=True, env=environment, timeout=60, check=False)
            self.assertEqual(done.stdout.strip(), yields, done.stderr)

    def test_a_folder_of_its_own(self):
        os.rmdir(self.folder)
        done = vcluster("run", "2x1", "--", "sh", "-c", "echo $VCLUSTER_DIR $VCLUSTER_SLOTS", cwd="/")
        self.assertRegex(done.stdout, r"^/tmp/vcluster-\w+ 1,1\n$")
        self.assertFalse(os.path.exists(done.stdout.split()[0]))

    def test_what_the_command_leaves_running(self):
        done = vcluster("run", "2x1", "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 &", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = self.start("exec sleep 1000")
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=30), 128 + number)

    def test_killed(self):
        process = self.start("exec sleep 1000")
        process.kill()
        process.wait(timeout=30)
        until(lambda: not os.path.exists(self.folder), "its keeper has removed the cluster")

    def test_killed_with_its_keeper(self):
        """Then the next cluster removes what is there, in the same folder and in others."""
        for folder in (self.folder, None):
            os.makedirs(self.folder, exist_ok=True)
            process = self.start("exec sleep 1000")
            os.kill(cluster.load(self.folder)["owner"][0], signal.SIGKILL)
            process.kill()
            process.wait(timeout=30)
            until(lambda: cluster.is_stale(cluster.load(self.folder)), "the keeper is dead")
            done = vcluster("run", "1,1", "--", "hostname", folder=folder, cwd="/")
            self.assertEqual((done.returncode, done.stdout), (0, "node1\n"), done.stderr)
            self.assertFalse(os.path.exists(self.folder))

    @unittest.skipUnless(PYTHON, "needs python3-mpi4py")
    def test_two_at_once(self):
        first = self.start("exec sleep 1000")
        second = vcluster("run", "3x1", "--", "mpirun", PYTHON, *WHERE, cwd="/")
        self.assertEqual(hosts_in(second.stdout), ["node1", "node2", "node3"], second.stderr)
        first.terminate()
        first.wait(timeout=30)

    def test_a_cluster_whose_hosts_are_gone(self):
        self.assertEqual(vcluster("up", "2x1", folder=self.folder).returncode, 0)
        for keeper in cluster.keepers_of(cluster.load(self.folder)):
            os.kill(keeper["process"][0], signal.SIGKILL)
        until(lambda: cluster.is_stale(cluster.load(self.folder)), "the hosts are gone")
        self.assertEqual(vcluster("status", folder=self.folder).returncode, 1)
        done = vcluster("up", "1x1", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(vcluster("hostfile", folder=self.folder).stdout, "node1 slots=1\n")
        self.assertEqual(vcluster("down", folder=self.folder).returncode, 0)


if __name__ == "__main__":
    try:
        cluster.require_permission()
    except cluster.Unavailable as error:
        print(f"SKIP: {error}")
        sys.exit(cluster.UNAVAILABLE)
    unittest.main()
