// Rays through a volume: a 3D texture with linear interpolation, a view in constant memory, a
// surface that takes the picture.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

struct View {
    float3 eye;
    float step;
    int steps;
};

__constant__ View view;
__device__ __constant__ float weights[4] = {0.1f, 0.2f, 0.3f, 0.4f}; // expect-opencl: memory/device-variables
__device__ unsigned int rays_done; // expect-opencl: memory/device-variables

static __device__ float4 shade(float density)
{
    return make_float4(density, density * density, sqrtf(density), 1.0f);
}

__global__ void cast(cudaTextureObject_t volume, cudaSurfaceObject_t picture, int width, int height)
{
    const int x = threadIdx.x + blockIdx.x * blockDim.x;
    const int y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.f;
    for (int i = 0; i < view.steps; ++i)
        sum += weights[i & 3] * tex3D<float>(volume, (x + 0.5f) / width, (y + 0.5f) / height, // expect: memory/texture-object
                                             view.eye.z + i * view.step);
    surf2Dwrite(shade(sum), picture, x * (int)sizeof(float4), y); // expect: memory/texture-object
    atomicInc(&rays_done, 0xffffffffu);
}

#define OK(call)                                                                                   \
    if (cudaError_t e = call) {                                                                    \
        printf("%s: %s\n", #call, cudaGetErrorString(e));                                          \
        return 2;                                                                                  \
    }

int main()
{
    const int side = 32, width = 64, height = 48;
    std::vector<float> voxels(side * side * side, 0.25f);
    const cudaExtent extent = make_cudaExtent(side, side, side);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t volume, picture;
    OK(cudaMalloc3DArray(&volume, &format, extent)); // expect: host/default-arguments
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(voxels.data(), side * sizeof(float), side, side);
    copy.dstArray = volume;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));

    cudaResourceDesc resource;
    memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = volume;
    cudaTextureDesc description = {};
    description.normalizedCoords = 1;
    description.filterMode = cudaFilterModeLinear;
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.addressMode[2] = cudaAddressModeWrap;
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    OK(cudaCreateTextureObject(&texture, &resource, &description, NULL));

    cudaChannelFormatDesc pixel = cudaCreateChannelDesc<float4>();
    OK(cudaMallocArray(&picture, &pixel, width, height, cudaArraySurfaceLoadStore));
    resource.res.array.array = picture;
    cudaSurfaceObject_t surface = 0;
    OK(cudaCreateSurfaceObject(&surface, &resource));

    const View from = {make_float3(0, 0, 0), 1.0f / side, side};
    OK(cudaMemcpyToSymbol(view, &from, sizeof from));
    const unsigned none = 0;
    OK(cudaMemcpyToSymbolAsync(rays_done, &none, sizeof none, 0, cudaMemcpyHostToDevice, 0));
    cast<<<dim3(width / 16, height / 16), dim3(16, 16)>>>(texture, surface, width, height);
    OK(cudaGetLastError());
    unsigned done = 0;
    OK(cudaMemcpyFromSymbol(&done, rays_done, sizeof done));
    std::vector<float4> pixels(width * height);
    OK(cudaMemcpy2DFromArray(pixels.data(), width * sizeof(float4), picture, 0, 0,
                             width * sizeof(float4), height, cudaMemcpyDeviceToHost));
    int wrong = done != unsigned(width * height);
    for (const float4 &p : pixels)
        wrong += std::fabs(p.x - 2.0f) > 1e-3f || std::fabs(p.z - std::sqrt(p.x)) > 1e-3f;
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(volume));
    OK(cudaFreeArray(picture));
    puts(wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
