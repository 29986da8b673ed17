// Thrust and CUB: keys sorted on a stream, segments summed, blocks scanned.
#include <cub/cub.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/count.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <cstdio>
struct Odd { __host__ __device__ bool operator()(int x) const { return x & 1; } };
template <int N> __global__ void scan(int *x) // expect-opencl: language/templates
{
    typedef cub::BlockScan<int, N> Scan;
    typedef cub::WarpReduce<int> Sum; // expect: libraries/cub
    __shared__ typename Scan::TempStorage temp;
    __shared__ typename Sum::TempStorage sums[N / 32];
    int v = x[threadIdx.x];
    Scan(temp).InclusiveSum(v, v);
    x[threadIdx.x] = v + Sum(sums[threadIdx.x / 32]).Sum(v);
}
int main()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    thrust::device_vector<int> keys(1000), values(1000);
    thrust::sequence(thrust::cuda::par.on(s), keys.begin(), keys.end(), 1000, -1); // expect: libraries/thrust
    thrust::sort_by_key(thrust::cuda::par_nosync.on(s), keys.begin(), keys.end(), values.begin()); // expect: libraries/thrust
    int odd = thrust::count_if(thrust::device, keys.begin(), keys.end(), Odd());
    void *temp = nullptr;
    size_t bytes = 0;
    int *in = thrust::raw_pointer_cast(keys.data()), *out = thrust::raw_pointer_cast(&values[0]);
    cub::DeviceRadixSort::SortKeys(temp, bytes, in, out, 1000);
    cudaMalloc(&temp, bytes);
    cub::DeviceRadixSort::SortKeys(temp, bytes, in, out, 1000);
    cub::DeviceReduce::Sum(temp, bytes, in, out, 1000, s);
    scan<128><<<1, 128, 0, s>>>(out);
    printf("%d\n", odd);
}
