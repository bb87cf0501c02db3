"""The pieces of the source whose orders the programs take. See source.py."""
from source import Excerpt

CPU, BELL, REGIONS = "fabric/cpu.hh", "fabric/bell.hh", "window/create/regions.cc"
OUTBOX, OUTBOX_CC, DEPARTURES = "network/outbox.hh", "network/outbox.cc", "network/departures.cc"
SERVERS = "network/servers.hh"
MARKS, MCS, KERNELS = "locks/parts/element_marks.hh", "locks/parts/mcs_queue.hh", "window/data/kernels.cc"
FOMPI, LIST = "locks/algorithms/fompi_rw.hh", "locks/parts/push_list.hh"
NUMBERS = "window/data/thread_number.cc"
EVENTS, SECTION = "locks/parts/node_event_count.hh", "locks/parts/section.hh"

VERBS = {
    "get": Excerpt(CPU, "w->load("),
    "fetch_add": Excerpt(CPU, "Value fetch_add(Word w, Value v) { return at(w).fetch_add("),
    "swap": Excerpt(CPU, "at(w).exchange("),
    "cas": Excerpt(CPU, "at(w).compare_exchange_strong("),
    "put": Excerpt(CPU, "at(w).store("),
    "add": Excerpt(CPU, "void add(Word w, Value v) { at(w).fetch_add("),
    "add_single_writer": Excerpt(CPU, "void add_single_writer(Word w, Value v) { at(w).fetch_add("),
    "put_own": Excerpt(CPU, "own->store("),
    "put_own_light": Excerpt(CPU, "std::atomic_signal_fence("),
    "look": Excerpt(CPU, "at(w).load("),
    "everyone": Excerpt(CPU, "everyone.fetch_add("),
    "full_fence": Excerpt(CPU, "std::atomic_thread_fence("),
}

BELLS = {
    "ring": Excerpt(BELL, "if (sleepers_.load("),
    "count_sleeper": Excerpt(BELL, "sleepers_.fetch_add(1"),
    "rings_before": Excerpt(BELL, "= rings_.load("),
    "count_rings": Excerpt("fabric/bell.cc", "rings_.fetch_add(1"),
    "up": Excerpt(BELL, "sleepers_.fetch_sub(1"),
    "set_mark": Excerpt(BELL, "sleepers_.fetch_or("),
    "take_marks": Excerpt("fabric/bell.cc", "sleepers_.exchange(0"),
    "clear_mark": Excerpt(BELL, "sleepers_.fetch_and("),
    "after_ucx": Excerpt("network/network.cc", "fabric::full_fence(); // between what UCX", "full_fence"),
}

LOCKS = {
    "next": Excerpt(MCS, "fabric_.put(field(qnode_of(pred), kNext), name_of(qnode))", "put"),
    "status": Excerpt(MCS, "fabric_.put(field(qnode_of(succ), kStatus), status)", "put"),
    "await_status": Excerpt(MCS, "Value await_status(Word qnode) { return fabric_.await(", "look"),
    "leave": Excerpt(MCS, "fabric_.compare_swap(tail, key | name_of(qnode), 0)", "cas"),
    "join": Excerpt(MCS, "follow(fabric_.swap(tail, name_of(qnode)), qnode)", "swap"),
    "ticket_release": Excerpt("locks/parts/passing_ticket.hh", "fabric_.add({target, home_}, Value{0} - W::kHeld)",
                              "add"),
    "ticket_join": Excerpt("locks/parts/passing_ticket.hh", "fabric_.fetch_add(word, W::kNext)", "fetch_add"),
    "ticket_serve": Excerpt("locks/parts/passing_ticket.hh", "fabric_.compare_swap(word, seen, W::without_first(seen))",
                            "cas"),
    "writer_leaves": Excerpt(FOMPI, "fabric_.add(word(target), Value{0} - kWriter)", "add"),
    "reader_comes": Excerpt(FOMPI, "fabric_.fetch_add(word(target), kReader)", "fetch_add"),
    "reader_leaves": Excerpt(FOMPI, "fabric_.add(word(target), Value{0} - kReader)", "add"),
    "writer_comes": Excerpt(FOMPI, "fabric_.compare_swap(word(target), 0, kWriter)", "cas"),
    "push": Excerpt(LIST, "const Value prev = fabric_.swap(head, name_of(qnode));", "swap"),
    "wake_all": Excerpt(LIST, "return serve(fabric_.swap(head, kEmpty), wake);", "swap"),
    "wake": Excerpt(LIST, "fabric_.put(field(qnode_of(name), kWake), wake)", "put"),
    "await_wake": Excerpt(LIST, "fabric_.await(field(qnode, kWake), fabric::differs(0))", "look"),
    "enter": Excerpt("locks/parts/holder_records.hh", "add_single_writer(places_.mine, HolderWord::entry(target))",
                     "add_single_writer"),
    "strike": Excerpt("locks/parts/holder_records.hh",
                      "add_single_writer(places_.mine, Value{0} - HolderWord::entry(target))", "add_single_writer"),
    "marked": Excerpt("locks/window_lock/gate_parts.hh", "fabric.get(resolved_mark)", "get"),
    "set_m": Excerpt("locks/window_lock/gate_alls.hh",
                     "add_each(parts_.nodes, parts_.mark.slot, GateSlots::kMarked)", "add"),
    "scan": Excerpt("locks/parts/holder_records.hh", "fabric_.scan(hosts, places_.first", "get"),
    "marked_at_home": Excerpt(SECTION, "fabric_.get(mark_)", "get"),
    "section_take": Excerpt(SECTION, "fabric_.compare_swap(s_, seen, seen + operand)", "cas"),
    "victim": Excerpt("locks/algorithms/alock.hh", "fabric_.put(word(target, Words::kVictim), mine)", "put"),
    "victim_flush": Excerpt("locks/algorithms/alock.hh", "fabric_.flush(target); // D3", "flush"),
    "flush": Excerpt(CPU, "void flush(Rank) { full_fence(); }", "full_fence"),
    "advance": Excerpt(EVENTS, "void advance() { fabric_.add_each(nodes_, events_.slot, kEvent); }", "add"),
    "events": Excerpt(EVENTS, "fabric_.await_until(events_, fabric::differs(events), end)", "look"),
    "found": Excerpt(EVENTS, "fabric_.near_swap(copy_, seen)", "swap"),
    "has_looked": Excerpt(EVENTS, "fabric_.near_add(looked_, kFound)", "add"),
    "looked": Excerpt(EVENTS, "const Value looked = fabric_.await(looked_,", "look"),
    "copied": Excerpt(EVENTS, "return fabric_.get(copy_)", "get"),
    "qnode_taken": Excerpt("locks/parts/qnodes.hh", "used.compare_exchange_weak("),
    "qnode_given": Excerpt("locks/parts/qnodes.hh", "std::atomic_ref(used_).fetch_and("),
    "qnodes_used": Excerpt("locks/parts/qnodes.hh", "used.load("),
    "number_taken": Excerpt(NUMBERS, "taken.compare_exchange_weak("),
    "number_given": Excerpt(NUMBERS, "taken.fetch_and("),
    "numbers_used": Excerpt(NUMBERS, "taken.load("),
}

DATA = {
    "raise": Excerpt(MARKS, "if (seen == 0) { fabric_.swap(word(target), W::kRaised)", "swap"),
    "lower": Excerpt(MARKS, "fabric_.swap(word(target), then / W::kSingle >= limit_ ? 0 : then)", "swap"),
    "drained": Excerpt(MARKS, "fabric_.await(mark(i, rank), fabric::differs(W::mark_of(target)))", "look"),
    "mark": Excerpt(MARKS, "fabric_.put_own(mine, W::mark_of(target))", "put_own"),
    "unmark": Excerpt(MARKS, "void end(Mark mark) { fabric_.put_own(mark, 0); }", "put_own"),
    "raised": Excerpt(MARKS, "if (fabric_.get(word(target)) == 0) [[likely]]", "get"),
    "claim": Excerpt(MARKS, "fabric_.compare_swap(free, 0, W::mark_of(target))", "cas"),
    "claimed": Excerpt(MARKS, "if (fabric_.get(word(target)) == 0) return mark;", "get"),
    "fence_node": Excerpt(MARKS, "fabric_.fence_node();", "interrupt"),
    "interrupt": Excerpt("fabric/node_fence.cc", "if (membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED)) return;",
                         "membarrier"),
    "store_low": Excerpt(KERNELS, "std::atomic_ref(place.low).store("),
    "store_high": Excerpt(KERNELS, "std::atomic_ref(place.high).store("),
    "store_all": Excerpt(KERNELS, "std::atomic_ref(place.all).store("),
    "load_all": Excerpt(KERNELS, "return {std::atomic_ref(place.all).load("),
    "combine": Excerpt(KERNELS, "return element.fetch_add("),
    "place_store": Excerpt("window/create/memory.hh", "place.store("),
    "place_load": Excerpt("window/create/memory.hh", "place.load("),
    "flush_stores": Excerpt("window/create/stores.hh", "void settle() { fabric::full_fence();", "full_fence"),
    "flush_threads": Excerpt("window/create/body.hh", "threads_ ? fabric::full_fence() : stores.flushed()",
                             "full_fence"),
    "odd": Excerpt(REGIONS, "published_.version.store(version + 1"),
    "behind_odd": Excerpt(REGIONS, "fabric::full_fence(); published_.address.store(", "full_fence"),
    "set_address": Excerpt(REGIONS, "published_.address.store("),
    "set_count": Excerpt(REGIONS, "published_.count.store("),
    "even": Excerpt(REGIONS, "published_.version.store(version + 2"),
    "known_version": Excerpt(REGIONS, "if (copy.version == published.version.load("),
    "first_version": Excerpt(REGIONS, "const std::uint64_t version = published.version.load("),
    "count": Excerpt(REGIONS, "copy.table.resize(published.count.load("),
    "address": Excerpt(REGIONS, "reinterpret_cast<void*>(published.address.load("),
    "before_last": Excerpt(REGIONS, "fabric::full_fence(); if (published.version.load(", "full_fence"),
    "last_version": Excerpt(REGIONS, "if (published.version.load("),
    "find_kernels": Excerpt("osc_rmalock_accumulate.c", "kernels = atomic_load_explicit("),
    "keep_kernels": Excerpt("osc_rmalock_accumulate.c", "atomic_store_explicit(entry, kernels"),
}

NETWORK = {
    "acknowledge": Excerpt("network/answers.hh", "acknowledged.compare_exchange_weak("),
    "acknowledged_before": Excerpt("network/answers.hh", "known = acknowledged.load("),
    "has_room": Excerpt(OUTBOX, "const std::uint64_t acknowledged = acknowledged_.load("),
    "room_sent": Excerpt(OUTBOX, "return sent_.load("),
    "applied_up_to": Excerpt(OUTBOX, "applied_up_to(const std::atomic<std::uint64_t>& number) const { return "
                                     "acknowledged_.load("),
    "number": Excerpt(OUTBOX, "number.load("),
    "ask": Excerpt(OUTBOX_CC, "if (acknowledged_.load("),
    "behind_others": Excerpt(OUTBOX_CC, "behind_others_.store("),
    "sent": Excerpt(OUTBOX_CC, "sent_.store(sent"),
    "use": Excerpt(OUTBOX_CC, "used_.store("),
    "used": Excerpt(OUTBOX, "used_.load("),
    "set_rings": Excerpt(DEPARTURES, "rings_.store("),
    "set_timer": Excerpt(DEPARTURES, "set_.store("),
    "timer_set": Excerpt(DEPARTURES, "void Departures::send_due() { if (!set_.load("),
    "timer_rings": Excerpt(DEPARTURES, "rings_.load("),
    "hold": Excerpt(DEPARTURES, "holding_.push_back(&outbox); holds_.store("),
    "holds": Excerpt("network/departures.hh", "if (holds_.load("),
    "enter_server": Excerpt(SERVERS, "return !busy_.exchange("),
    "leave_server": Excerpt(SERVERS, "busy_.store("),
    "the_one": Excerpt("network/network.hh", "the_one.load("),
    "stage": Excerpt("network/trial.cc", "std::atomic_ref(words_[place]).load("),
    "meeting_begun": Excerpt("osc_rmalock_compat.h", "__atomic_fetch_add(&meetings->open"),
    "meeting_over": Excerpt("osc_rmalock_compat.h", "__atomic_fetch_sub(&meetings->open"),
    "have_met": Excerpt("osc_rmalock_compat.h", "__atomic_load_n(&meetings->open"),
}

EXCERPTS = VERBS | BELLS | LOCKS | DATA | NETWORK

# In no program: what stands in for the fence of a flush on x86, where the processor's own order does for it.
STAND_INS = {
    "flush_light": Excerpt("window/create/stores.hh", "std::atomic_signal_fence("),
}

# Files that have further relaxed accesses, with which nothing comes.
RELAXED = {
    "fabric/tally.hh": "tallies",
    "fabric/waiter.hh": "how many threads wait: a hint for the progress thread",
    "locks/algorithms/pf_cohort.hh": "whether the own node's targets had members: a hint without data",
    "locks/window_lock/gate_exclusives.hh": "how often this process has entered: which of its exclusives count",
    "locks/window_lock/gate_parts.hh": "how often a process went past others: how long it waits",
    "network/departures.cc": "under the mutex",
    "network/neighbours.cc": "when the neighbours were asked; two threads may ask twice",
    "network/network.cc": "whether the limit of descriptors is close; an exchange follows",
    "network/outbox.cc": "under the mutex",
    "network/servers.hh": "how many there are: a thread that misses one serves it next time",
    "osc_rmalock.h": "whether there are GPUs: a flag without data",
    "osc_rmalock_compat.h": "how many failed processes were looked at: a number without data",
    "osc_rmalock_gpu.c": "whether there are GPUs: the same",
    "osc_rmalock_request.c": "under the mutex; without it a question, which is asked again, and a number that may be miscounted",
    "osc_rmalock_survive.c": "calls that have not looked for failed processes, which may be miscounted",
    "window/create/failures.cc": "a rank that has failed: a number without data",
    "window/create/failures.hh": "the same",
    "window/create/held_copies.cc": "under the mutex; without it a question whether any window holds something, which is asked again",
    "window/create/held_copies.hh": "whether something has failed",
    "window/create/regions.cc": "the version, by its only writer, and in a copy that nobody else sees",
    "window/data/elements.hh": "what arrays have cost so far; threads may count past each other",
    "window/sync/epochs.cc": "the epoch, of one thread or of threads that the program orders",
    "window/sync/epochs.hh": "the same",
    "window/sync/fast_path.hh": "the same",
    "window/sync/passive.cc": "the same; and calls of which each so many serves others, which may be miscounted",
}
