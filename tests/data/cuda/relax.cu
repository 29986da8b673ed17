// A 3-D stencil whose steps are separated by a barrier of the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h> // expect: warps/cooperative-groups
#include <cstdio>
#include <cuda_runtime.h>
#include <utility>
namespace cg = cooperative_groups;
#define CHECK(call)                                                                   \
    do {                                                                              \
        cudaError_t status_ = (call);                                                 \
        if (status_ != cudaSuccess) {                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, cudaGetErrorName(status_), \
                    cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                  \
        }                                                                             \
    } while (0)
struct Shape { int nx, ny, nz; __host__ __device__ size_t size() const { return (size_t)nx * ny * nz; } };
__global__ void __launch_bounds__(128, 4) // expect: launch/launch-bounds-second
relax(double *a, double *b, Shape s, int steps, double *norms)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    for (int t = 0; t < steps; ++t) {
        double change = 0;
        for (size_t i = grid.thread_rank(); i < s.size(); i += grid.size()) {
            int x = i % s.nx, y = i / s.nx % s.ny, z = i / ((size_t)s.nx * s.ny);
            double v = a[i];
            if (x > 0 && x < s.nx - 1 && y > 0 && y < s.ny - 1 && z > 0 && z < s.nz - 1) {
                v = (a[i - 1] + a[i + 1] + a[i - s.nx] + a[i + s.nx] + a[i - s.nx * s.ny] + a[i + s.nx * s.ny]) / 6;
                change = fmax(change, fabs(v - a[i]));
            }
            b[i] = v;
        }
        change = cg::reduce(warp, change, cg::greater<double>()); // expect: warps/cooperative-groups
        if (warp.thread_rank() == 0)
            atomicMax((unsigned long long *)&norms[t], (unsigned long long)__double_as_longlong(change));
        grid.sync();
        double *c = a; a = b; b = c;
    }
}
int main()
{
    Shape s{64, 64, 64};
    int steps = 10, device = 0, supported = 0, perSm = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, device));
    if (!supported) return 0;
    double *a, *b, *norms;
    CHECK(cudaMalloc(&a, s.size() * sizeof *a));
    CHECK(cudaMalloc(&b, s.size() * sizeof *b));
    CHECK(cudaMalloc(&norms, steps * sizeof *norms));
    CHECK(cudaMemset(a, 0, s.size() * sizeof *a));
    CHECK(cudaMemset(norms, 0, steps * sizeof *norms));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, relax, 128, 0));
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, device));
    if (prop.major < 6) return 0; // expect: host/device-properties
    void *args[] = {&a, &b, &s, &steps, &norms};
    CHECK(cudaLaunchCooperativeKernel((void *)relax, dim3(perSm * prop.multiProcessorCount), dim3(128), args, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    printf("%zu %d\n", prop.sharedMemPerMultiprocessor, prop.asyncEngineCount); // expect: host/property-members
    CHECK(cudaFree(a)); CHECK(cudaFree(b)); CHECK(cudaFree(norms));
}
