import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class OpenmpiRmalock(AutotoolsPackage):
    """One-sided communication component of Open MPI, whose passive-target synchronization needs no help of the target.

    The tarball is made by `contrib/package dist`, and looked for where spack runs."""

    manual_download = True
    url = f"file://{os.getcwd()}/rmalock-0.3.0.tar.gz"
    license("BSD-3-Clause")

    version("0.3.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("pkgconfig", type="build")
    # Spack's own Open MPI installs no internal headers; openmpi of this repository does.
    depends_on("openmpi@4.1,5.0")
    depends_on("ucx@1.13: +thread_multiple")
    depends_on("hwloc@2:")
    depends_on("pmix@3:")

    conflicts("%gcc@:11", msg="rmalock is written in C++20, for GCC 12 or newer")

    def configure_args(self):
        return ["--disable-werror"]

    def setup_run_environment(self, env):
        """As rmalock.env does."""
        env.set("OMPI_MCA_mca_base_component_path", f"SYS_DEFAULT:{self.prefix.lib.rmalock}:USR_DEFAULT")
        if self.spec.satisfies("^openmpi@5:"):
            env.set("PMIX_MCA_mca_base_component_path", self.spec["pmix"].prefix.lib.pmix)
