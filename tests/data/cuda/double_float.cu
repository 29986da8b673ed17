/* Mandelbrot's set, deep: numbers of two floats, as on GPUs with few units for double. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#ifdef __CUDACC__ // expect: language/cuda-arch
#define HD __host__ __device__ __forceinline__
#else
#define HD inline
#endif

struct df {
    float hi, lo;
    HD df(float h = 0.0f, float l = 0.0f) : hi(h), lo(l) {}
    HD explicit df(double d) : hi((float)d), lo((float)(d - (float)d)) {}
    HD explicit operator double() const { return (double)hi + lo; }
};

HD df quick_two_sum(float a, float b)
{
    float s = a + b;
    return df(s, b - (s - a));
}

HD df two_sum(float a, float b)
{
    float s = a + b, v = s - a;
    return df(s, (a - (s - v)) + (b - v));
}

HD df two_prod(float a, float b)
{
#ifdef __CUDA_ARCH__ // expect: language/cuda-arch
    float p = __fmul_rn(a, b); // expect: arithmetic/rounded-operations
    float e;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(e) : "f"(a), "f"(b), "f"(-p));
    return df(p, e);
#else
    double p = (double)a * b;
    return df((float)p, (float)(p - (float)p));
#endif
}

HD df operator+(const df &a, const df &b) // expect-opencl: language/references
{
    df s = two_sum(a.hi, b.hi);
    s.lo += a.lo + b.lo;
    return quick_two_sum(s.hi, s.lo);
}
HD df operator-(const df &a) { return df(-a.hi, -a.lo); } // expect-opencl: language/references
HD df operator-(const df &a, const df &b) { return a + -b; } // expect-opencl: language/references
HD df operator*(const df &a, const df &b) // expect-opencl: language/references
{
    df p = two_prod(a.hi, b.hi);
    p.lo += a.hi * b.lo + a.lo * b.hi;
    return quick_two_sum(p.hi, p.lo);
}
HD bool operator>(const df &a, float b) { return a.hi > b || (a.hi == b && a.lo > 0); } // expect-opencl: language/references

template <typename Real> HD int iterations(Real x, Real y, int most) // expect-opencl: language/templates
{
    Real a = Real(0.0f), b = Real(0.0f);
    int i = 0;
    for (; i < most; ++i) {
        const Real aa = a * a, bb = b * b;
        if (aa + bb > 4.0f)
            break;
        b = Real(2.0f) * a * b + y;
        a = aa - bb + x;
    }
    return i;
}

template <typename Real> // expect-opencl: language/templates
__global__ void mandelbrot(int *out, int width, int height, Real x0, Real y0, Real step, int most)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height)
        out[row * width + col] =
            iterations<Real>(x0 + Real((float)col) * step, y0 + Real((float)row) * step, most);
}

int main()
{
    const int width = 64, height = 64, most = 500;
    const double x0 = -0.7436438870371587, y0 = 0.13182590420531, step = 1e-9;
    static int found[width * height];
    int *out;
    if (cudaMalloc(&out, sizeof found) != cudaSuccess)
        return 2;
    const dim3 block(32, 8), grid(width / block.x, height / block.y);
    mandelbrot<df><<<grid, block>>>(out, width, height, df(x0), df(y0), df(step), most);
    cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int row = 0; row < height; row++)
        for (int col = 0; col < width; col++) {
            const df x = df(x0) + df((float)col) * df(step), y = df(y0) + df((float)row) * df(step);
            wrong += found[row * width + col] != iterations<df>(x, y, most);
        }
    printf("%d of %d pixels differ from the host's\n", wrong, width * height);
    puts(wrong == 0 ? "PASSED" : "FAILED");
    cudaFree(out);
    return wrong != 0;
}
