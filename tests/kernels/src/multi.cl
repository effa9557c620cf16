// Several kernels in one code object, for the tests of the loader.
#include "calls.cl"
#include "histogram_global.cl"
#include "insertion_sort.cl"
#include "mandelbrot.cl"
#include "reduction.cl"
#include "saxpy.cl"
#include "transpose.cl"
