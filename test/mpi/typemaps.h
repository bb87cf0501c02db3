// Derived datatypes with the byte offset of each of their elements, worked out here by hand and not
// asked from MPI: two independent views of one layout, for the tests to hold against each other.
//
// Every layout carries the same signature: `length` elements of one basic type of `width` bytes. So
// any layout can stand on the origin's side of any other on the target's.
#pragma once

#include "mpi_test.h"

enum {
    MAX_ELEMENTS = 64,
    // All elements of up to 12 elements' worth of items lie less than HALF elements from the
    // origin.
    HALF = 128,
};

struct layout {
    const char* name;
    MPI_Datatype type;
    int length;                    // elements in one item of the type
    MPI_Aint offset[MAX_ELEMENTS]; // of each of them, in the order of the typemap
    MPI_Aint extent;
};

static inline void layout_commit(struct layout* l, MPI_Aint extent) {
    MPI_Type_commit(&l->type);
    l->extent = extent;
}

// The makers below: `n` elements (n divisible by 4), basic type `b` of `s` bytes.

static inline void make_contiguous(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Type_contiguous(n, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = i * s;
    layout_commit(l, n * s);
}

static inline void make_vector(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Type_vector(n / 2, 2, 5, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = (i / 2 * 5 + i % 2) * s;
    layout_commit(l, ((n / 2 - 1) * 5 + 2) * s);
}

/// Blocks that go backwards: lb < 0.
static inline void make_negative_stride(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Type_vector(n, 1, -2, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = -2 * i * s;
    layout_commit(l, ((n - 1) * 2 + 1) * s);
}

static inline void make_hvector(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Type_create_hvector(n / 4, 4, 8 * s, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = i / 4 * 8 * s + i % 4 * s;
    layout_commit(l, (n / 4 - 1) * 8 * s + 4 * s);
}

/// Blocks of different lengths, not in the order of their addresses.
static inline void make_indexed(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    const int lengths[] = {1, n - 4, 3}, places[] = {n + 6, 3, 0};
    MPI_Type_indexed(3, lengths, places, b, &l->type);
    for (int block = 0, i = 0; block < 3; ++block)
        for (int k = 0; k < lengths[block]; ++k)
            l->offset[i++] = (places[block] + k) * s;
    layout_commit(l, (n + 7) * s);
}

/// As indexed, and nothing at displacement 0: true_lb > 0.
static inline void make_hindexed_true_lb(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    const int lengths[] = {n / 2, n / 2};
    const MPI_Aint places[] = {(n + 3) * s, 2 * s};
    MPI_Type_create_hindexed(2, lengths, places, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = places[i / (n / 2)] + i % (n / 2) * s;
    layout_commit(l, (n + 3 + n / 2 - 2) * s);
}

static inline void make_indexed_block(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    int places[MAX_ELEMENTS] = {0};
    for (int i = 0; i < n / 2; ++i)
        places[i] = 3 * (n / 2 - 1 - i);
    MPI_Type_create_indexed_block(n / 2, 2, places, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = (places[i / 2] + i % 2) * s;
    layout_commit(l, (3 * (n / 2 - 1) + 2) * s);
}

/// A struct around another derived type.
static inline void make_struct(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Datatype pair;
    MPI_Type_vector(2, 1, 3, b, &pair);
    const int lengths[] = {1, n - 3, 1};
    const MPI_Aint places[] = {n * s, 0, (n + 10) * s};
    const MPI_Datatype types[] = {pair, b, b};
    MPI_Type_create_struct(3, lengths, places, types, &l->type);
    MPI_Type_free(&pair);
    l->offset[0] = n * s;
    l->offset[1] = (n + 3) * s;
    for (int i = 0; i < n - 3; ++i)
        l->offset[2 + i] = i * s;
    l->offset[n - 1] = (n + 10) * s;
    layout_commit(l, (n + 11) * s);
}

/// Extent larger than the data, lb below it.
static inline void make_resized(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Datatype plain;
    MPI_Type_vector(n / 4, 4, 6, b, &plain);
    MPI_Type_create_resized(plain, -2 * s, (n / 4 * 6 + 5) * s, &l->type);
    MPI_Type_free(&plain);
    for (int i = 0; i < n; ++i)
        l->offset[i] = (i / 4 * 6 + i % 4) * s;
    layout_commit(l, (n / 4 * 6 + 5) * s);
}

/// Extent smaller than the data: items interleave.
static inline void make_interleaved(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Datatype plain;
    MPI_Type_vector(n, 1, 4, b, &plain);
    MPI_Type_create_resized(plain, 0, s, &l->type);
    MPI_Type_free(&plain);
    for (int i = 0; i < n; ++i)
        l->offset[i] = 4 * i * s;
    layout_commit(l, s);
}

static inline void make_subarray(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    const int sizes[] = {n / 4 + 2, 7}, part[] = {n / 4, 4}, start[] = {1, 2};
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = ((1 + i / 4) * 7 + 2 + i % 4) * s;
    layout_commit(l, sizes[0] * sizes[1] * s);
}

static inline void make_subarray_fortran(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    const int sizes[] = {5, n / 2 + 1}, part[] = {2, n / 2}, start[] = {3, 1};
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, b, &l->type);
    for (int i = 0; i < n; ++i)
        l->offset[i] = ((1 + i / 2) * 5 + 3 + i % 2) * s;
    layout_commit(l, sizes[0] * sizes[1] * s);
}

static inline void make_vector_of_vectors(struct layout* l, int n, MPI_Datatype b, MPI_Aint s) {
    MPI_Datatype inner;
    MPI_Type_vector(2, 1, 2, b, &inner);
    MPI_Type_create_hvector(n / 2, 1, 9 * s, inner, &l->type);
    MPI_Type_free(&inner);
    for (int i = 0; i < n; ++i)
        l->offset[i] = i / 2 * 9 * s + i % 2 * 2 * s;
    layout_commit(l, (n / 2 - 1) * 9 * s + 3 * s);
}

static const struct {
    const char* name;
    void (*make)(struct layout*, int, MPI_Datatype, MPI_Aint);
} layouts[] = {
    {"contiguous", make_contiguous},
    {"vector", make_vector},
    {"negative_stride", make_negative_stride},
    {"hvector", make_hvector},
    {"indexed", make_indexed},
    {"hindexed_true_lb", make_hindexed_true_lb},
    {"indexed_block", make_indexed_block},
    {"struct", make_struct},
    {"resized", make_resized},
    {"interleaved", make_interleaved},
    {"subarray", make_subarray},
    {"subarray_fortran", make_subarray_fortran},
    {"vector_of_vectors", make_vector_of_vectors},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static inline struct layout layout_make(int which, int n, MPI_Datatype basic, MPI_Aint width) {
    struct layout l = {.name = layouts[which].name, .length = n};
    layouts[which].make(&l, n, basic, width);
    return l;
}

/// Byte offset of the k-th element of `count` items.
static inline MPI_Aint layout_offset(const struct layout* l, int k) {
    return k / l->length * l->extent + l->offset[k % l->length];
}
