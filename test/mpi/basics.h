// The predefined datatypes and operations, which goes with which (MPI 3.1, 5.9.2), and how to make
// and compare values of each.
#pragma once

#include "mpi_test.h"

// The standard's classes of types.
enum {
    C_INTEGER = 1,
    FORTRAN_INTEGER = 2,
    FLOATING = 4,
    LOGICAL = 8,
    COMPLEX = 16,
    BYTES = 32,
    MULTI = 64, // MPI_AINT, MPI_OFFSET, MPI_COUNT
    PAIR = 128,
    OTHER = 256, // no operation but MPI_REPLACE and MPI_NO_OP
    ALL_CLASSES = 511,
};

/// `value` is what MINLOC and MAXLOC compare, `index` the int beside it; for other types `value` is
/// all.
struct basic {
    const char* name;
    MPI_Datatype type;
    unsigned class;
    char kind;    // i(nteger), f(loating), c(omplex)
    size_t value; // bytes of the value
    size_t index; // offset of a pair's index, 0 if there is none
    size_t bytes; // extent
    bool is_signed;
};

#define INTEGER_ROW(type, class, c)                                                                \
    { #type, type, class, 'i', sizeof(c), 0, sizeof(c), (c)-1 < (c)1 }
#define REAL_ROW(type, class, c)                                                                   \
    { #type, type, class, 'f', sizeof(c), 0, sizeof(c), true }
#define COMPLEX_ROW(type, c)                                                                       \
    { #type, type, COMPLEX, 'c', 2 * sizeof(c), 0, 2 * sizeof(c), true }
#define PAIR_ROW(type, kind, c)                                                                    \
    {                                                                                              \
#type, type, PAIR, kind, sizeof(c),                                                        \
            offsetof(                                                                              \
                struct {                                                                           \
                    c v;                                                                           \
                    int i;                                                                         \
                },                                                                                 \
                i),                                                                                \
            sizeof(struct {                                                                        \
                c v;                                                                               \
                int i;                                                                             \
            }),                                                                                    \
            true                                                                                   \
    }

static const struct basic basics[] = {
    INTEGER_ROW(MPI_SIGNED_CHAR, C_INTEGER, signed char),
    INTEGER_ROW(MPI_UNSIGNED_CHAR, C_INTEGER, unsigned char),
    INTEGER_ROW(MPI_SHORT, C_INTEGER, short),
    INTEGER_ROW(MPI_UNSIGNED_SHORT, C_INTEGER, unsigned short),
    INTEGER_ROW(MPI_INT, C_INTEGER, int),
    INTEGER_ROW(MPI_UNSIGNED, C_INTEGER, unsigned),
    INTEGER_ROW(MPI_LONG, C_INTEGER, long),
    INTEGER_ROW(MPI_UNSIGNED_LONG, C_INTEGER, unsigned long),
    INTEGER_ROW(MPI_LONG_LONG, C_INTEGER, long long),
    INTEGER_ROW(MPI_UNSIGNED_LONG_LONG, C_INTEGER, unsigned long long),
    INTEGER_ROW(MPI_INT8_T, C_INTEGER, int8_t),
    INTEGER_ROW(MPI_INT16_T, C_INTEGER, int16_t),
    INTEGER_ROW(MPI_INT32_T, C_INTEGER, int32_t),
    INTEGER_ROW(MPI_INT64_T, C_INTEGER, int64_t),
    INTEGER_ROW(MPI_UINT8_T, C_INTEGER, uint8_t),
    INTEGER_ROW(MPI_UINT16_T, C_INTEGER, uint16_t),
    INTEGER_ROW(MPI_UINT32_T, C_INTEGER, uint32_t),
    INTEGER_ROW(MPI_UINT64_T, C_INTEGER, uint64_t),
    INTEGER_ROW(MPI_INTEGER, FORTRAN_INTEGER, MPI_Fint),
    INTEGER_ROW(MPI_AINT, MULTI, MPI_Aint),
    INTEGER_ROW(MPI_OFFSET, MULTI, MPI_Offset),
    INTEGER_ROW(MPI_COUNT, MULTI, MPI_Count),
    INTEGER_ROW(MPI_C_BOOL, LOGICAL, bool),
    INTEGER_ROW(MPI_LOGICAL, LOGICAL, MPI_Fint),
    INTEGER_ROW(MPI_BYTE, BYTES, char),
    INTEGER_ROW(MPI_CHAR, OTHER, char),
    INTEGER_ROW(MPI_WCHAR, OTHER, wchar_t),
    REAL_ROW(MPI_FLOAT, FLOATING, float),
    REAL_ROW(MPI_DOUBLE, FLOATING, double),
    REAL_ROW(MPI_LONG_DOUBLE, FLOATING, long double),
    REAL_ROW(MPI_REAL, FLOATING, float),
    REAL_ROW(MPI_DOUBLE_PRECISION, FLOATING, double),
    COMPLEX_ROW(MPI_C_FLOAT_COMPLEX, float),
    COMPLEX_ROW(MPI_C_DOUBLE_COMPLEX, double),
    COMPLEX_ROW(MPI_C_LONG_DOUBLE_COMPLEX, long double),
    COMPLEX_ROW(MPI_DOUBLE_COMPLEX, double),
    PAIR_ROW(MPI_SHORT_INT, 'i', short),
    PAIR_ROW(MPI_2INT, 'i', int),
    PAIR_ROW(MPI_LONG_INT, 'i', long),
    PAIR_ROW(MPI_FLOAT_INT, 'f', float),
    PAIR_ROW(MPI_DOUBLE_INT, 'f', double),
    PAIR_ROW(MPI_LONG_DOUBLE_INT, 'f', long double),
};
enum { BASICS = sizeof basics / sizeof *basics, WIDEST = 32 };

static inline const struct basic* basic_named(const char* name) {
    for (int k = 0; k < BASICS; ++k)
        if (strcmp(basics[k].name, name) == 0)
            return &basics[k];
    return NULL;
}

static const struct operation {
    const char* name;
    MPI_Op op;
    unsigned classes;
} operations[] = {
    {"MAX", MPI_MAX, C_INTEGER | FORTRAN_INTEGER | FLOATING | MULTI},
    {"MIN", MPI_MIN, C_INTEGER | FORTRAN_INTEGER | FLOATING | MULTI},
    {"SUM", MPI_SUM, C_INTEGER | FORTRAN_INTEGER | FLOATING | COMPLEX | MULTI},
    {"PROD", MPI_PROD, C_INTEGER | FORTRAN_INTEGER | FLOATING | COMPLEX | MULTI},
    {"LAND", MPI_LAND, C_INTEGER | LOGICAL},
    {"LOR", MPI_LOR, C_INTEGER | LOGICAL},
    {"LXOR", MPI_LXOR, C_INTEGER | LOGICAL},
    {"BAND", MPI_BAND, C_INTEGER | FORTRAN_INTEGER | BYTES | MULTI},
    {"BOR", MPI_BOR, C_INTEGER | FORTRAN_INTEGER | BYTES | MULTI},
    {"BXOR", MPI_BXOR, C_INTEGER | FORTRAN_INTEGER | BYTES | MULTI},
    {"MAXLOC", MPI_MAXLOC, PAIR},
    {"MINLOC", MPI_MINLOC, PAIR},
    {"REPLACE", MPI_REPLACE, ALL_CLASSES},
    {"NO_OP", MPI_NO_OP, ALL_CLASSES},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static inline void basic_write(char kind, size_t bytes, void* to, long value) {
    const float f = (float)value;
    const double d = (double)value;
    const long double l = (long double)value;
    if (kind == 'i')
        memcpy(to, &value, bytes); // little endian: the low bytes come first
    else
        memcpy(to,
               bytes == sizeof f   ? (const void*)&f
               : bytes == sizeof d ? (const void*)&d
                                   : &l,
               bytes);
}

/// Stores a small number as a value of the type; parts and indices get numbers derived from it.
static inline void basic_set(const struct basic* b, void* to, long value) {
    if (b->class == LOGICAL)
        value &= 1;
    memset(to, 0, b->bytes);
    if (b->kind == 'c') {
        basic_write('f', b->value / 2, to, value);
        basic_write('f', b->value / 2, (char*)to + b->value / 2, 2 * value - 3);
        return;
    }
    basic_write(b->kind, b->value, to, value);
    if (b->index != 0)
        basic_write('i', sizeof(int), (char*)to + b->index, value % 3);
}

/// Bytes of a value that mean something: an x86 long double has 10 of 16.
static inline size_t basic_significant(char kind, size_t bytes) {
    return kind == 'f' && bytes == sizeof(long double) && sizeof(long double) == 16 ? 10 : bytes;
}

static inline bool basic_equal(const struct basic* b, const void* x, const void* y) {
    const char *p = x, *q = y;
    if (b->kind == 'c') {
        const size_t half = b->value / 2, part = basic_significant('f', half);
        return memcmp(p, q, part) == 0 && memcmp(p + half, q + half, part) == 0;
    }
    return memcmp(p, q, basic_significant(b->kind, b->value)) == 0 &&
           (b->index == 0 || memcmp(p + b->index, q + b->index, sizeof(int)) == 0);
}

/// What an accumulate of `in` onto `inout` must give. MPI_Reduce_local is a third party here: no
/// one-sided code runs in it.
static inline void basic_apply(const struct operation* o, const struct basic* b, const void* in,
                               void* inout) {
    if (o->op == MPI_REPLACE)
        memcpy(inout, in, b->bytes);
    else if (o->op != MPI_NO_OP)
        OK(MPI_Reduce_local(in, inout, 1, b->type, o->op));
}
