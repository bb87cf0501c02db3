"""What rmalock rests on: its parts as small programs, with the orders of the source. README.md has the language.

What the system or another library does has its order written out: a mutex, a socket, a message.
"""
from program import Program

# ---- words that wake: fabric/cpu.hh, bell.hh, bell.cc ------------------------------------------------------------

SLEEPER = """
    add r_before sleepers 1 count_sleeper
    load r_rings rings rings_before
    load r_word word look
    if r_word == 0: await r_rung rings r_rung!=r_rings relaxed
    add r_up sleepers -1 up
"""  # the futex: it sleeps as long as the rings are what they were
RINGER = """
    load r_seen sleepers ring
    if r_seen != 0: add r_more rings 1 count_rings
"""


def bell(name, change, excerpt, **more):
    """A sleeper for a word, and a process that changes it."""
    return Program(f"bell: {name}", "a sleeper sleeps on, though its word has changed",
                   {"waiter": SLEEPER, "writer": change + RINGER},
                   mutants=({excerpt: "acq_rel"}, {"ring": "acquire"}, {"count_sleeper": "acq_rel"},
                            {"look": "acquire"}, {"rings_before": "relaxed"}, {"count_rings": "relaxed"}),
                   enough=({"rings_before": "acquire", "count_rings": "release"},), **more)


DORMANT = """
    add r_before{n} marks 1 set_mark
    load r_word{n} word look
    if r_word{n} == 0: await r_rung{n} door r_rung{n}>{n} relaxed
"""
CALLER = """
    load r_seen{n} marks ring
    if r_seen{n} != 0: swap r_marks{n} marks 0 take_marks
    if r_seen{n} != 0 and r_marks{n} != 0: add r_door{n} door 1 relaxed
"""

BELLS = [
    bell("a put", "store word 1 put", "put"),
    bell("an addition", "add r_old word 1 add", "add"),
    Program("bell: two sleepers, of which one gets up", "the other one sleeps on, though its word has changed",
            {"riser": "add r_first sleepers 1 count_sleeper\nadd r_last sleepers -1 up",
             "waiter": SLEEPER, "writer": "store word 1 put" + RINGER},
            mutants=({"put": "release"}, {"look": "acquire"}, {"ring": "acquire"}, {"count_sleeper": "acq_rel"},
                     {"rings_before": "relaxed"}, {"count_rings": "relaxed"}),
            enough=({"rings_before": "acquire", "count_rings": "release"},)),
    Program("bell: woken for another word, it sleeps again", "it sleeps on, though its word has changed",
            {"waiter": SLEEPER + """
                 if r_word == 0: add r_before2 sleepers 1 count_sleeper
                 if r_word == 0: load r_rings2 rings rings_before
                 if r_word == 0: load r_word2 word look
                 if r_word2 == 0: await r_rung2 rings r_rung2!=r_rings2 relaxed
             """,
             "other": RINGER.replace("r_", "r_o"), "writer": "store word 1 put" + RINGER},
            mutants=({"put": "release"}, {"look": "acquire"}, {"ring": "acquire"}, {"count_sleeper": "acq_rel"},
                     {"rings_before": "relaxed"}, {"count_rings": "relaxed"}),
            enough=({"rings_before": "acquire", "count_rings": "release"},)),
    Program("dormitory: a put", "a sleeper sleeps on, though its word has changed",
            {"waiter": DORMANT.format(n=0), "writer": "store word 1 put" + CALLER.format(n=0)},
            mutants=({"put": "release"}, {"ring": "acquire"}, {"set_mark": "acq_rel"}, {"look": "acquire"})),
    Program("dormitory: woken for another word, it sleeps again", "it sleeps on, though its word has changed",
            {"waiter": DORMANT.format(n=0) +
             "if r_word0 == 0: add r_clear marks 0 clear_mark\n"  # the process that rang has taken the mark
             "if r_word0 == 0: add r_before1 marks 1 set_mark\n"
             "if r_word0 == 0: load r_word1 word look\n"
             "if r_word1 == 0: await r_rung1 door r_rung1>r_rung0 relaxed",
             "other": CALLER.format(n=2), "writer": "store word 1 put" + CALLER.format(n=3)},
            mutants=({"put": "release"}, {"look": "acquire"}, {"ring": "acquire"}, {"set_mark": "acq_rel"})),
    Program("neighbours: what UCX has stored", "a sleeper that has asked a neighbour to watch sleeps on",
            {"waiter": "swap r_asked socket 1 acq_rel" + DORMANT.format(n=0),
             "neighbour": """
                 store word 1 relaxed
                 fence after_ucx
                 swap r_watch socket 0 acq_rel
                 if r_watch == 1: load r_seen marks ring
                 if r_watch == 1 and r_seen != 0: swap r_marks marks 0 take_marks
                 if r_watch == 1 and r_seen != 0: add r_door door 1 relaxed
             """},
            mutants=({"after_ucx": "none"}, {"look": "acquire"}, {"set_mark": "acq_rel"}),
            enough=({"ring": "relaxed"},)),
    Program("event count: a word of another node", "a process waits on, though its word has changed",
            {"waiter": """
                 load r_events events get
                 load r_word word get
                 if r_word == 0: await r_next events r_next!=r_events events
             """,
             "writer": "add r_old word 1 fetch_add\nadd r_count events 1 advance"},
            mutants=({"get": "relaxed"}, {"advance": "relaxed"}),
            enough=({"get": "acquire", "advance": "release", "events": "relaxed", "fetch_add": "relaxed"},)),
    Program("event count: what one of the node has found", "another one takes what was there before",
            {"looker": "swap r_0 copy 1 found\nadd r_1 looked 1 has_looked",
             "other": "await r_looked looked r_looked==1 looked\nload r_copy copy copied"}, "r_copy == 0",
            mutants=({"has_looked": "relaxed"}, {"looked": "relaxed"}),
            enough=({"found": "relaxed", "has_looked": "release", "looked": "acquire", "copied": "relaxed"},)),
]

# ---- data under a lock -------------------------------------------------------------------------------------------

HANDED_OVER = "the next holder does not see what the last one did"

HOLDERS = [
    Program("a mailbox: data behind a put", HANDED_OVER,
            {"holder": "store data 1 plain\nstore mail 1 put",
             "next": "await r_mail mail r_mail==1 look\nload r_data data plain"}, "r_data == 0",
            mutants=({"put": "relaxed"}, {"look": "relaxed"}), enough=({"put": "release", "look": "acquire"},)),
    Program("a mailbox: data behind two puts", HANDED_OVER,
            {"first": "store data 1 plain\nstore mail1 1 put",
             "second": "await r_1 mail1 r_1==1 look\nstore mail2 1 put",
             "third": "await r_2 mail2 r_2==1 look\nload r_data data plain"}, "r_data == 0",
            mutants=({"put": "relaxed"}, {"look": "relaxed"}), enough=({"put": "release", "look": "acquire"},)),
    Program("a queue (mcs_queue.hh)", HANDED_OVER + ", or waits for ever",
            {"holder": """
                 load r_0 data plain
                 store data 1 plain
                 load r_next next get
                 if r_next == 0: cas r_last tail 1 0 leave
                 if r_next == 0 and r_last != 1: await r_late next r_late!=0 look
                 if r_next == 2 or r_late == 2: store status 1 status
             """,
             "next": """
                 swap r_pred tail 2 join
                 if r_pred == 1: store next 2 next
                 if r_pred == 1: await r_status status r_status!=0 await_status
                 load r_data data plain
                 store data 2 plain
             """}, "r_data == 0", init={"tail": 1},
            mutants=({"status": "relaxed"}, {"await_status": "relaxed"}, {"leave": "relaxed"}, {"join": "relaxed"}),
            enough=({"status": "release", "next": "relaxed", "await_status": "acquire", "leave": "release",
                     "join": "acquire", "get": "relaxed", "look": "relaxed"},)),
    Program("a ticket behind others (passing_ticket.hh)", HANDED_OVER,
            {"holder": "store data 1 plain\nadd r_0 word -1 ticket_release",
             "other": "add r_1 word 10 ticket_join",
             "next": """
                 await r_word word r_word==10 look
                 cas r_2 word 10 1 ticket_serve
                 if r_2 == 10: load r_data data plain
             """}, "r_data == 0", init={"word": 1},
            mutants=({"ticket_release": "relaxed"}, {"look": "relaxed", "ticket_serve": "relaxed"}),
            enough=({"ticket_release": "release", "ticket_join": "relaxed", "look": "relaxed",
                     "ticket_serve": "acquire"},)),
    Program("readers by additions (fompi_rw.hh)", "a holder does not see what the last one did, or changes it too soon",
            {"last": "store data 1 plain\nadd r_0 word -1 writer_leaves",
             "reader": """
                 add r_1 word 2 reader_comes
                 if r_1 == 1: await r_2 word r_2%2==0 look
                 load r_data data plain
                 add r_3 word -2 reader_leaves
             """,
             "writer": "cas r_4 word 0 1 writer_comes\nif r_4 == 0: store data 3 plain\n"
                       "if r_4 == 0: add r_5 word -1 writer_leaves"},
            "r_data == 0", init={"word": 1},
            mutants=({"writer_leaves": "relaxed"}, {"reader_comes": "relaxed"}, {"look": "relaxed"},
                     {"reader_leaves": "relaxed"}, {"writer_comes": "relaxed"}),
            enough=({"writer_leaves": "release", "reader_comes": "acquire", "look": "acquire",
                     "reader_leaves": "release", "writer_comes": "acquire"},)),
    Program("a list of waiters (push_list.hh)", "a process waits on, though what it waited for is over",
            {"waiter": "swap r_prev head 1 push\nload r_over over get\n"
                       "if r_over == 0: await r_wake wake r_wake==1 await_wake",
             "waker": "store over 1 put\nswap r_head head 0 wake_all\nif r_head == 1: store wake 1 wake"},
            mutants=({"push": "relaxed"}, {"wake_all": "relaxed"}),
            enough=({"push": "acquire", "wake_all": "release", "get": "relaxed", "put": "relaxed",
                     "await_wake": "relaxed"},)),
    Program("queue nodes of a process (qnodes.hh)", "a thread takes a qnode that is still in use",
            {"before": "store qnode 1 plain\nadd r_0 used -1 qnode_given",
             "next": "load r_seen used qnodes_used\nif r_seen == 0: cas r_used used 0 1 qnode_taken\n"
                     "if r_seen == 0 and r_used == 0: store qnode 2 plain"}, init={"used": 1},
            mutants=({"qnode_given": "relaxed"}, {"qnode_taken": "relaxed"})),
    Program("numbers of threads (thread_number.cc)", "the end of an old mark undoes that of the next thread",
            {"before": "store mark 0 unmark\nadd r_taken taken -1 number_given",
             "next": "load r_seen taken numbers_used\nif r_seen == 0: cas r_number taken 0 1 number_taken\n"
                     "if r_seen == 0 and r_number == 0: store mark 2 mark\nload r_mark mark relaxed"},
            "r_number == 0 and r_mark == 0", init={"taken": 1, "mark": 1},
            mutants=({"number_given": "relaxed"}, {"number_taken": "relaxed"}),
            enough=({"mark": "relaxed", "unmark": "relaxed"},)),
]

# ---- each changes a word of its own, and reads the other's -------------------------------------------------------

EXCLUSIVE = """
    add r_0 holder 1 enter
    cas r_target target 0 1 cas
    load r_m m marked
    if r_m == 0: store data 1 plain
    store target 0 put
    add r_1 holder -1 strike
"""
ALL = """
    add r_3 m 1 set_m
    load r_holder holder scan
    if r_holder != 0: await r_free target r_free==0 look
    load r_data data plain
"""
BOTH_INSIDE = "both are inside, or one does not see what the other did"


def leader(own, other, mine):
    return f"""
        swap r_{own} {own} 1 swap
        load r_{own}1 {other} get
        if r_{own}1 != 0: store victim {mine} victim
        if r_{own}1 != 0: fence victim_flush
        if r_{own}1 != 0: load r_{own}2 {other} get
        if r_{own}1 != 0: load r_{own}3 victim get
        if r_{own}1 == 0 or r_{own}2 == 0 or r_{own}3 != {mine}: load r_{own}4 data plain
        if r_{own}1 == 0 or r_{own}2 == 0 or r_{own}3 != {mine}: store data {mine} plain
        if r_{own}1 == 0 or r_{own}2 == 0 or r_{own}3 != {mine}: cas r_{own}5 {own} 1 0 cas
    """


ROOMS = [
    Program("gate: R1, by holder records (all_gate.hh)", BOTH_INSIDE, {"exclusive": EXCLUSIVE, "lock_all": ALL},
            mutants=({"enter": "acq_rel"}, {"marked": "acquire"}, {"set_m": "acq_rel"}, {"scan": "acquire"},
                     {"strike": "relaxed"}, {"put": "relaxed"}, {"look": "acquire"}, {"cas": "acq_rel"})),
    Program("gate: R1, by a visit to each target", BOTH_INSIDE,
            {"exclusive": "cas r_target target 0 1 cas\nload r_m m marked\nif r_m == 0: store data 1 plain\n"
                          "store target 0 put",
             "lock_all": "add r_3 m 1 set_m\nawait r_free target r_free==0 look\nload r_data data plain"},
            mutants=({"cas": "acq_rel"}, {"marked": "acquire"}, {"set_m": "acq_rel"}, {"look": "acquire"},
                     {"put": "relaxed"})),
    Program("gate: R1, a section in a message (section.hh)", BOTH_INSIDE,
            {"origin": "add r_0 holder 1 enter\nstore message 1 release",
             "home": "await r_1 message r_1==1 acquire\ncas r_s s 0 1 section_take\nload r_m m marked_at_home\n"
                     "if r_m == 0: store data 1 plain",
             "lock_all": "add r_3 m 1 set_m\nload r_holder holder scan\nif r_holder == 0: load r_data data plain"},
            mutants=({"enter": "acq_rel"}, {"marked_at_home": "acquire"}, {"set_m": "acq_rel"}, {"scan": "acquire"}),
            enough=({"section_take": "acq_rel"},)),
    Program("ALock: leaders of both cohorts (alock.hh)", BOTH_INSIDE,
            {"remote": leader("tail_r", "tail_l", 1), "local": leader("tail_l", "tail_r", 2)},
            mutants=({"swap": "acq_rel"}, {"get": "acquire"}, {"cas": "relaxed"}),
            enough=({"victim": "relaxed", "victim_flush": "none"},)),
    Program("ALock: a cohort that has used up its budget", BOTH_INSIDE,
            {"remote": leader("tail_r", "tail_l", 1),
             "local": "store data 2 plain" + leader("tail_l", "tail_r", 2).replace("swap r_tail_l tail_l 1 swap", "")},
            init={"tail_l": 1}, mutants=({"victim": "relaxed"}, {"get": "relaxed"}, {"cas": "relaxed"}),
            enough=({"victim": "release", "victim_flush": "none", "swap": "relaxed"},)),
]

# ---- window memory -----------------------------------------------------------------------------------------------


def flushes(fence):
    """Each process puts, flushes, and gets."""
    half = "store {} 1 place_store\nfence " + fence + "\nload {} {} place_load"
    return Program(f"put, flush, get: {fence}", "neither of two processes sees the other's put",
                   {"one": half.format("x", "r_y", "y"), "other": half.format("y", "r_x", "x")},
                   "r_x == 0 and r_y == 0", mutants=({fence: "none"}, {fence: "acq_rel"}))


def tsan_flushes():
    """The same under ThreadSanitizer, which knows no fences."""
    half = "store {} 1 place_store\nadd r_{} one 0 everyone\nload r_{} {} place_load"
    return Program("put, flush, get: ThreadSanitizer", "neither of two processes sees the other's put",
                   {"one": half.format("x", "one", "y", "y"), "other": half.format("y", "other", "x", "x")},
                   "r_x == 0 and r_y == 0", mutants=({"everyone": "relaxed"},), enough=({"everyone": "acq_rel"},))


def flag(store):
    return Program(f"put, flush, a flag by an accumulate: {store}", "the flag is seen, and not the put",
                   {"origin": f"store data 1 place_store\nfence flush_stores\nstore flag 1 {store}",
                    "target": "load r_flag flag load_all\nif r_flag == 1: load r_data data place_load"},
                   "r_flag == 1 and r_data == 0",
                   mutants=({store: "relaxed", "flush_stores": "none"}, {"load_all": "relaxed"}),
                   enough=({store: "relaxed"}, {"flush_stores": "none"}, {"load_all": "acquire"}))


WRITER = """
    store table1 1 relaxed
    store version 1 odd
    fence behind_odd
    store address 1 set_address
    store count 1 set_count
    store version 2 even
    store table0 9 relaxed
"""  # the old table's memory is the program's again
READER = """
    load r_v1 version first_version
    if r_v1 != 1: load r_count count count
    if r_v1 != 1: load r_address address address
    if r_v1 != 1 and r_address == 0: load r_table table0 relaxed
    if r_v1 != 1 and r_address == 1: load r_table table1 relaxed
    fence before_last
    load r_v2 version last_version
"""

ELEMENT = """
    store mark 1 mark
    light put_own_light
    load r_word word raised
    if r_word == 0: add r_element element 1 relaxed
    store mark 0 unmark
"""
CLAIMED = """
    cas r_claim mark 0 1 claim
    load r_word word claimed
    if r_word == 0: add r_element element 1 relaxed
    store mark 0 unmark
"""
ARRAY = """
    swap r_raised word 1 raise
    membarrier {fence}
    await r_mark mark r_mark!=1 drained
    load r_array element plain
    store element r_array+1 plain
"""
TORN = "an array is changed while a single element of it is"

MEMORY = [
    flushes("flush_stores"), flushes("flush_threads"), tsan_flushes(),
    flag("store_all"), flag("store_low"), flag("store_high"),
    Program("the table of attached memory (regions.cc)", "a reader takes what is no table, or an old one for new",
            {"owner": WRITER, "reader": READER},
            "r_v1 == r_v2 and (r_v1 == 0 and (r_count, r_address, r_table) != (0, 0, 0) or "
            "r_v1 == 2 and (r_count, r_address, r_table) != (1, 1, 1))",
            mutants=({"behind_odd": "none"}, {"before_last": "none"}, {"even": "relaxed"},
                     {"first_version": "relaxed"}),
            enough=({"odd": "relaxed", "set_address": "relaxed", "set_count": "relaxed", "even": "release",
                     "first_version": "acquire", "count": "relaxed", "address": "relaxed",
                     "last_version": "relaxed", "behind_odd": "release", "before_last": "acquire"},)),
    Program("the table of attached memory, as it was", "a reader that was told of a new one takes the old one",
            {"owner": "store version 2 even\nstore mail 1 put",
             "reader": "await r_mail mail r_mail==1 look\nload r_version version known_version"}, "r_version == 0",
            mutants=({"put": "relaxed"}, {"look": "relaxed"}),
            enough=({"even": "relaxed"},)),
    Program("marks of elements: an array comes (element_marks.hh)", TORN,
            {"single": ELEMENT, "array": ARRAY.format(fence="fence_node")}, interrupted=("single",),
            mutants=({"fence_node": "none"}, {"put_own_light": "none"}, {"unmark": "relaxed"}, {"drained": "relaxed"}),
            enough=({"raised": "relaxed", "raise": "relaxed", "mark": "relaxed", "drained": "acquire"},)),
    Program("marks of elements: the next array looks on", TORN,
            {"single": ELEMENT,
             "first": "swap r_raised word 1 raise\nmembarrier fence_node\nstore lock 1 put",
             "second": """
                 await r_lock lock r_lock==1 look
                 await r_mark mark r_mark!=1 drained
                 store element 2 plain
             """}, interrupted=("single",),
            mutants=({"fence_node": "none"}, {"put_own_light": "none"}, {"unmark": "relaxed"}, {"look": "relaxed"}),
            enough=({"raised": "relaxed", "raise": "relaxed", "mark": "relaxed", "put": "release",
                     "look": "acquire"},)),
    Program("marks of elements: an array has been", "a single element does not see what the array made of it",
            {"array": "store element 1 plain\nswap r_lower word 0 lower",
             "single": "store mark 1 mark\nload r_word word raised\nif r_word == 0: add r_element element 1 combine"},
            "r_element == 0", init={"word": 3}, mutants=({"lower": "relaxed"}, {"raised": "relaxed"}),
            enough=({"lower": "release", "raised": "acquire", "combine": "relaxed", "mark": "relaxed"},)),
    Program("marks of elements: without membarrier", TORN,
            {"single": CLAIMED, "array": ARRAY.replace("membarrier {fence}", "")},
            mutants=({"claim": "acq_rel"}, {"claimed": "acquire"}, {"raise": "acq_rel"}, {"drained": "acquire"},
                     {"unmark": "relaxed"})),
    Program("kernels, looked up once (osc_rmalock_accumulate.c)", "a thread uses a table that it does not see",
            {"one": "store table 1 plain\nstore entry 1 keep_kernels",
             "other": "load r_entry entry find_kernels\nif r_entry == 1: load r_table table plain"},
            "r_entry == 1 and r_table == 0", mutants=({"keep_kernels": "relaxed"}, {"find_kernels": "relaxed"})),
]

# ---- threads of a process ----------------------------------------------------------------------------------------


def answered(reader):
    return Program(f"outbox: an answer, by {reader}", "an operation counts as done, and its result is not there",
                   {"progress": "store result 1 plain\nload r_known number acknowledged_before\n"
                                "if r_known == 0: cas r_0 number 0 1 acknowledge",
                    "later": "load r_later number acknowledged_before\nif r_later == 1: cas r_1 number 1 2 acknowledge",
                    "waiter": f"load r_number number {reader}\nif r_number != 0: load r_result result plain"},
                   "r_number != 0 and r_result == 0", mutants=({"acknowledge": "relaxed"}, {reader: "relaxed"}))


COUNT = "store behind 1 behind_others\nstore sent 1 sent\nstore used 1 use\n"

THREADS = [
    answered("applied_up_to"), answered("ask"),
    Program("outbox: room", "more counts as applied than was sent, and a sender waits for room that is there",
            {"sender": "store sent 1 sent\nstore message 1 release",
             "progress": "await r_0 message r_0==1 acquire\ncas r_1 number 0 1 acknowledge",
             "other": "load r_number number has_room\nload r_sent sent room_sent"}, "r_number == 1 and r_sent == 0",
            mutants=({"acknowledge": "relaxed"}, {"has_room": "relaxed"})),
    Program("outbox: whose messages a flush asks for", "it misses those that the program has put before it",
            {"one": "take r_m mutex acquire\nstore held 1 plain\n" + COUNT +
                    "store mutex 0 release\nstore program 1 release",
             "other": """
                 await r_program program r_program==1 acquire
                 load r_used used used
                 load r_behind behind number
                 if r_used == 1: take r_mine mutex acquire
                 if r_used == 1: load r_held held plain
             """}, "r_used == 0 or r_behind == 0 or r_held == 0"),
    Program("departures: the timer", "the progress thread, woken, takes it for not set, or set for an earlier time",
            {"holder": "store rings 1 set_rings\nstore set 1 set_timer\nstore timer 1 release",
             "progress": "await r_timer timer r_timer==1 acquire\nload r_set set timer_set\n"
                         "if r_set == 1: load r_rings rings timer_rings"}, "r_set == 0 or r_rings == 0",
            enough=({"set_timer": "relaxed", "timer_set": "relaxed"},)),
    Program("departures: a look before the timer rings", "what is held goes by the time of an earlier timer",
            {"holder": "store rings 1 set_rings\nstore set 1 set_timer",
             "progress": "load r_set set timer_set\nif r_set == 1: load r_rings rings timer_rings"},
            "r_set == 1 and r_rings == 0", mutants=({"set_timer": "relaxed"}, {"timer_set": "relaxed"})),
    Program("departures: what the program has put before", "a thread says something that overtakes it",
            {"holder": "store holds 1 hold\nstore program 1 release",
             "speaker": "await r_program program r_program==1 acquire\nload r_holds holds holds"}, "r_holds == 0"),
    Program("servers: one thread at a time", "it does not see what the last one has done",
            {"one": "store data 1 plain\nstore busy 0 leave_server",
             "other": "swap r_busy busy 1 enter_server\nif r_busy == 0: load r_data data plain"},
            "r_busy == 0 and r_data == 0", init={"busy": 1},
            mutants=({"enter_server": "relaxed"}, {"leave_server": "relaxed"})),
    Program("the network, opened once", "a thread uses a network that it does not see",
            {"opener": "store network 1 plain\nstore the_one 1 seq_cst",
             "other": "load r_one the_one the_one\nif r_one == 1: load r_network network plain"},
            "r_one == 1 and r_network == 0", mutants=({"the_one": "relaxed"},)),
    Program("trial: a stage, as CPUs write it", "a stage is seen before what was done in it",
            {"partner": "store tried 1 relaxed\nstore stage 1 release",
             "self": "load r_stage stage stage\nif r_stage == 1: load r_tried tried relaxed"},
            "r_stage == 1 and r_tried == 0", mutants=({"stage": "relaxed"},)),
    Program("meetings (osc_rmalock_compat.h)", "a process goes on before all have met, or misses what they did",
            {"main": """
                 add r_0 open 1 meeting_begun
                 store asked 1 release
                 add r_1 open 1 meeting_begun
                 store asked 2 release
                 await r_open open r_open==0 have_met
                 load r_all all plain
             """,
             "pmix": """
                 await r_2 asked r_2>=1 acquire
                 add r_3 open -1 meeting_over
                 await r_4 asked r_4==2 acquire
                 store all 1 plain
                 add r_5 open -1 meeting_over
             """},
            "r_all == 0", mutants=({"meeting_over": "relaxed"}, {"have_met": "relaxed"})),
]

PROGRAMS = BELLS + HOLDERS + ROOMS + MEMORY + THREADS
