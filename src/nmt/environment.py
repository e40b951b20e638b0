"""Environment variables for processes that compute on a CPU.

They are read when a process starts, so set them before that.
"""

# glibc keeps freed memory, in large pages, for the next update: returning it to the system and
# having it cleared again takes time. Small blocks are merged with their neighbors at once (no
# tcache, no fast bins); otherwise they fragment the heap among the tensors of varying sizes that
# training makes, and allocation takes ever more time.
MALLOC = {"mmap_max": 0, "trim_threshold": 2**40, "hugetlb": 1, "tcache_count": 0, "mxfast": 0}

SETTINGS = {
    # Waiting OpenMP threads spin only briefly: as fast as the default on idle cores, and three
    # times as fast where other processes use them.
    "GOMP_SPINCOUNT": "10000",
    "GLIBC_TUNABLES": ":".join(f"glibc.malloc.{name}={value}" for name, value in MALLOC.items()),
}
