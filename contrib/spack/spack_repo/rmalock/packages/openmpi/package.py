from spack_repo.builtin.packages.openmpi.package import Openmpi as BuiltinOpenmpi

from spack.package import *


class Openmpi(BuiltinOpenmpi):
    """Spack's Open MPI, with the internal headers that a component is compiled with."""

    def configure_args(self):
        return super().configure_args() + ["--with-devel-headers"]
