// Holds up every packet for a while:
//
//     delay DEVICE MICROSECONDS
//
// Makes the TUN device DEVICE in the network namespace it is started in, and gives each packet that
// is routed into the device back to the same device MICROSECONDS later. Prints "ready" once there
// is one. Packets keep their order, since all wait for the same time.
//
// It stands for a wire, which takes no core from hosts and waits for none. So segments come and go
// as long as hosts make them, as to an adapter that cuts them itself (one read and one write for 32
// KB, where the device's MTU would make it 22), and the program runs before all others.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    PACKETS = 2048,
    LARGEST = 65536 + 64
}; // on the way at once; bytes, with what says how to cut them

struct packet {
    int64_t due; // nanoseconds of CLOCK_MONOTONIC
    size_t bytes;
    unsigned char data[LARGEST];
};

static struct packet ring[PACKETS];
static uint64_t first, end; // packets on the way: first <= i < end, at ring[i % PACKETS]

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int open_device(const char* name) {
    struct ifreq request;
    memset(&request, 0, sizeof request);
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0 || ioctl(device, TUNSETIFF, &request) < 0) {
        fprintf(stderr, "delay: no device %s: %s\n", name, strerror(errno));
        exit(1);
    }
    // Without it packets are cut, and that is all.
    (void)ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4);
    return device;
}

/// As far as the system allows: a wire does not wait until a program has computed for a while.
static void go_before_others(void) {
    if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) != 0)
        (void)setpriority(PRIO_PROCESS, 0, -20);
    prctl(PR_SET_TIMERSLACK, 1ul); // the kernel may else wake it 50 us late
}

static void take(int device, int64_t delay) {
    while (end - first < PACKETS) {
        struct packet* p = &ring[end % PACKETS];
        const ssize_t bytes = read(device, p->data, sizeof p->data);
        if (bytes <= 0)
            return;
        p->bytes = (size_t)bytes;
        p->due = now() + delay;
        ++end;
    }
}

static void give(int device) {
    const int64_t t = now();
    for (; first < end && ring[first % PACKETS].due <= t; ++first) {
        const struct packet* p = &ring[first % PACKETS];
        if (write(device, p->data, p->bytes) < 0 && errno != ENOBUFS && errno != EAGAIN)
            fprintf(stderr, "delay: a packet was refused: %s\n", strerror(errno));
    }
}

/// Until the device has something (and there is room for it) or the first packet is due.
static void wait_for_work(int device) {
    struct pollfd ready = {.fd = device, .events = end - first < PACKETS ? POLLIN : 0};
    struct timespec rest;
    if (first < end) {
        int64_t left = ring[first % PACKETS].due - now();
        left = left < 0 ? 0 : left;
        rest = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    }
    ppoll(&ready, 1, first < end ? &rest : NULL, NULL);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: delay DEVICE MICROSECONDS\n");
        return 2;
    }
    const int64_t delay = strtoll(argv[2], NULL, 10) * 1000;
    const int device = open_device(argv[1]);
    go_before_others();
    puts("ready");
    fflush(stdout);
    for (;;) {
        wait_for_work(device);
        give(device);
        take(device, delay);
    }
}
