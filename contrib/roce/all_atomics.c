// Makes UCX let the software adapter do all atomics of 64 bits, as adapters with extended atomics do them. Preloaded.
//
// UCX leaves atomics to the target's CPU unless a device has all kinds. This adapter has add, fetch-add and
// compare-and-swap. Here a device that has some says that it has all, and a swap becomes a compare-and-swap with a
// comparand that swaps in any case (adapter.py). And, or, xor fail when they are called: rmalock calls none of them. Of
// 32 bits the device has none, as many real ones.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

/// adapter.ALWAYS
static const uint64_t always = 0xfedc5a5a7b3d1e9fULL;

ucs_status_t uct_iface_query(uct_iface_h iface, uct_iface_attr_t* attributes) {
    static ucs_status_t (*real)(uct_iface_h, uct_iface_attr_t*);
    if (real == NULL)
        *(void**)&real = dlsym(RTLD_NEXT, "uct_iface_query");
    const ucs_status_t status = real(iface, attributes);
    if (status == UCS_OK && (attributes->cap.flags & UCT_IFACE_FLAG_ATOMIC_DEVICE)) {
        const uint64_t plain = UCS_BIT(UCT_ATOMIC_OP_ADD) | UCS_BIT(UCT_ATOMIC_OP_AND) |
                               UCS_BIT(UCT_ATOMIC_OP_OR) | UCS_BIT(UCT_ATOMIC_OP_XOR);
        attributes->cap.atomic64.op_flags |= plain;
        attributes->cap.atomic64.fop_flags |=
            plain | UCS_BIT(UCT_ATOMIC_OP_SWAP) | UCS_BIT(UCT_ATOMIC_OP_CSWAP);
    }
    return status;
}

/// A compare-and-swap finds the new value where it leaves the old one.
ucs_status_ptr_t ucp_atomic_op_nbx(ucp_ep_h endpoint, ucp_atomic_op_t what, const void* operand,
                                   size_t count, uint64_t address, ucp_rkey_h key,
                                   const ucp_request_param_t* param) {
    static ucs_status_ptr_t (*real)(ucp_ep_h, ucp_atomic_op_t, const void*, size_t, uint64_t,
                                    ucp_rkey_h, const ucp_request_param_t*);
    if (real == NULL)
        *(void**)&real = dlsym(RTLD_NEXT, "ucp_atomic_op_nbx");
    if (what == UCP_ATOMIC_OP_SWAP && param->datatype == ucp_dt_make_contig(sizeof always)) {
        memcpy(param->reply_buffer, operand, sizeof always);
        operand = &always;
        what = UCP_ATOMIC_OP_CSWAP;
    }
    return real(endpoint, what, operand, count, address, key, param);
}
