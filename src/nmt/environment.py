"""What processes that compute on a CPU should find in their environment; it is read when they
start, never later.
"""

# Memory once had is kept for the next update, in large pages: to give it back and have it cleared
# again would be a fifth to a third of the time. Small pieces are joined with their neighbors at
# once; otherwise they scatter the tensors of changing sizes that training makes, and it spends ever
# more time looking for room.
MEMORY = {"mmap_max": 0, "trim_threshold": 2**40, "hugetlb": 1, "tcache_count": 0, "mxfast": 0}

SETTINGS = {
    # Threads spin only briefly while they wait for each other: as fast as ever on idle cores, and
    # several times faster where something else uses one.
    "GOMP_SPINCOUNT": "10000",
    "GLIBC_TUNABLES": ":".join(f"glibc.malloc.{name}={value}" for name, value in MEMORY.items()),
}
