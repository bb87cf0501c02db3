// Put and get between all pairs of layouts: vectors, indexed types, structs, resized types,
// subarrays, negative and positive true lower bounds, absolute addresses. What must arrive where
// comes from typemaps.h, not from MPI.
#include "typemaps.h"

enum { ELEMENTS = 12, CANARY = 0xee };

static const struct {
    const char* name;
    MPI_Aint width;
} basics[] = {{"char", 1}, {"short", 2}, {"int", 4}, {"double", 8}};
enum { BASICS = sizeof basics / sizeof *basics };

static MPI_Datatype basic_type(int b) {
    const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    return types[b];
}

/// One rank's zones, one per layout, all alike: HALF elements on each side of the middle.
struct zones {
    MPI_Aint width, bytes, all;
};

static struct zones zones_of(int basic) {
    const MPI_Aint width = basics[basic].width;
    return (struct zones){width, 2 * HALF * width, LAYOUTS * 2 * HALF * width};
}

static MPI_Aint middle(const struct zones* z, int zone) {
    return zone * z->bytes + z->bytes / 2;
}

/// Never the canary, different for each element, rank and byte (as far as a byte can be).
static unsigned char value_of(int rank, int k, MPI_Aint byte) {
    return (unsigned char)((rank * 53 + k * 17 + (int)byte * 5) % 200 + 1);
}

static void place_elements(unsigned char* at_middle, const struct layout* l, MPI_Aint width,
                           int rank) {
    for (int k = 0; k < ELEMENTS; ++k)
        for (MPI_Aint i = 0; i < width; ++i)
            at_middle[layout_offset(l, k) + i] = value_of(rank, k, i);
}

static void check_zone(const unsigned char* zone, const struct layout* l, const struct zones* z,
                       int rank, const char* other) {
    unsigned char* expected = malloc((size_t)z->bytes);
    memset(expected, CANARY, (size_t)z->bytes);
    place_elements(expected + z->bytes / 2, l, z->width, rank);
    MPI_Aint i = 0;
    while (i < z->bytes && expected[i] == zone[i])
        ++i;
    CHECK_THAT(i == z->bytes, "from %s to %s, %ld-byte elements: byte %ld is %02x, not %02x", other,
               l->name, (long)z->width, (long)(i - z->bytes / 2), zone[i % z->bytes],
               expected[i % z->bytes]);
    free(expected);
}

/// The table itself: MPI agrees about the extents, and its own pack about the offsets.
static void layouts_agree_with_mpi(void) {
    for (int which = 0; which < LAYOUTS; ++which) {
        struct layout l = layout_make(which, ELEMENTS, MPI_INT, sizeof(int));
        MPI_Aint lb, extent;
        MPI_Type_get_extent(l.type, &lb, &extent);
        CHECK_THAT(extent == l.extent, "%s: extent %ld, not %ld", l.name, (long)extent,
                   (long)l.extent);
        int memory[2 * HALF], packed[ELEMENTS], position = 0;
        for (int i = 0; i < 2 * HALF; ++i)
            memory[i] = i;
        MPI_Pack(&memory[HALF], 1, l.type, packed, sizeof packed, &position, MPI_COMM_SELF);
        for (int k = 0; k < ELEMENTS; ++k)
            CHECK_THAT(packed[k] == HALF + l.offset[k] / 4, "%s: element %d at %d, not at %ld",
                       l.name, k, packed[k] - HALF, (long)l.offset[k] / 4);
        MPI_Type_free(&l.type);
    }
}

/// An origin's buffer with one layout's elements in it (or none), addressed from its middle.
static unsigned char* origin_buffer(const struct zones* z, const struct layout* with) {
    unsigned char* buffer = malloc((size_t)z->bytes);
    memset(buffer, CANARY, (size_t)z->bytes);
    if (with != NULL)
        place_elements(buffer + z->bytes / 2, with, z->width, T.rank);
    return buffer;
}

/// Puts from one origin layout to every target layout, in one epoch.
static void put_from(const struct window* w, const struct zones* z, int basic, int from,
                     int items) {
    const int target = (T.rank + 1) % T.ranks, origin = (T.rank + T.ranks - 1) % T.ranks;
    struct layout o = layout_make(from, ELEMENTS / items, basic_type(basic), z->width);
    unsigned char* buffer = origin_buffer(z, &o);
    local_begin(w);
    memset(w->base, CANARY, (size_t)z->all);
    local_end_all(w);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win));
    for (int to = 0; to < LAYOUTS; ++to) {
        // The target's items are larger or smaller than the origin's: only the signature agrees.
        const int target_items = to % 2 != 0 ? 1 : 3;
        struct layout t = layout_make(to, ELEMENTS / target_items, basic_type(basic), z->width);
        OK(MPI_Put(buffer + z->bytes / 2, items, o.type, target, at(w, target, middle(z, to)),
                   target_items, t.type, w->win));
        MPI_Type_free(&t.type); // legal at once: MPI keeps what it needs
    }
    OK(MPI_Win_unlock(target, w->win));
    MPI_Barrier(w->comm);
    local_begin(w);
    for (int to = 0; to < LAYOUTS; ++to) {
        struct layout t =
            layout_make(to, ELEMENTS / (to % 2 != 0 ? 1 : 3), basic_type(basic), z->width);
        check_zone((unsigned char*)w->base + to * z->bytes, &t, z, origin, o.name);
        MPI_Type_free(&t.type);
    }
    local_end_all(w);
    MPI_Type_free(&o.type);
    free(buffer);
}

static void put_all_pairs(void) {
    for (int basic = 0; basic < BASICS; ++basic) {
        const struct zones z = zones_of(basic);
        struct window w;
        if (!window_open(&w, z.all, 1))
            return;
        for (int from = 0; from < LAYOUTS; ++from)
            put_from(&w, &z, basic, from, from % 2 != 0 ? 3 : 1);
        window_close(&w);
    }
}

/// Gets from every target layout into one origin layout, all outstanding together.
static void get_into(const struct window* w, const struct zones* z, int basic, int into,
                     int items) {
    const int target = (T.rank + 1) % T.ranks;
    struct layout o = layout_make(into, ELEMENTS / items, basic_type(basic), z->width);
    unsigned char* buffers[LAYOUTS];
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    for (int from = 0; from < LAYOUTS; ++from) {
        const int target_items = from % 2 != 0 ? 3 : 1;
        struct layout t = layout_make(from, ELEMENTS / target_items, basic_type(basic), z->width);
        buffers[from] = origin_buffer(z, NULL);
        OK(MPI_Get(buffers[from] + z->bytes / 2, items, o.type, target,
                   at(w, target, middle(z, from)), target_items, t.type, w->win));
        MPI_Type_free(&t.type);
    }
    OK(MPI_Win_unlock(target, w->win));
    for (int from = 0; from < LAYOUTS; ++from) {
        check_zone(buffers[from], &o, z, target, layouts[from].name);
        free(buffers[from]);
    }
    MPI_Type_free(&o.type);
}

static void get_all_pairs(void) {
    for (int basic = 0; basic < BASICS; ++basic) {
        const struct zones z = zones_of(basic);
        struct window w;
        if (!window_open(&w, z.all, 1))
            return;
        local_begin(&w);
        for (int from = 0; from < LAYOUTS; ++from) {
            const int items = from % 2 != 0 ? 3 : 1;
            struct layout t = layout_make(from, ELEMENTS / items, basic_type(basic), z.width);
            place_elements((unsigned char*)w.base + middle(&z, from), &t, z.width, T.rank);
            MPI_Type_free(&t.type);
        }
        local_end_all(&w);
        for (int into = 0; into < LAYOUTS; ++into)
            get_into(&w, &z, basic, into, into % 2 != 0 ? 1 : 3);
        window_close(&w);
    }
}

/// The same layout, but with the buffer's address in the type.
static MPI_Datatype absolute(const struct layout* l, const void* buffer) {
    MPI_Aint address;
    MPI_Datatype type;
    const int one = 1;
    MPI_Get_address(buffer, &address);
    MPI_Type_create_hindexed(1, &one, &address, l->type, &type);
    MPI_Type_commit(&type);
    return type;
}

/// MPI_BOTTOM on the origin's side of put and get, every layout.
static void absolute_addresses(void) {
    const struct zones z = zones_of(2);
    const int target = (T.rank + 1) % T.ranks;
    struct window w;
    if (!window_open(&w, z.bytes, 1))
        return;
    for (int which = 0; which < LAYOUTS; ++which) {
        struct layout l = layout_make(which, ELEMENTS, MPI_INT, z.width);
        unsigned char *from = origin_buffer(&z, &l), *to = origin_buffer(&z, NULL);
        MPI_Datatype from_type = absolute(&l, from + z.bytes / 2);
        MPI_Datatype to_type = absolute(&l, to + z.bytes / 2);
        local_begin(&w);
        memset(w.base, CANARY, (size_t)z.bytes);
        local_end_all(&w);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
        OK(MPI_Put(MPI_BOTTOM, 1, from_type, target, at(&w, target, z.bytes / 2), 1, l.type,
                   w.win));
        OK(MPI_Win_flush(target, w.win));
        OK(MPI_Get(MPI_BOTTOM, 1, to_type, target, at(&w, target, z.bytes / 2), 1, l.type, w.win));
        OK(MPI_Win_unlock(target, w.win));
        check_zone(to, &l, &z, T.rank, "absolute");
        MPI_Barrier(w.comm);
        local_begin(&w);
        check_zone((unsigned char*)w.base, &l, &z, (T.rank + T.ranks - 1) % T.ranks, "absolute");
        local_end_all(&w);
        MPI_Type_free(&from_type);
        MPI_Type_free(&to_type);
        MPI_Type_free(&l.type);
        free(from);
        free(to);
    }
    window_close(&w);
}

/// Fields of four widths in one order, laid out in three ways.
struct record {
    char c;
    double d;
    int i;
    short s;
};
enum { RECORDS = 7, WAYS = 3, FIELDS = 4, RECORD_BYTES = 32 };

static const MPI_Aint field_places[WAYS][FIELDS] = {
    {offsetof(struct record, c), offsetof(struct record, d), offsetof(struct record, i),
     offsetof(struct record, s)},
    {0, 1, 9, 13},  // packed: nothing is aligned
    {24, 16, 8, 0}, // backwards in memory, the same order in the signature
};
static const MPI_Aint field_bytes[FIELDS] = {sizeof(char), sizeof(double), sizeof(int),
                                             sizeof(short)};

static MPI_Datatype record_type(int way) {
    const int ones[FIELDS] = {1, 1, 1, 1};
    const MPI_Datatype types[FIELDS] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT};
    MPI_Datatype plain, type;
    MPI_Type_create_struct(FIELDS, ones, field_places[way], types, &plain);
    MPI_Type_create_resized(plain, 0, RECORD_BYTES, &type);
    MPI_Type_free(&plain);
    MPI_Type_commit(&type);
    return type;
}

static void record_fill(unsigned char* at_first, int way, int rank) {
    memset(at_first, CANARY, RECORDS * RECORD_BYTES);
    for (int r = 0; r < RECORDS; ++r)
        for (int f = 0; f < FIELDS; ++f)
            for (MPI_Aint b = 0; b < field_bytes[f]; ++b)
                at_first[r * RECORD_BYTES + field_places[way][f] + b] =
                    value_of(rank, r * FIELDS + f, b);
}

static void records_of_mixed_width(void) {
    const int target = (T.rank + 1) % T.ranks;
    struct window w;
    if (!window_open(&w, RECORDS * RECORD_BYTES, RECORD_BYTES))
        return;
    unsigned char from[RECORDS * RECORD_BYTES], back[sizeof from], expected[sizeof from];
    for (int pair = 0; pair < WAYS * WAYS; ++pair) {
        const int a = pair / WAYS, b = pair % WAYS;
        MPI_Datatype origin_type = record_type(a), target_type = record_type(b);
        record_fill(from, a, T.rank);
        memset(back, CANARY, sizeof back);
        local_begin(&w);
        memset(w.base, CANARY, sizeof from);
        local_end_all(&w);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
        OK(MPI_Put(from, RECORDS, origin_type, target, at(&w, target, 0), RECORDS, target_type,
                   w.win));
        OK(MPI_Win_flush(target, w.win));
        OK(MPI_Get(back, RECORDS, origin_type, target, at(&w, target, 0), RECORDS, target_type,
                   w.win));
        OK(MPI_Win_unlock(target, w.win));
        CHECK_MEM(from, back, sizeof from);
        MPI_Barrier(w.comm);
        local_begin(&w);
        record_fill(expected, b, (T.rank + T.ranks - 1) % T.ranks);
        CHECK_MEM(expected, w.base, sizeof expected);
        local_end_all(&w);
        MPI_Type_free(&origin_type);
        MPI_Type_free(&target_type);
    }
    window_close(&w);
}

/// Items without elements, elements without items: nothing moves, nothing fails.
static void zero_counts(void) {
    const int target = (T.rank + 1) % T.ranks;
    struct window w;
    if (!window_open(&w, 64, 1))
        return;
    MPI_Datatype empty;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    struct layout l = layout_make(1, ELEMENTS, MPI_INT, sizeof(int));
    int value = 7;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
    OK(MPI_Put(&value, 0, MPI_INT, target, at(&w, target, 0), 0, MPI_INT, w.win));
    OK(MPI_Put(NULL, 0, MPI_INT, target, at(&w, target, 64), 0, MPI_INT, w.win));
    OK(MPI_Put(&value, 0, l.type, target, at(&w, target, 0), 3, empty, w.win));
    OK(MPI_Put(&value, 5, empty, target, at(&w, target, 0), 0, l.type, w.win));
    OK(MPI_Get(&value, 5, empty, target, at(&w, target, 0), 5, empty, w.win));
    OK(MPI_Get(NULL, 0, MPI_INT, target, at(&w, target, 0), 0, l.type, w.win));
    OK(MPI_Win_unlock(target, w.win));
    CHECK_EQ(7, value);
    MPI_Barrier(w.comm);
    local_begin(&w);
    const char zero[64] = {0};
    CHECK_MEM(zero, w.base, sizeof zero);
    local_end_all(&w);
    MPI_Type_free(&empty);
    MPI_Type_free(&l.type);
    window_close(&w);
}

/// Every third int is what the rank before has put there, and nothing else has changed.
static void expect_pieces(struct window* w, int pieces) {
    const int origin = (T.rank + T.ranks - 1) % T.ranks;
    MPI_Barrier(w->comm);
    local_begin(w);
    for (int i = 0; i < 3 * pieces; ++i)
        CHECK_EQ(i % 3 != 0 ? 0 : i / 3 + origin + 1, ((int*)w->base)[i]);
    local_end_all(w);
}

/// Large strided transfers: many more pieces than any queue or vector of them has places.
static void many_pieces(void) {
    enum { PIECES = 50000 };
    const int target = (T.rank + 1) % T.ranks;
    struct window w;
    if (!window_open(&w, (MPI_Aint)sizeof(int) * 3 * PIECES, sizeof(int)))
        return;
    MPI_Datatype threes, twos;
    MPI_Type_vector(PIECES, 1, 3, MPI_INT, &threes);
    MPI_Type_vector(PIECES, 1, 2, MPI_INT, &twos);
    MPI_Type_commit(&threes);
    MPI_Type_commit(&twos);
    int *from = calloc(2 * PIECES, sizeof *from), *back = calloc(PIECES, sizeof *back);
    for (int i = 0; i < PIECES; ++i)
        from[2 * i] = i + T.rank + 1, from[2 * i + 1] = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
    OK(MPI_Put(from, 1, twos, target, at(&w, target, 0), 1, threes, w.win));
    OK(MPI_Win_flush(target, w.win));
    OK(MPI_Get(back, PIECES, MPI_INT, target, at(&w, target, 0), 1, threes, w.win));
    OK(MPI_Win_unlock(target, w.win));
    for (int i = 0; i < PIECES; ++i)
        CHECK_EQ(i + T.rank + 1, back[i]);
    expect_pieces(&w, PIECES);
    free(from);
    free(back);
    MPI_Type_free(&threes);
    MPI_Type_free(&twos);
    window_close(&w);
}

/// The same with one type on both sides. What lies between the pieces stays as it is, here and there.
static void many_pieces_of_one_type(void) {
    enum { PIECES = 50000, GAP = -7 };
    const int target = (T.rank + 1) % T.ranks;
    struct window w;
    if (!window_open(&w, (MPI_Aint)sizeof(int) * 3 * PIECES, sizeof(int)))
        return;
    MPI_Datatype threes;
    MPI_Type_vector(PIECES, 1, 3, MPI_INT, &threes);
    MPI_Type_commit(&threes);
    int *from = calloc(3 * PIECES, sizeof *from), *back = calloc(3 * PIECES, sizeof *back);
    for (int i = 0; i < 3 * PIECES; ++i) {
        from[i] = i % 3 != 0 ? GAP : i / 3 + T.rank + 1;
        back[i] = GAP;
    }
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
    OK(MPI_Put(from, 1, threes, target, at(&w, target, 0), 1, threes, w.win));
    OK(MPI_Win_flush(target, w.win));
    OK(MPI_Get(back, 1, threes, target, at(&w, target, 0), 1, threes, w.win));
    OK(MPI_Win_unlock(target, w.win));
    CHECK_MEM(from, back, 3 * PIECES * sizeof *from);
    expect_pieces(&w, PIECES);
    free(from);
    free(back);
    MPI_Type_free(&threes);
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "layouts_agree_with_mpi", .run = layouts_agree_with_mpi},
    {.name = "put_all_pairs", .run = put_all_pairs, .each = IN_ANY},
    {.name = "get_all_pairs", .run = get_all_pairs, .each = IN_ANY},
    {.name = "absolute_addresses", .run = absolute_addresses, .each = IN_ANY},
    {.name = "records_of_mixed_width", .run = records_of_mixed_width, .each = IN_ANY},
    {.name = "zero_counts", .run = zero_counts, .each = IN_ANY},
    {.name = "many_pieces", .run = many_pieces, .each = IN_ANY},
    {.name = "many_pieces_of_one_type", .run = many_pieces_of_one_type, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
