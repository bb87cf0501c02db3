/*
 * Stands in for the header of this name, which Open MPI's ompi/op/op.h includes and which is not
 * installed. All that op.h uses of it is the conversion of an int to a Fortran INTEGER and back, for
 * user-defined Fortran operations, which MPI's accumulate calls do not admit.
 */
#ifndef OMPI_FORTRAN_BASE_FINT_2_INT_H
#define OMPI_FORTRAN_BASE_FINT_2_INT_H

#define OMPI_INT_2_FINT(value) ((MPI_Fint) (value))
#define OMPI_FINT_2_INT(value) ((int) (value))

#endif
