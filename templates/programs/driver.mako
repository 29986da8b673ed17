## What runs kernels through CUDA's and HIP's runtimes, whose names differ by what they begin with.
<%page args="part"/>\
#define API(name) ${part.prefix}##name

static void host_check(API(Error_t) status, const char *what)
{
    if (status != API(Success))
        host_fail(what, API(GetErrorString)(status));
}

static void host_start(void)
{
    host_check(API(SetDevice)(host_device < 0 ? 0 : host_device), "device");
}

static void *host_memory(const void *content, size_t bytes)
{
    void *memory = 0;
    host_check(API(Malloc)(&memory, bytes), "memory");
    host_check(API(Memcpy)(memory, content, bytes, API(MemcpyHostToDevice)), "copy");
    return memory;
}

static void host_fetch(void *content, void *memory, size_t bytes)
{
    host_check(API(Memcpy)(content, memory, bytes, API(MemcpyDeviceToHost)), "copy");
}

static void host_launch(
    int kernel, const long long *grid, const size_t *block, void **arguments, const size_t *sizes,
    int count, size_t memory)
{
    const dim3 blocks((unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]);
    const dim3 threads((unsigned)block[0], (unsigned)block[1], (unsigned)block[2]);
    (void)sizes, (void)count;
    if (memory)
        host_check(
            API(FuncSetAttribute)(
                host_kernels[kernel],
                API(FuncAttributeMaxDynamicSharedMemorySize), (int)memory),
            "block memory");
    host_check(
        API(LaunchKernel)(host_kernels[kernel], blocks, threads, arguments, memory, 0),
        "launch");
    host_check(API(DeviceSynchronize)(), "kernel");
}
