## What runs kernels through OpenCL; their texts are strings here, built when the program starts.
<%page args="part"/>\
#define HOST_MOST 16

static cl_context host_context;
static cl_command_queue host_queue;
static cl_kernel host_kernels[HOST_KERNELS];

static void host_check(cl_int status, const char *what)
{
    char text[32];
    sprintf(text, "OpenCL's error %d", (int)status);
    if (status != CL_SUCCESS)
        host_fail(what, text);
}

/* Build the kernels, and one that rounds and keeps subnormal numbers: nothing, or why a device does
   not do. */
static const char *host_begun(cl_device_id device)
{
    static const char *probe =
        "__kernel void host_probe(__global float *x) { x[0] += x[1]; x[2] += x[2]; }";
    static char log[65536];
    const size_t said = (size_t)sprintf(log, "the compiler rejects the kernel: ");
    float x[3] = {16777216, 3, 1.40129846e-45f};
    char options[128] = "-cl-std=CL1.2";
    cl_device_fp_config single = 0;
    cl_program programs[HOST_MODULES + 1];
    cl_kernel kernel;
    cl_mem memory;
    cl_int status;
    int i;
    host_context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status)
        return "no context";
    host_queue = clCreateCommandQueue(host_context, device, 0, &status);
    if (status)
        return "no queue";
    clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    if (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
        strcat(options, " -cl-fp32-correctly-rounded-divide-sqrt");
    for (i = 0; i <= HOST_MODULES; ++i) {
        programs[i] = clCreateProgramWithSource(
            host_context, i ? host_modules[i - 1].count : 1,
            i ? (const char **)host_modules[i - 1].lines : &probe, NULL, &status);
        host_check(status, "program");
        if (clBuildProgram(programs[i], 1, &device, options, NULL, NULL)) {
            clGetProgramBuildInfo(
                programs[i], device, CL_PROGRAM_BUILD_LOG, sizeof log - said - 1, log + said, NULL);
            return log;
        }
    }
    for (i = 0; i < HOST_KERNELS; ++i) {
        host_kernels[i] = clCreateKernel(
            programs[host_entries[i].module + 1], host_entries[i].name, &status);
        host_check(status, "kernel");
    }
    kernel = clCreateKernel(programs[0], "host_probe", &status);
    host_check(status, "kernel");
    memory = clCreateBuffer(
        host_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof x, x, &status);
    if (status || clSetKernelArg(kernel, 0, sizeof memory, &memory)
        || clEnqueueTask(host_queue, kernel, 0, NULL, NULL)
        || clEnqueueReadBuffer(host_queue, memory, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL))
        return "it runs no kernel";
    return x[0] == 16777220 && x[2] == 2.80259693e-45f ? 0 : "it rounds otherwise than IEEE 754";
}

/* the device that is asked for, or the first that does */
static void host_start(void)
{
    cl_platform_id platforms[HOST_MOST];
    cl_device_id devices[HOST_MOST];
    cl_uint i, j, found = 0, count = 0;
    int number = 0;
    host_check(clGetPlatformIDs(HOST_MOST, platforms, &found), "no OpenCL driver");
    for (i = 0; i < found && i < HOST_MOST; ++i) {
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, HOST_MOST, devices, &count))
            continue;
        for (j = 0; j < count && j < HOST_MOST; ++j, ++number) {
            char name[256] = "";
            const char *why;
            if (host_device >= 0 && host_device != number)
                continue;
            clGetDeviceInfo(devices[j], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
            why = host_begun(devices[j]);
            if (!why) {
                printf("device: %s\n", name);
                return;
            }
            if (host_device >= 0)
                host_fail(name, why);
            fprintf(stderr, "device %d, %s, is left out: ", number, name);
            fprintf(stderr, "%.*s\n", (int)strcspn(why, "\n"), why);
        }
    }
    host_fail("device", host_device < 0 ? "none does" : "there are not so many");
}

static void *host_memory(const void *content, size_t bytes)
{
    cl_int status;
    cl_mem memory = clCreateBuffer(
        host_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, (void *)content, &status);
    host_check(status, "memory");
    return (void *)memory;
}

static void host_fetch(void *content, void *memory, size_t bytes)
{
    host_check(
        clEnqueueReadBuffer(
            host_queue, (cl_mem)memory, CL_TRUE, 0, bytes, content, 0, NULL, NULL), "copy");
}

static void host_launch(
    int kernel, const long long *grid, const size_t *block, void **arguments, const size_t *sizes,
    int count, size_t memory)
{
    size_t threads[3];
    int i;
    for (i = 0; i < 3; ++i)
        threads[i] = (size_t)grid[i] * block[i];
    for (i = 0; i < count; ++i)
        host_check(
            clSetKernelArg(host_kernels[kernel], (cl_uint)i, sizes[i], arguments[i]),
            "argument");
    if (memory)
        host_check(
            clSetKernelArg(host_kernels[kernel], (cl_uint)count, memory, NULL), "block memory");
    host_check(
        clEnqueueNDRangeKernel(
            host_queue, host_kernels[kernel], 3, NULL, threads, block, 0, NULL, NULL),
        "launch");
    host_check(clFinish(host_queue), "kernel");
}
