"""An interpreter of AMD machine code, and on it a runtime with HIP's calls.

The code objects of the platform ``rocm`` are disassembled, turned into rows of numbers, and
run row by row by an OpenCL kernel on a CPU: the arithmetic, masks, memory and barriers of
every instruction, but no timing, no races and no memory ordering (docs/emulator.md).
"""
