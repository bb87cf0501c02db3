# Sourced in the build folder: Open MPI finds the component that was just built, and only then the
# user's own. Its folder must come before USR_DEFAULT, which may not exist.
OMPI_MCA_mca_base_component_path=SYS_DEFAULT:$PWD/.libs:USR_DEFAULT
export OMPI_MCA_mca_base_component_path
