/* What kernels use of OpenCL C, so that a plain clang compiles them for a processor without any
   header or library. Included before the source by cpu.py, which says there how identifiers of
   work-items are known: with PORTMP_FIBRES, whose blocks may have barriers, and without. */


/* --- types ----------------------------------------------------------------------------------- */

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define PORTMP_VECTORS(type) \
    typedef type type##2 __attribute__((ext_vector_type(2))); \
    typedef type type##3 __attribute__((ext_vector_type(3))); \
    typedef type type##4 __attribute__((ext_vector_type(4))); \
    typedef type type##8 __attribute__((ext_vector_type(8))); \
    typedef type type##16 __attribute__((ext_vector_type(16)));
PORTMP_VECTORS(char)
PORTMP_VECTORS(uchar)
PORTMP_VECTORS(short)
PORTMP_VECTORS(ushort)
PORTMP_VECTORS(int)
PORTMP_VECTORS(uint)
PORTMP_VECTORS(long)
PORTMP_VECTORS(ulong)
PORTMP_VECTORS(float)
PORTMP_VECTORS(double)

#define CHAR_BIT 8
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1L)
#define ULONG_MAX 0xffffffffffffffffUL
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1.0p-1022
#define DBL_EPSILON 0x1.0p-52
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_PI 0x1.921fb54442d18p1
#define M_PI_F 0x1.921fb6p1f

/* --- work-items ------------------------------------------------------------------------------ */

/* A work-item; pool.c has both for C. */
typedef struct {
    ulong group[3], groups[3], size[3], place[3];
    char *block_memory;
} portmp_item;

/* A launch's blocks from one number to another, on one thread. */
typedef struct {
    long begin, end;
    ulong groups[3], size[3];
    char *block_memory;
    ulong meet;
} portmp_blocks;

#ifdef PORTMP_FIBRES
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
/* Of each thread: cpu.py makes them so, as it does with memory of blocks. */
static __global portmp_item portmp_item_;
static __global portmp_blocks *__global portmp_blocks_;
#define PORTMP_ITEM (&portmp_item_)
#define barrier(flags) ((void (*)(__global portmp_blocks *))portmp_blocks_->meet)(portmp_blocks_)
#else
#define PORTMP_ITEM portmp_item_
#define barrier(flags) ((void)0)
#endif
#define work_group_barrier barrier

#define get_local_id(axis) (PORTMP_ITEM->place[axis])
#define get_local_size(axis) (PORTMP_ITEM->size[axis])
#define get_group_id(axis) (PORTMP_ITEM->group[axis])
#define get_num_groups(axis) (PORTMP_ITEM->groups[axis])
#define get_global_id(axis) (get_group_id(axis) * get_local_size(axis) + get_local_id(axis))
#define get_global_size(axis) (get_num_groups(axis) * get_local_size(axis))
#define get_global_offset(axis) ((size_t)0)
#define get_work_dim() 3u

int printf(__constant const char *format, ...);

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define mem_fence(flags) __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define read_mem_fence mem_fence
#define write_mem_fence mem_fence
